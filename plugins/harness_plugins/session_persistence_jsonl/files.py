"""Reach the file system through one narrow port, so that its failures can be rehearsed."""

import errno
import os
import stat
from typing import Final, Protocol

from harness.durable_files import FileOps, OsFiles

_READ_FLAGS = os.O_RDONLY | os.O_CLOEXEC | getattr(os, "O_NOFOLLOW", 0)
_APPEND_FLAGS = os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC | getattr(os, "O_NOFOLLOW", 0)


class LogFiles(FileOps, Protocol):
    """Offer the system calls of the backend; all may raise `OSError`."""

    def reopen(self, path: str) -> int:
        """Open an existing file for appending; links are not followed."""
        ...

    def open_read(self, path: str) -> int:
        """Open a file for reading, without waiting and without following links."""
        ...

    def read(self, fd: int, n_bytes: int) -> bytes:
        """Read up to `n_bytes`; empty at the end."""
        ...

    def fstat(self, fd: int) -> os.stat_result:
        """Describe an open file."""
        ...

    def lstat(self, path: str) -> os.stat_result:
        """Describe a path without following it."""
        ...

    def list_dir(self, path: str) -> list[str]:
        """Return the names in a directory, in no particular order."""
        ...

    def link(self, source: str, target: str) -> None:
        """Give a file a second name; never overwrites."""
        ...


class OsLogFiles(OsFiles):
    """The real calls."""

    def reopen(self, path: str) -> int:
        """See `LogFiles.reopen`."""
        return os.open(path, _APPEND_FLAGS)

    def open_read(self, path: str) -> int:
        """See `LogFiles.open_read`."""
        return os.open(path, _READ_FLAGS | getattr(os, "O_NONBLOCK", 0))

    def read(self, fd: int, n_bytes: int) -> bytes:
        """See `LogFiles.read`."""
        return os.read(fd, n_bytes)

    def fstat(self, fd: int) -> os.stat_result:
        """See `LogFiles.fstat`."""
        return os.fstat(fd)

    def lstat(self, path: str) -> os.stat_result:
        """See `LogFiles.lstat`."""
        return os.lstat(path)

    def list_dir(self, path: str) -> list[str]:
        """See `LogFiles.list_dir`."""
        return os.listdir(path)

    def link(self, source: str, target: str) -> None:
        """See `LogFiles.link`."""
        os.link(source, target)


OS_LOG_FILES: Final[LogFiles] = OsLogFiles()
"""The calls of the operating system that this process runs on."""


def write_all(files: LogFiles, fd: int, data: bytes) -> None:
    """Write all of `data`, however little the system takes at once."""
    rest = memoryview(data)
    while rest:
        taken = files.write(fd, rest)
        if taken == 0:
            raise OSError(errno.EIO, "the file system took no bytes")
        rest = rest[taken:]


def make_dirs(files: LogFiles, path: str, mode: int = 0o700) -> None:
    """Create a directory and its missing parents, each durable in its parent before the next.

    Raises:
        NotADirectoryError: something else has one of the names, also a link to a directory.
    """
    missing: list[str] = []
    while not is_real_dir(files, path):
        missing.append(path)
        path = os.path.dirname(path)
    for child in reversed(missing):
        try:
            files.mkdir(child, mode)
        except FileExistsError:
            continue  # another process was faster; the directory is what matters
        files.sync_directory(os.path.dirname(child))


def is_real_dir(files: LogFiles, path: str) -> bool:
    """Return whether a directory is there; False when nothing is.

    Raises:
        NotADirectoryError: something else has that name, also a link to a directory.
    """
    try:
        mode = files.lstat(path).st_mode
    except FileNotFoundError:
        return False
    if not stat.S_ISDIR(mode):
        what = "a symbolic link" if stat.S_ISLNK(mode) else "no directory"
        raise NotADirectoryError(errno.ENOTDIR, f"expected a directory, found {what}", path)
    return True
