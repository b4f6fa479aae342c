"""Implement `ctx.fs` on the machine's own file system."""

from collections.abc import AsyncGenerator
from functools import partial

from harness.fs import (
    EditOutcome,
    FileSystem,
    FsDirEntry,
    FsInfo,
    FsTarget,
    FsVersion,
    TextEdit,
    WriteIntent,
    WriteOutcome,
    decode_text,
)
from harness_plugins.fs_local import paths
from harness_plugins.fs_local.changes import edit_file, write_file
from harness_plugins.fs_local.config import FsLocalConfig
from harness_plugins.fs_local.directory import list_dir
from harness_plugins.fs_local.reading import TextStream, read_whole
from harness_plugins.fs_local.turns import Turns
from harness_plugins.fs_local.workers import Checkpoint, Workers
from vendor_shims.cordis import AbortSignal, Context


class FsLocal(FileSystem):
    """Serve files of the local machine; every call that may block runs in a worker thread.

    Invariants: changes of one target run one at a time, in the order they were asked for; a file
    under its own name always holds one complete content.
    """

    name = "fs-local"
    Config = FsLocalConfig

    def __init__(self, ctx: Context, config: FsLocalConfig) -> None:
        super().__init__(ctx)
        self._config = config
        self._workers = Workers(config.threads)
        self._turns = Turns()

    async def resolve(self, path: str, *, cwd: str, signal: AbortSignal | None = None) -> FsTarget:
        """Turn a spelling of a path into the canonical identity that it names now."""
        return await self._workers.look(signal, lambda _: paths.resolve(path, cwd))

    def process_path(self, target: FsTarget) -> str:
        """Return the canonical path: processes run on the same machine."""
        return target.target_key

    def file_url(self, target: FsTarget) -> str:
        """Return the `file:` URL of the canonical path."""
        return paths.file_url(target)

    def contains(self, parent: FsTarget, child: FsTarget) -> bool:
        """Compare canonical paths; the files need not exist."""
        return paths.contains(parent, child)

    async def stat(self, target: FsTarget, signal: AbortSignal | None = None) -> FsInfo | None:
        """Describe what is at the target, or return None."""
        return await self._workers.look(signal, lambda _: paths.stat_target(target))

    async def lstat(
        self, path: str, *, cwd: str, signal: AbortSignal | None = None
    ) -> FsInfo | None:
        """Describe the last component of a path without following it, or return None."""
        return await self._workers.look(signal, lambda _: paths.lstat_path(path, cwd))

    async def read_text(self, target: FsTarget, signal: AbortSignal | None = None) -> str:
        """Return the whole text of a file of at most `max_text_bytes`."""

        def read(checkpoint: Checkpoint) -> str:
            limit = self._config.max_text_bytes
            data = read_whole(target, max_bytes=limit, checkpoint=checkpoint)
            return decode_text(data, target.display_path).text

        return await self._workers.look(signal, read)

    async def stream_text(
        self, target: FsTarget, signal: AbortSignal | None = None
    ) -> AsyncGenerator[str]:
        """Yield the text in chunks of about one mebibyte, from a file of any size."""
        stream = TextStream(target)
        try:
            while (chunk := await self._workers.look(signal, stream.next_chunk)) is not None:
                if chunk:
                    yield chunk
        finally:
            stream.close()

    async def read_bytes(
        self,
        target: FsTarget,
        signal: AbortSignal | None = None,
        *,
        max_bytes: int | None = None,
    ) -> bytes:
        """Return the whole content, never reading more than one byte beyond `max_bytes`."""

        def read(checkpoint: Checkpoint) -> bytes:
            return read_whole(target, max_bytes=max_bytes, checkpoint=checkpoint)

        return await self._workers.look(signal, read)

    async def list_dir(
        self, target: FsTarget, signal: AbortSignal | None = None
    ) -> list[FsDirEntry]:
        """Return the entries of a directory sorted by name; links are reported, not followed."""
        return await self._workers.look(signal, partial(list_dir, target))

    async def write_text(
        self,
        target: FsTarget,
        content: str,
        *,
        expected: WriteIntent | None = None,
        signal: AbortSignal | None = None,
    ) -> WriteOutcome:
        """Replace or create a file in one step, flushed to the disk."""

        def write(checkpoint: Checkpoint) -> WriteOutcome:
            return write_file(
                target,
                content,
                expected=expected,
                diff_basis_max_bytes=self._config.diff_basis_max_bytes,
                checkpoint=checkpoint,
            )

        async with self._turns.hold(target.target_key, signal):
            return await self._workers.change(signal, write)

    async def edit_text(
        self,
        target: FsTarget,
        edit: TextEdit,
        *,
        expected: FsVersion | None = None,
        signal: AbortSignal | None = None,
    ) -> EditOutcome:
        """Apply one literal edit in one step, flushed to the disk."""

        def apply(checkpoint: Checkpoint) -> EditOutcome:
            return edit_file(
                target,
                edit,
                expected=expected,
                max_text_bytes=self._config.max_text_bytes,
                checkpoint=checkpoint,
            )

        async with self._turns.hold(target.target_key, signal):
            return await self._workers.change(signal, apply)
