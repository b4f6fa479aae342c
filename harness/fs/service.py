"""Declare the filesystem service that backends implement."""

from abc import abstractmethod
from collections.abc import AsyncGenerator
from typing import ClassVar

from harness.fs.types import (
    EditOutcome,
    FsDirEntry,
    FsInfo,
    FsTarget,
    FsVersion,
    TextEdit,
    WriteIntent,
    WriteOutcome,
)
from vendor_shims.cordis import AbortSignal, Service


class FileSystem(Service):
    """Read and change files by identity, with typed failures and version-guarded mutations.

    Every method may raise `FsError`; a `signal` that fires makes it `FS_ABORTED`. Text is strict
    UTF-8 without its byte order mark, and line ends are kept as they are. Host cancellation of a
    mutation that is being committed waits for the commit to end.
    """

    key: ClassVar[str] = "fs"

    sandbox_mode: str | None = None
    """Confinement of mutations, or None when the backend does not confine."""

    @abstractmethod
    async def resolve(self, path: str, *, cwd: str, signal: AbortSignal | None = None) -> FsTarget:
        """Turn a spelling of a path, relative to the absolute `cwd`, into an identity.

        Symlinks are followed; `~` and variables are not expanded. The file need not exist.

        Raises:
            FsError: `FS_NOT_FOUND` when a parent is not a directory, `FS_IO_ERROR` for a loop.
            FsArgumentError: the path cannot be encoded.
        """

    @abstractmethod
    def process_path(self, target: FsTarget) -> str:
        """Return the path under which child processes find the target."""

    @abstractmethod
    def file_url(self, target: FsTarget) -> str:
        """Return the `file:` URL of the target."""

    @abstractmethod
    def contains(self, parent: FsTarget, child: FsTarget) -> bool:
        """Say whether `child` is `parent` or lies below it."""

    @abstractmethod
    async def stat(self, target: FsTarget, signal: AbortSignal | None = None) -> FsInfo | None:
        """Describe the target, following links, or return None when nothing is there."""

    @abstractmethod
    async def lstat(
        self, path: str, *, cwd: str, signal: AbortSignal | None = None
    ) -> FsInfo | None:
        """Describe the last component of a path without following it, or return None."""

    @abstractmethod
    async def read_text(self, target: FsTarget, signal: AbortSignal | None = None) -> str:
        """Return the whole text; a file beyond the backend's limit is `FS_TOO_LARGE`."""

    @abstractmethod
    def stream_text(
        self, target: FsTarget, signal: AbortSignal | None = None
    ) -> AsyncGenerator[str]:
        """Yield the text in bounded chunks; bad bytes fail where they are met (`FS_NOT_TEXT`).

        Whoever stops before the end closes the generator (`contextlib.aclosing`).
        """

    @abstractmethod
    async def read_bytes(
        self,
        target: FsTarget,
        signal: AbortSignal | None = None,
        *,
        max_bytes: int | None = None,
    ) -> bytes:
        """Return the whole content; more than `max_bytes` is `FS_TOO_LARGE`."""

    @abstractmethod
    async def list_dir(
        self, target: FsTarget, signal: AbortSignal | None = None
    ) -> list[FsDirEntry]:
        """Return the entries of a directory sorted by name in code point order."""

    @abstractmethod
    async def write_text(
        self,
        target: FsTarget,
        content: str,
        *,
        expected: WriteIntent | None = None,
        signal: AbortSignal | None = None,
    ) -> WriteOutcome:
        """Replace or create the file atomically with exactly `content`.

        Missing parents are created; mode and byte order mark of a replaced file are kept.
        """

    @abstractmethod
    async def edit_text(
        self,
        target: FsTarget,
        edit: TextEdit,
        *,
        expected: FsVersion | None = None,
        signal: AbortSignal | None = None,
    ) -> EditOutcome:
        """Apply one literal edit atomically; bytes outside the replaced spans do not change."""
