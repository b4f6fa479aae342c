"""Put a finished file in the place of another, or nowhere."""

import errno
import os
import secrets
from contextlib import suppress

from attrs import frozen

from harness_plugins.fs_local.workers import Checkpoint

_CHUNK_BYTES = 1024 * 1024
_STAGE_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_NEW_FILE_MODE = 0o666  # less the umask, which the system applies
_PRIVILEGES = {"security.capability"}
_RENAME_NOREPLACE = 1
_NO_SUCH_CALL = {errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP}


@frozen
class Original:
    """Hold the file about to be replaced; `fd` reads it, or is None where that is forbidden."""

    info: os.stat_result
    fd: int | None


@frozen
class Staged:
    """Hold a complete, flushed file under a temporary name beside its destination."""

    directory_fd: int
    name: str
    fd: int

    def replace(self, name: str) -> os.stat_result:
        """Take over `name`, whatever it names, and return the state of the new file."""
        os.rename(self.name, name, src_dir_fd=self.directory_fd, dst_dir_fd=self.directory_fd)
        return self._settled()

    def create(self, name: str) -> os.stat_result:
        """Take `name` if nothing has it, else raise FileExistsError."""
        _rename_to_free(self.directory_fd, self.name, name)
        return self._settled()

    def discard(self) -> None:
        """Close the file and remove it if it is still under its temporary name."""
        os.close(self.fd)
        with suppress(OSError):  # gone by rename, or by somebody else: either way not ours
            os.unlink(self.name, dir_fd=self.directory_fd)

    def _settled(self) -> os.stat_result:
        try:
            os.fsync(self.directory_fd)
        except OSError as exc:
            if exc.errno not in _NO_SUCH_CALL:  # some file systems flush no directories
                raise
        return os.fstat(self.fd)


def stage(
    directory_fd: int, data: bytes, *, like: Original | None, checkpoint: Checkpoint
) -> Staged:
    """Write and flush `data` beside its destination, private until it has the mode of `like`."""
    staged = _open_staged(directory_fd, 0o600 if like else _NEW_FILE_MODE)
    try:
        view = memoryview(data)
        while view:
            checkpoint()
            view = view[os.write(staged.fd, view[:_CHUNK_BYTES]) :]
        if like is not None:
            _wear(staged.fd, like)
        os.fsync(staged.fd)
    except BaseException:
        staged.discard()
        raise
    return staged


def _open_staged(directory_fd: int, mode: int) -> Staged:
    while True:
        name = f".dsh-{secrets.token_hex(6)}.tmp"
        with suppress(FileExistsError):
            return Staged(
                directory_fd, name, os.open(name, _STAGE_FLAGS, mode, dir_fd=directory_fd)
            )


def _wear(fd: int, like: Original) -> None:
    """Give the new file the owner, attributes and mode of the old one, as far as permitted."""
    mine, old = os.fstat(fd), like.info
    if (mine.st_uid, mine.st_gid) != (old.st_uid, old.st_gid):
        with suppress(PermissionError):
            os.fchown(fd, old.st_uid, old.st_gid)
    if like.fd is not None and hasattr(os, "listxattr"):
        with suppress(OSError):  # a file system without them
            for name in {*os.listxattr(like.fd)} - _PRIVILEGES:
                with suppress(OSError):  # one that only the system may set
                    os.setxattr(fd, name, os.getxattr(like.fd, name))
    # Changed content loses its privileges: capabilities, set-user-id and set-group-id.
    with suppress(PermissionError):  # a file system whose modes are fixed
        os.fchmod(fd, old.st_mode & 0o1777)


def _rename_to_free(directory_fd: int, source: str, name: str) -> None:
    import ctypes

    with suppress(AttributeError):  # a C library without the call
        rename = ctypes.CDLL(None, use_errno=True).renameat2
        old, new = os.fsencode(source), os.fsencode(name)
        if rename(directory_fd, old, directory_fd, new, _RENAME_NOREPLACE) == 0:
            return
        number = ctypes.get_errno()
        if number not in _NO_SUCH_CALL:
            raise OSError(number, os.strerror(number), name)
    os.link(source, name, src_dir_fd=directory_fd, dst_dir_fd=directory_fd)
    os.unlink(source, dir_fd=directory_fd)
