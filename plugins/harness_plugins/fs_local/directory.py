"""List directories."""

import os

from harness.fs import FsDirEntry, FsError, FsTarget, FsType, printable
from harness_plugins.fs_local.os_errors import translated
from harness_plugins.fs_local.workers import Checkpoint


def list_dir(target: FsTarget, checkpoint: Checkpoint) -> list[FsDirEntry]:
    """Return the entries sorted by name in code point order; links are reported as links.

    Raises:
        FsError: `FS_NOT_DIRECTORY`, `FS_NOT_FOUND`, `FS_PERMISSION_DENIED` or `FS_IO_ERROR`.
    """
    intent = f"list '{target.display_path}'"
    if "\0" in target.target_key:
        raise FsError(f"cannot {intent}: no path holds NUL", code="FS_NOT_FOUND")
    found: list[tuple[str, FsType]] = []
    with translated(intent):
        try:
            entries = os.scandir(target.target_key)
        except NotADirectoryError as exc:
            raise FsError(
                f"cannot {intent}: it is not a directory", code="FS_NOT_DIRECTORY"
            ) from exc
        with entries:
            for entry in entries:
                checkpoint()
                found.append((entry.name, _type_of(entry)))
    found.sort()
    return [FsDirEntry(printable(name), kind, _child(target, name, kind)) for name, kind in found]


def _type_of(entry: os.DirEntry[str]) -> FsType:
    if entry.is_symlink():
        return "symlink"
    if entry.is_file(follow_symlinks=False):
        return "file"
    return "directory" if entry.is_dir(follow_symlinks=False) else "other"


def _child(parent: FsTarget, name: str, kind: FsType) -> FsTarget:
    key = os.path.join(parent.target_key, name)
    display = os.path.join(parent.display_path, printable(name))
    return FsTarget(os.path.realpath(key) if kind == "symlink" else key, display)
