"""Keep spilled texts in one owner-only directory per session."""

from __future__ import annotations

import os
import secrets
import shutil
import stat
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from typing import BinaryIO

import anyio.to_thread

from harness.spill import (
    SpillError,
    SpillRecord,
    SpillSource,
    SpillStore,
    create_private_file,
    private_directory,
    sweep_directory,
)
from harness.wire import replace_surrogates
from harness_plugins.spill_local.config import SpillLocalConfig
from harness_plugins.spill_local.names import SESSION_DIRECTORY, encode_name, session_directory
from harness_plugins.spill_local.roots import Roots
from vendor_shims.cordis import Context

_HINT = "Read it in parts with the read tool (offset and limit), or search it with grep."
_DAY_S = 86_400


class SpillLocal(SpillStore):
    """Write each text to a new file `<root>/session-<hash>/<random>-<name>`, mode 0600.

    Invariants: no file is ever overwritten; what could not be kept completely leaves no file.
    """

    Config = SpillLocalConfig

    def __init__(self, ctx: Context, config: SpillLocalConfig) -> None:
        super().__init__(ctx)
        self._roots = Roots(config.root)
        self._period_days = config.cleanup_period_days

    def start(self) -> None:
        """Sweep old texts in the background; disposal waits for the sweep."""
        if self._period_days > 0:
            self.ctx.spawn(self._sweep(), name="spill-sweep", shield=True)

    async def save_text(
        self, session_id: str, source: SpillSource, *, suggested_name: str, content: str
    ) -> SpillRecord:
        """Keep a text; see `SpillStore.save_text`."""
        del source
        encoded = replace_surrogates(content).encode()

        def write(fd: int) -> None:
            with open(fd, "wb", closefd=False) as file:
                file.write(encoded)

        return await anyio.to_thread.run_sync(self._save, session_id, suggested_name, write)

    async def adopt_file(
        self, session_id: str, source: SpillSource, *, suggested_name: str, path: str
    ) -> SpillRecord:
        """Take a finished file over; see `SpillStore.adopt_file`."""
        del source

        def copy(fd: int) -> None:
            with _open_own(path) as original, open(fd, "wb", closefd=False) as file:
                shutil.copyfileobj(original, file)

        record = await anyio.to_thread.run_sync(self._save, session_id, suggested_name, copy)
        with suppress(OSError):  # a copy that stays in its private place harms nobody
            os.unlink(path)
        return record

    def _save(
        self, session_id: str, suggested_name: str, write: Callable[[int], None]
    ) -> SpillRecord:
        name = f"{secrets.token_hex(6)}-{encode_name(suggested_name)}"
        folder = session_directory(session_id)
        with _explained():
            root = self._roots.active()
            size = _retried(lambda: _write_into(root, folder, name, write))
        locator = os.path.join(root, folder, name)
        return SpillRecord(locator=locator, bytes=size, retrieval_hint=_HINT)

    async def _sweep(self) -> None:
        await anyio.to_thread.run_sync(self._sweep_roots, time.time() - self._period_days * _DAY_S)

    def _sweep_roots(self, older_than: float) -> None:
        for root in self._roots.sweepable():
            sweep_directory(root, older_than=older_than, subdirectories=SESSION_DIRECTORY)
            if not self._roots.is_active(root):
                with suppress(OSError):  # not empty, not ours, or gone
                    os.rmdir(root)


def _retried(action: Callable[[], int]) -> int:
    """Repeat what a sweep disturbed by taking the still empty directory away."""
    for _ in range(3):
        with suppress(FileNotFoundError):
            return action()
    return action()


def _write_into(root: str, folder: str, name: str, write: Callable[[int], None]) -> int:
    with private_directory(root) as top, private_directory(folder, within=top) as inner:
        return _write_new(name, inner, write)


def _write_new(name: str, directory_fd: int, write: Callable[[int], None]) -> int:
    fd = create_private_file(name, directory_fd)
    try:
        write(fd)
        return os.fstat(fd).st_size
    except BaseException:
        os.unlink(name, dir_fd=directory_fd)
        raise
    finally:
        os.close(fd)


@contextmanager
def _explained() -> Generator[None]:
    try:
        yield
    except OSError as error:
        raise SpillError(f"cannot keep the full text: {error}") from error


@contextmanager
def _open_own(path: str) -> Generator[BinaryIO]:
    # Non-blocking, so that a pipe with this name cannot hold the thread.
    fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode) or status.st_uid != os.geteuid():
            raise SpillError(f"{path!r} must be a regular file that belongs to us")
        with open(fd, "rb", closefd=False) as file:
            yield file
    finally:
        os.close(fd)
