"""Replace a file's content in one step that a crash cannot cut."""

import os
import secrets
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from harness.durable_files.files import OS_FILES, FileOps

_NAME_TRIES = 16


def _random_name() -> str:
    return secrets.token_hex(6)


def atomic_write(
    path: Path | str,
    data: bytes,
    *,
    mode: int,
    dir_mode: int = 0o700,
    files: FileOps = OS_FILES,
    random_name: Callable[[], str] = _random_name,
) -> None:
    """Write the file so that at every moment it has its old content or the new one, whole.

    When the call returns, the new content is on the device. It blocks for two device writes, so
    call it in a worker thread. A symbolic link at `path` is replaced, not followed.

    Args:
        path: the file; missing parent directories are made with `dir_mode`.
        data: the whole new content.
        mode: permission bits of the new file, exactly.
        dir_mode: permission bits of the directories made on the way.
        files: the operating system calls, for tests.
        random_name: makes the 12 characters that tell temporary files apart.

    Raises:
        OSError: any step failed. The old content is intact and no temporary file is left, except
            when only the last step, the directory's sync, has failed: then the new content is in
            place and may not survive a power failure.
    """
    target = os.fspath(path)
    parent = os.path.dirname(os.path.abspath(target))
    _make_parents(parent, dir_mode, files)
    temporary, fd = _create(target, mode, files, random_name)
    try:
        try:
            _write_all(fd, data, files)
            files.fsync(fd)
        finally:
            files.close(fd)
        files.replace(temporary, target)
    except BaseException:
        with suppress(OSError):  # the first failure is the one to report
            files.unlink(temporary)
        raise
    files.sync_directory(parent)


def _create(
    target: str, mode: int, files: FileOps, random_name: Callable[[], str]
) -> tuple[str, int]:
    """Create a temporary file beside the target; whatever is planted under its name stays."""
    tries_left = _NAME_TRIES
    while True:
        temporary = f"{target}.{random_name()}.tmp"
        tries_left -= 1
        try:
            return temporary, files.create(temporary, mode)
        except FileExistsError:
            if not tries_left:
                raise


def _write_all(fd: int, data: bytes, files: FileOps) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[files.write(fd, rest) :]


def _make_parents(directory: str, mode: int, files: FileOps) -> None:
    """Make missing directories from the top down, each durable in the one above it."""
    missing: list[str] = []
    while not os.path.isdir(directory):
        missing.append(directory)
        directory = os.path.dirname(directory)
    for path in reversed(missing):
        with suppress(FileExistsError):  # another writer was faster
            files.mkdir(path, mode)
        files.sync_directory(os.path.dirname(path))
