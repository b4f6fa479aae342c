"""Write and edit files: all of it or nothing, and only in the state that was expected."""

import errno
import os
from codecs import BOM_UTF8
from collections.abc import Generator
from contextlib import contextmanager

from harness.fs import (
    CreateIfAbsent,
    EditOutcome,
    FsArgumentError,
    FsError,
    FsTarget,
    FsVersion,
    ReplaceIfVersion,
    TextEdit,
    WriteIntent,
    WriteOutcome,
    apply_edit,
    decode_text,
    encode_text,
    refuse_binary,
)
from harness_plugins.fs_local.os_errors import require_regular, translated
from harness_plugins.fs_local.paths import version_of
from harness_plugins.fs_local.reading import READ_FLAGS, read_up_to, regular_state
from harness_plugins.fs_local.staging import Original, Staged, stage
from harness_plugins.fs_local.workers import Checkpoint


def write_file(
    target: FsTarget,
    content: str,
    *,
    expected: WriteIntent | None,
    diff_basis_max_bytes: int,
    checkpoint: Checkpoint,
) -> WriteOutcome:
    """Replace or create a file with `content`, keeping the byte order mark of a replaced one.

    Raises:
        FsArgumentError: the path or the content cannot be stored.
        FsError: `FS_NOT_OBSERVED` or `FS_STALE_VERSION` when `expected` does not hold, and what
            the system refuses.
    """
    intent = f"write '{target.display_path}'"
    data = encode_text(content)
    may_create = not isinstance(expected, ReplaceIfVersion)
    with _directory_of(target, intent, create=may_create) as directory_fd:
        if directory_fd is None:
            raise _stale(target)
        name = _name_of(target)
        with _original(directory_fd, name, intent) as old:
            _require_expected(target, old, expected)
            has_bom, before = _basis(target, old, diff_basis_max_bytes, checkpoint)
            if has_bom:
                data = encode_text(content, with_bom=True)
            with _staged(directory_fd, data, old, checkpoint) as staged:
                info = _publish_write(target, staged, expected)
    return WriteOutcome(
        operation="create" if old is None else "update",
        version=version_of(info),
        before=before,
        after=content,
        broke_hard_link=old is not None and old.info.st_nlink > 1,
    )


def edit_file(
    target: FsTarget,
    edit: TextEdit,
    *,
    expected: FsVersion | None,
    max_text_bytes: int,
    checkpoint: Checkpoint,
) -> EditOutcome:
    """Apply one literal edit to a text file that nobody else changes meanwhile.

    Raises:
        FsArgumentError: the path or the new text cannot be stored.
        FsError: `FS_STALE_VERSION` when the file is not in the expected state or changes while it
            is edited, the failures of `apply_edit`, and what the system refuses.
    """
    intent = f"edit '{target.display_path}'"
    _ = encode_text(edit.new)
    with _directory_of(target, intent, create=False) as directory_fd:
        if directory_fd is None:
            raise _missing(target, expected)
        name = _name_of(target)
        with _original(directory_fd, name, intent) as old:
            if old is None:
                raise _missing(target, expected)
            if expected is not None and version_of(old.info) != expected:
                raise _stale(target)
            data = _whole(target, old, max_text_bytes, checkpoint)
            refuse_binary(data, target.display_path)
            before = decode_text(data, target.display_path)
            edited = apply_edit(
                before.text, edit, display_path=target.display_path, max_chars=max_text_bytes
            )
            mark = BOM_UTF8 if before.has_bom else b""  # the text may begin with a second one
            new_data = mark + encode_text(edited.text)
            with _staged(directory_fd, new_data, old, checkpoint) as staged:
                _require_version(target, directory_fd, name, version_of(old.info))
                info = staged.replace(name)
    return EditOutcome(
        version=version_of(info),
        before=before.text,
        after=edited.text,
        replacements=edited.replacements,
        broke_hard_link=old.info.st_nlink > 1,
    )


@contextmanager
def _directory_of(target: FsTarget, intent: str, *, create: bool) -> Generator[int | None]:
    """Open the directory of a target, or yield None when it is missing and not to be made."""
    directory, _ = os.path.split(target.target_key)
    if "\0" in target.target_key:
        raise FsArgumentError(f"cannot {intent}: a path must not hold NUL")
    with translated(intent):
        if create:
            os.makedirs(directory, exist_ok=True)
        try:
            fd = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except FileNotFoundError:
            fd = None
        try:
            yield fd
        finally:
            if fd is not None:
                os.close(fd)


