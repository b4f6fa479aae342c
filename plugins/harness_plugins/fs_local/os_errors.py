"""Say in typed errors what the operating system refused."""

import errno
import os
import stat
from collections.abc import Generator
from contextlib import contextmanager

from harness.fs import FsCode, FsError

_CODES: dict[int, FsCode] = {
    errno.ENOENT: "FS_NOT_FOUND",
    errno.ENOTDIR: "FS_NOT_FOUND",
    errno.EACCES: "FS_PERMISSION_DENIED",
    errno.EPERM: "FS_PERMISSION_DENIED",
    errno.EROFS: "FS_PERMISSION_DENIED",
    errno.EISDIR: "FS_NOT_REGULAR_FILE",
    errno.ENXIO: "FS_NOT_REGULAR_FILE",
    errno.ENODEV: "FS_NOT_REGULAR_FILE",
}

_REASONS: dict[int, str] = {
    errno.ENOENT: "no such file or directory",
    errno.ENOTDIR: "a part of the path is not a directory",
    errno.EACCES: "permission denied",
    errno.EPERM: "the system does not permit it",
    errno.EROFS: "the file system is read-only",
    errno.EISDIR: "it is a directory",
    errno.ENOSPC: "no space is left on the disk",
    errno.EDQUOT: "the disk quota is used up",
    errno.EFBIG: "the file would be larger than the system allows",
    errno.ELOOP: "too many levels of symbolic links",
    errno.ENAMETOOLONG: "the name is too long",
    errno.EMFILE: "too many files are open",
    errno.ENFILE: "too many files are open",
}


def fs_error(exc: OSError, intent: str) -> FsError:
    """Return the typed error for a refused `intent`, such as `read 'a.txt'`."""
    number = exc.errno or 0
    reason = _REASONS.get(number) or exc.strerror or type(exc).__name__
    return FsError(f"cannot {intent}: {reason}", code=_CODES.get(number, "FS_IO_ERROR"))


@contextmanager
def translated(intent: str) -> Generator[None]:
    """Turn what the system raises inside the block into an `FsError` that names the intent."""
    try:
        yield
    except OSError as exc:
        raise fs_error(exc, intent) from exc


def require_regular(info: os.stat_result, intent: str) -> None:
    """Raise `FS_NOT_REGULAR_FILE`, naming what is there instead, unless it is a regular file."""
    if stat.S_ISREG(info.st_mode):
        return
    raise FsError(
        f"cannot {intent}: it is {_kind(info.st_mode)}, not a regular file",
        code="FS_NOT_REGULAR_FILE",
    )


def _kind(mode: int) -> str:
    kinds = {
        stat.S_IFDIR: "a directory",
        stat.S_IFIFO: "a named pipe",
        stat.S_IFSOCK: "a socket",
        stat.S_IFCHR: "a device",
        stat.S_IFBLK: "a device",
        stat.S_IFLNK: "a symbolic link that has just been put there",
    }
    return kinds.get(stat.S_IFMT(mode), "something else")
