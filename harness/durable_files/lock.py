"""Let one process at a time work on a file, and free the file when that process dies."""

import os
import socket
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import attrs

from harness.durable_files.errors import LockTimeoutError
from harness.durable_files.kernel_lock import try_lock
from harness.wire import JsonDecodeError, dumps, loads
from vendor_shims.cordis import Clock, LoopClock

_FIRST_DELAY_S = 0.02
_LAST_DELAY_S = 0.2
_MAX_OWNER_BYTES = 4096
_NO_FOLLOW = getattr(os, "O_NOFOLLOW", 0)


@attrs.frozen
class LockOwner:
    """Who took a lock last: a hint for people, never proof that they still hold it."""

    pid: int
    host: str


class FileLock:
    """A lock that is held until `release`, or until this process ends in any way.

    Invariants:
        - `_fd` is the open lock file while the lock is held, else None.
    """

    def __init__(self, path: Path, fd: int) -> None:
        """Take over a locked descriptor; use `file_lock` or `try_file_lock`."""
        self.path: Path = path
        """The lock file, `<file>.lock`. It stays behind; an unlocked one means nothing."""
        self._fd: int | None = fd

    @property
    def held(self) -> bool:
        """Return whether `release` has not been called."""
        return self._fd is not None

    def release(self) -> None:
        """Give the lock back; releasing twice is harmless."""
        fd, self._fd = self._fd, None
        if fd is not None:
            os.close(fd)


def try_file_lock(path: Path | str) -> FileLock | None:
    """Take the lock that guards a file, or return None when somebody holds it.

    Never waits. The lock is exclusive between processes and within this one. The lock file
    `<file>.lock` is made with mode 0600 and then names this process; its directory must exist.

    Raises:
        OSError: the lock file cannot be opened, or is a symbolic link.
    """
    lock_path = _lock_path(path)
    while True:
        fd = os.open(lock_path, os.O_RDWR | os.O_CREAT | _NO_FOLLOW, 0o600)
        try:
            if not try_lock(fd):
                os.close(fd)
                return None
            if _is_current(fd, lock_path):
                _record_owner(fd)
                return FileLock(lock_path, fd)
        except BaseException:
            os.close(fd)
            raise
        os.close(fd)  # somebody removed the file in between: that lock guards nothing


@asynccontextmanager
async def file_lock(
    path: Path | str, wait_s: float = 2.0, *, clock: Clock | None = None
) -> AsyncGenerator[FileLock]:
    """Hold the lock that guards a file for the length of the block.

    Asks again after 20 ms, then after twice as long each time up to 200 ms. Cancelling the wait
    takes nothing.

    Args:
        path: the guarded file; the lock is `<file>.lock` beside it.
        wait_s: how long to ask for, in seconds; 0 asks once.
        clock: the time source, the loop's by default.

    Raises:
        LockTimeoutError: somebody else held it all the time.
        OSError: as `try_file_lock`.
    """
    clock = clock or LoopClock()
    end_s = clock.time() + wait_s
    delay_s = _FIRST_DELAY_S
    while (lock := try_file_lock(path)) is None:
        left_s = end_s - clock.time()
        if left_s <= 0:
            raise LockTimeoutError(_timeout_message(path, wait_s))
        await clock.sleep(min(delay_s, left_s))
        delay_s = min(delay_s * 2, _LAST_DELAY_S)
    try:
        yield lock
    finally:
        lock.release()


def read_owner(path: Path | str) -> LockOwner | None:
    """Return who took the lock of a file last, or None when that is not recorded."""
    try:
        with open(_lock_path(path), "rb") as file:
            record = loads(file.read(_MAX_OWNER_BYTES))
    except (OSError, JsonDecodeError):
        return None
    match record:
        case {"pid": int(pid), "host": str(host)}:
            return LockOwner(pid, host)
        case _:
            return None


def _lock_path(path: Path | str) -> Path:
    path = Path(path)
    return path.with_name(path.name + ".lock")


def _is_current(fd: int, lock_path: Path) -> bool:
    """Return whether the locked file is still the one under its name."""
    try:
        return os.path.samestat(os.fstat(fd), os.stat(lock_path))
    except FileNotFoundError:
        return False


def _record_owner(fd: int) -> None:
    record = dumps({"pid": os.getpid(), "host": socket.gethostname()})
    with suppress(OSError):  # a full disk must not keep the lock from working; it is a hint only
        os.ftruncate(fd, 0)
        os.lseek(fd, 0, os.SEEK_SET)
        os.write(fd, record)


def _timeout_message(path: Path | str, wait_s: float) -> str:
    owner = read_owner(path)
    who = f"process {owner.pid} on {owner.host}" if owner else "another process"
    return (
        f"{_lock_path(path)} is still locked by {who} after {wait_s:g} s; "
        f"end that process or try again"
    )
