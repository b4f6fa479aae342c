"""Make and check directories that only we can write to, and sweep old files out of them.

Shared by everything that leaves files behind for a model to read: all of them live in places
that other users could try to prepare in advance.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Generator
from contextlib import contextmanager, suppress

from harness.spill.errors import SpillUnsafeError

_DIRECTORY_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


@contextmanager
def private_directory(
    path: str, *, create: bool = True, within: int | None = None
) -> Generator[int]:
    """Open a directory that is ours alone and yield its descriptor.

    `within` is the descriptor of the parent when `path` is a bare name. With `create` it is
    made with mode 0700 when missing.

    Raises:
        SpillUnsafeError: it is a link, no directory, not ours, or others may write to it.
        OSError: it cannot be made or opened for another reason.
    """
    if create:
        with suppress(FileExistsError):
            os.mkdir(path, 0o700, dir_fd=within)
    try:
        fd = os.open(path, _DIRECTORY_FLAGS, dir_fd=within)
    except (NotADirectoryError, OSError) as error:
        if os.path.islink(path) or isinstance(error, NotADirectoryError):
            raise SpillUnsafeError(f"{path!r} must be a real directory") from error
        raise
    try:
        if not _is_ours(os.fstat(fd)):
            raise SpillUnsafeError(
                f"{path!r} must belong to us and must not be writable by others; "
                "remove it or choose another directory"
            )
        yield fd
    finally:
        os.close(fd)


def create_private_file(name: str, directory_fd: int) -> int:
    """Create a new file with mode 0600 and return its descriptor, open for writing.

    Raises:
        FileExistsError: the name is taken, by whatever it may be.
    """
    return os.open(name, _FILE_FLAGS, 0o600, dir_fd=directory_fd)


def sweep_directory(
    path: str, *, older_than: float, subdirectories: re.Pattern[str] | None = None
) -> None:
    """Remove files last written before `older_than` (seconds since the epoch).

    Only regular files go, from the directory itself or, with `subdirectories`, from those of its
    directories whose whole name matches; matching directories that are empty then go, too. A
    directory that others could have prepared, a link, or anything that vanishes meanwhile is
    left alone. Touches the file system; call it from a worker thread.
    """
    if not has_protected_ancestors(path):
        return
    with suppress(OSError, SpillUnsafeError), private_directory(path, create=False) as fd:
        if subdirectories is None:
            _sweep_files(fd, older_than)
            return
        for name in os.listdir(fd):
            if subdirectories.fullmatch(name):
                with suppress(OSError, SpillUnsafeError):
                    with private_directory(name, create=False, within=fd) as inner:
                        _sweep_files(inner, older_than)
                    os.rmdir(name, dir_fd=fd)


def has_protected_ancestors(path: str) -> bool:
    """Tell whether nobody else can replace a directory on the way to `path`."""
    parent = os.path.dirname(os.path.abspath(path))
    while True:
        try:
            status = os.lstat(parent)
        except OSError:
            return False
        writable = status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
        if not stat.S_ISDIR(status.st_mode) or (writable and not status.st_mode & stat.S_ISVTX):
            return False
        if parent == os.path.dirname(parent):
            return True
        parent = os.path.dirname(parent)


def _sweep_files(directory_fd: int, older_than: float) -> None:
    for name in os.listdir(directory_fd):
        with suppress(OSError):  # somebody else removed it first
            status = os.stat(name, dir_fd=directory_fd, follow_symlinks=False)
            if stat.S_ISREG(status.st_mode) and status.st_mtime < older_than:
                os.unlink(name, dir_fd=directory_fd)


def _is_ours(status: os.stat_result) -> bool:
    writable = status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    return status.st_uid == os.geteuid() and not writable
