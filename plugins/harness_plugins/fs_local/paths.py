"""Turn spellings of paths into identities, and files into versions."""

import os
import stat
from contextlib import suppress
from pathlib import Path

from harness.fs import FsArgumentError, FsInfo, FsTarget, FsType, FsVersion, printable
from harness_plugins.fs_local.os_errors import translated


def resolve(path: str, cwd: str) -> FsTarget:
    """Return the identity of `path`, whose symbolic links are followed as far as they exist.

    Raises:
        FsError: `FS_NOT_FOUND` below something that is no directory, `FS_IO_ERROR` for a loop of
            links or a name that is too long, `FS_PERMISSION_DENIED` behind a closed directory.
        FsArgumentError: `cwd` is not absolute, or the path holds an unpaired surrogate.
    """
    joined = _joined(path, cwd)
    spelled = os.path.normpath(joined)
    if "\0" in joined:  # names nothing; whoever uses it gets told
        return FsTarget(spelled, printable(spelled))
    canonical = os.path.realpath(joined)
    with translated(f"resolve '{printable(spelled)}'"), suppress(FileNotFoundError):
        _ = os.stat(canonical)
    shown = canonical if ".." in joined.split(os.sep) else spelled
    return FsTarget(canonical, printable(shown))


def stat_target(target: FsTarget) -> FsInfo | None:
    """Describe what is at a target, or return None."""
    return _info(target.target_key, target.display_path, follow=True)


def lstat_path(path: str, cwd: str) -> FsInfo | None:
    """Describe the last component of a path without following it, or return None."""
    joined = _joined(path, cwd)
    return _info(joined.rstrip(os.sep) or os.sep, printable(joined), follow=False)


def contains(parent: FsTarget, child: FsTarget) -> bool:
    """Say whether `child` is `parent` or lies below it, by canonical path."""
    below = parent.target_key.rstrip(os.sep) + os.sep
    return child.target_key == parent.target_key or child.target_key.startswith(below)


def file_url(target: FsTarget) -> str:
    """Return the `file:` URL of a target; undecodable bytes are percent-encoded."""
    return Path(target.target_key).as_uri()


def version_of(info: os.stat_result) -> FsVersion:
    """Return `dev:ino:size:mtime_ns:ctime_ns`."""
    return FsVersion(
        f"{info.st_dev}:{info.st_ino}:{info.st_size}:{info.st_mtime_ns}:{info.st_ctime_ns}"
    )


def _joined(path: str, cwd: str) -> str:
    if not os.path.isabs(cwd):
        raise FsArgumentError(f"cwd must be an absolute path, got {printable(cwd)!r}")
    joined = os.path.join(cwd, path)
    try:
        _ = os.fsencode(joined)
    except UnicodeEncodeError as exc:
        raise FsArgumentError(
            f"the path {printable(path)!r} holds an unpaired surrogate; send valid Unicode"
        ) from exc
    return joined


def _info(path: str, display_path: str, *, follow: bool) -> FsInfo | None:
    if "\0" in path:
        return None
    info = None
    with (
        translated(f"look at '{display_path}'"),
        suppress(FileNotFoundError, NotADirectoryError),
    ):
        info = os.stat(path, follow_symlinks=follow)
    if info is None:
        return None
    kind = _type_of(info.st_mode)
    return FsInfo(version_of(info), kind, info.st_size if kind == "file" else None)


def _type_of(mode: int) -> FsType:
    if stat.S_ISREG(mode):
        return "file"
    if stat.S_ISDIR(mode):
        return "directory"
    return "symlink" if stat.S_ISLNK(mode) else "other"
