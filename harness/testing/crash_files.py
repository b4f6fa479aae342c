"""Stop a durable write at any one of its operating system calls."""

from collections.abc import Callable
from typing import TypeVar

from harness.durable_files import OS_FILES, FileOps

T = TypeVar("T")


class SimulatedCrash(BaseException):
    """Stands for the process ending here; not an `Exception`, so nothing handles it by habit."""


class CrashPointFiles:
    """Real files whose call number `at` fails, counted from 0 over all calls.

    With `error`, that call raises it and later ones work: a fault. Without, it and every later
    call raise `SimulatedCrash`: the process has ended and cannot even clean up. With
    `partial_bytes`, a write that is hit has first written that many bytes.

    Invariants:
        - `calls` lists the names of all calls made so far, the failing one included.
    """

    def __init__(
        self,
        at: int | None = None,
        *,
        error: OSError | None = None,
        partial_bytes: int = 0,
        max_write: int | None = None,
        files: FileOps = OS_FILES,
    ) -> None:
        """Pass `at=None` to only count calls; `max_write` makes every write a short one."""
        self.calls: list[str] = []
        self.crashed: bool = False
        self._at = at
        self._error = error
        self._partial_bytes = partial_bytes
        self._max_write = max_write
        self._files = files

    def create(self, path: str, mode: int) -> int:
        """See `FileOps.create`."""
        return self._call("create", lambda: self._files.create(path, mode))

    def append(self, path: str, mode: int) -> int:
        """See `FileOps.append`."""
        return self._call("append", lambda: self._files.append(path, mode))

    def write(self, fd: int, data: memoryview) -> int:
        """See `FileOps.write`; here a part of the data may already be written when it fails."""
        if self._is_next() and self._partial_bytes and not self.crashed:
            self._files.write(fd, data[: self._partial_bytes])
        return self._call("write", lambda: self._files.write(fd, data[: self._max_write]))

    def truncate(self, fd: int, length: int) -> None:
        """See `FileOps.truncate`."""
        self._call("truncate", lambda: self._files.truncate(fd, length))

    def fsync(self, fd: int) -> None:
        """See `FileOps.fsync`."""
        self._call("fsync", lambda: self._files.fsync(fd))

    def close(self, fd: int) -> None:
        """See `FileOps.close`; a crash closes descriptors too, as the kernel would."""
        if self.crashed:
            self._files.close(fd)
        self._call("close", lambda: self._files.close(fd))

    def replace(self, source: str, target: str) -> None:
        """See `FileOps.replace`."""
        self._call("replace", lambda: self._files.replace(source, target))

    def unlink(self, path: str) -> None:
        """See `FileOps.unlink`."""
        self._call("unlink", lambda: self._files.unlink(path))

    def mkdir(self, path: str, mode: int) -> None:
        """See `FileOps.mkdir`."""
        self._call("mkdir", lambda: self._files.mkdir(path, mode))

    def sync_directory(self, path: str) -> None:
        """See `FileOps.sync_directory`."""
        self._call("sync_directory", lambda: self._files.sync_directory(path))

    def _is_next(self) -> bool:
        return len(self.calls) == self._at

    def _call(self, name: str, call: Callable[[], T]) -> T:
        hit = self._is_next()
        self.calls.append(name)
        if hit and self._error is not None:
            raise self._error
        if hit or self.crashed:
            self.crashed = True
            raise SimulatedCrash(name)
        return call()
