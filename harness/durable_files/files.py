"""Name the few operating system calls that durable writing consists of.

They are behind a protocol so that a test can stop a write at any of them.
"""

import errno
import os
from collections.abc import Generator
from contextlib import contextmanager
from typing import Final, Protocol

_NO_FOLLOW = getattr(os, "O_NOFOLLOW", 0)
_BINARY = getattr(os, "O_BINARY", 0)
_NO_DIRECTORY_SYNC = {errno.EINVAL, errno.ENOTSUP, errno.EBADF}


class FileOps(Protocol):
    """The calls that a durable write makes, each one a point at which a machine may stop.

    Each raises `OSError` as the call of the same name in `os` does.
    """

    def create(self, path: str, mode: int) -> int:
        """Create a file that must not exist and return its descriptor; links are not followed."""
        ...

    def append(self, path: str, mode: int) -> int:
        """Open a file for appending, creating it when missing; links are not followed."""
        ...

    def write(self, fd: int, data: memoryview) -> int:
        """Write a beginning of the data and return how many bytes that was."""
        ...

    def truncate(self, fd: int, length: int) -> None:
        """Cut a file to a length in bytes."""
        ...

    def fsync(self, fd: int) -> None:
        """Wait until the file's bytes are on the device."""
        ...

    def close(self, fd: int) -> None:
        """Close a descriptor."""
        ...

    def replace(self, source: str, target: str) -> None:
        """Rename over the target in one step."""
        ...

    def unlink(self, path: str) -> None:
        """Remove a file."""
        ...

    def mkdir(self, path: str, mode: int) -> None:
        """Make one directory that must not exist."""
        ...

    def sync_directory(self, path: str) -> None:
        """Wait until the directory's entries are on the device."""
        ...


class OsFiles:
    """The real calls. Modes are exact: the process's umask does not change them."""

    def create(self, path: str, mode: int) -> int:
        """See `FileOps.create`."""
        return _open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)

    def append(self, path: str, mode: int) -> int:
        """See `FileOps.append`; the mode counts only for a file that is made here."""
        try:
            return _open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_EXCL, mode)
        except FileExistsError:
            flags = os.O_WRONLY | os.O_APPEND | _NO_FOLLOW | _BINARY
            return os.open(path, flags)

    def write(self, fd: int, data: memoryview) -> int:
        """See `FileOps.write`."""
        return os.write(fd, data)

    def truncate(self, fd: int, length: int) -> None:
        """See `FileOps.truncate`."""
        os.ftruncate(fd, length)

    def fsync(self, fd: int) -> None:
        """See `FileOps.fsync`."""
        os.fsync(fd)

    def close(self, fd: int) -> None:
        """See `FileOps.close`."""
        os.close(fd)

    def replace(self, source: str, target: str) -> None:
        """See `FileOps.replace`."""
        os.replace(source, target)

    def unlink(self, path: str) -> None:
        """See `FileOps.unlink`."""
        os.unlink(path)

    def mkdir(self, path: str, mode: int) -> None:
        """See `FileOps.mkdir`."""
        os.mkdir(path, mode)
        os.chmod(path, mode)

    def sync_directory(self, path: str) -> None:
        """See `FileOps.sync_directory`; a file system that cannot do it is not an error."""
        if os.name == "nt":  # pragma: no cover - directories cannot be opened there
            return
        fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
        with _closing(fd):
            try:
                os.fsync(fd)
            except OSError as error:
                if error.errno not in _NO_DIRECTORY_SYNC:
                    raise


OS_FILES: Final[FileOps] = OsFiles()
"""The calls of the operating system that this process runs on."""


def _open(path: str, flags: int, mode: int) -> int:
    fd = os.open(path, flags | _NO_FOLLOW | _BINARY, mode)
    try:
        os.chmod(fd if os.chmod in os.supports_fd else path, mode)
    except BaseException:
        os.close(fd)
        os.unlink(path)
        raise
    return fd


@contextmanager
def _closing(fd: int) -> Generator[None]:
    try:
        yield
    finally:
        os.close(fd)