def _name_of(target: FsTarget) -> str:
    return os.path.basename(target.target_key) or "."


@contextmanager
def _original(directory_fd: int, name: str, intent: str) -> Generator[Original | None]:
    """Open the file that is to be replaced, or yield None; refuse what must not be replaced."""
    try:
        info = os.lstat(name, dir_fd=directory_fd)
    except FileNotFoundError:
        yield None
        return
    require_regular(info, intent)
    if not os.access(name, os.W_OK, dir_fd=directory_fd, effective_ids=True):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    try:
        fd = os.open(name, READ_FLAGS, dir_fd=directory_fd)
    except PermissionError:
        yield Original(info, None)
        return
    try:
        yield Original(regular_state(fd, intent), fd)
    finally:
        os.close(fd)


@contextmanager
def _staged(
    directory_fd: int, data: bytes, old: Original | None, checkpoint: Checkpoint
) -> Generator[Staged]:
    staged = stage(directory_fd, data, like=old, checkpoint=checkpoint)
    try:
        checkpoint()
        yield staged
    finally:
        staged.discard()


def _publish_write(
    target: FsTarget, staged: Staged, expected: WriteIntent | None
) -> os.stat_result:
    name = _name_of(target)
    if isinstance(expected, CreateIfAbsent):
        try:
            return staged.create(name)
        except FileExistsError as exc:
            raise _unseen(target) from exc
    if expected is not None:
        _require_version(target, staged.directory_fd, name, expected.version)
    return staged.replace(name)


def _require_expected(target: FsTarget, old: Original | None, expected: WriteIntent | None) -> None:
    if isinstance(expected, CreateIfAbsent) and old is not None:
        raise _unseen(target)
    if isinstance(expected, ReplaceIfVersion) and (
        old is None or version_of(old.info) != expected.version
    ):
        raise _stale(target)


def _require_version(target: FsTarget, directory_fd: int, name: str, version: FsVersion) -> None:
    """Look a last time, immediately before the rename."""
    try:
        current = os.lstat(name, dir_fd=directory_fd)
    except FileNotFoundError as exc:
        raise _stale(target) from exc
    if version_of(current) != version:
        raise _stale(target)


def _basis(
    target: FsTarget, old: Original | None, max_bytes: int, checkpoint: Checkpoint
) -> tuple[bool, str | None]:
    """Return whether the old file has a byte order mark, and its text if that can be kept."""
    if old is None or old.fd is None:
        return False, None
    if old.info.st_size >= max_bytes:
        return os.pread(old.fd, len(BOM_UTF8), 0) == BOM_UTF8, None
    data = read_up_to(old.fd, max_bytes, checkpoint)
    try:
        text = decode_text(data, target.display_path).text
    except FsError:
        text = None
    return data.startswith(BOM_UTF8), text


def _whole(target: FsTarget, old: Original, max_text_bytes: int, checkpoint: Checkpoint) -> bytes:
    if old.fd is None:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    data = b""
    if old.info.st_size <= max_text_bytes:
        data = read_up_to(old.fd, max_text_bytes + 1, checkpoint)
    if max(len(data), old.info.st_size) > max_text_bytes:
        raise FsError(
            f"'{target.display_path}' is larger than {max_text_bytes} bytes and cannot be edited "
            "as one text; change it with a shell command.",
            code="FS_TOO_LARGE",
        )
    return data


def _unseen(target: FsTarget) -> FsError:
    return FsError(
        f"'{target.display_path}' already exists and its content has not been seen.",
        code="FS_NOT_OBSERVED",
    )


def _stale(target: FsTarget) -> FsError:
    return FsError(
        f"'{target.display_path}' is no longer as it was when it was last seen; "
        "nothing was changed.",
        code="FS_STALE_VERSION",
    )


def _missing(target: FsTarget, expected: FsVersion | None) -> FsError:
    if expected is not None:
        return _stale(target)
    return FsError(f"'{target.display_path}' does not exist.", code="FS_NOT_FOUND")
