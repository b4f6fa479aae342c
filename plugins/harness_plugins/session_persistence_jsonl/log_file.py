"""Write one log file so that each batch is there entirely or not at all."""

import errno
import os
import secrets
from typing import Literal

from harness.session_persistence import SessionAlreadyExistsError, SessionOwnershipLostError
from harness_plugins.session_persistence_jsonl.files import LogFiles, write_all
from harness_plugins.session_persistence_jsonl.layout import TEMP_SUFFIX
from harness_plugins.session_persistence_jsonl.lease import FileLease

FsyncPolicy = Literal["batch", "checkpoint", "never"]
"""When bytes are forced to the device: with every batch, at flush and close, or not at all."""

_NO_LINKS = {errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EMLINK, errno.ENOSYS}


class LogFile:
    """Append to one log under its lease.

    Invariants: `_size` is the length of the file after the last acknowledged batch; while `usable`
    is true the file holds exactly those bytes; `_fd` is open from creation or adoption on.
    """

    def __init__(
        self, files: LogFiles, path: str, session_id: str, lease: FileLease, fsync: FsyncPolicy
    ) -> None:
        self._files = files
        self._path = path
        self._session_id = session_id
        self._lease = lease
        self._fsync = fsync
        self._fd: int | None = None
        self._size = 0
        self._unsynced = False
        self.usable = True

    def materialize(self, data: bytes) -> None:
        """Create the log with its first bytes, durably and without overwriting anything.

        Raises:
            SessionAlreadyExistsError: a log is there; its bytes are untouched.
        """
        self._check()
        folder = os.path.dirname(self._path)
        self._remove_leftovers(folder)
        temp = os.path.join(folder, f".{secrets.token_hex(6)}{TEMP_SUFFIX}")
        fd = self._files.append(temp, 0o600)
        published = False
        try:
            write_all(self._files, fd, data)
            self._sync_now(fd)
            self._publish(temp)
            published = True
            self._sync_name()
        except (OSError, SessionAlreadyExistsError) as error:
            if isinstance(error, OSError):
                self._name(error)
            self._files.close(fd)
            self._try_unlink(temp)
            # A name that cannot be taken back may or may not survive: reopening finds out.
            self.usable = not published or self._try_unlink(self._path)
            raise
        self._fd, self._size = fd, len(data)
        self._try_unlink(temp)

    def append(self, data: bytes) -> None:
        """Append one batch; on any failure the file is as before.

        Raises:
            SessionOwnershipLostError: the file is not the one that this lease wrote.
            OSError: the system refused, as for a full disk; nothing was kept.
            ExceptionGroup: and the file could not be cut back; reopening repairs it.
        """
        fd = self._checked_fd()
        try:
            write_all(self._files, fd, data)
            self._unsynced = True
            if self._fsync == "batch":
                self._sync_now(fd)
        except OSError as error:
            self._name(error)
            self._roll_back(fd, error)
            raise
        self._size += len(data)

    def repair(self, committed_bytes: int | None, data: bytes) -> None:
        """Cut the file to its committed bytes, unless None, and append the closers."""
        fd = self._checked_fd()
        try:
            if committed_bytes is not None:
                self._files.truncate(fd, committed_bytes)
                self._sync_now(fd)
                self._size = committed_bytes
        except OSError as error:
            self._name(error)
            self.usable = False
            raise
        if data:
            self.append(data)
            self.sync()

    def sync(self) -> None:
        """Force what was appended to the device, unless the policy says never."""
        if self._unsynced and self._fd is not None and self._fsync != "never":
            self._check()
            self._sync_now(self._fd)

    def adopt(self) -> None:
        """Take the existing log as it is, for appending, and make it durable.

        A process that died may have left bytes that a power failure would still take away.

        Raises:
            OSError: it cannot be written, as on a read-only file system.
        """
        self._fd = self._files.reopen(self._path)
        self._size = self._files.fstat(self._fd).st_size
        self._sync_now(self._fd)
        self._sync_name()

    def state(self) -> os.stat_result:
        """Describe the file after the last write."""
        return self._files.lstat(self._path)

    def close(self) -> None:
        """Close the file; the second call does nothing. The lease is somebody else's."""
        fd, self._fd = self._fd, None
        if fd is not None:
            self._files.close(fd)

    def _checked_fd(self) -> int:
        """Return the descriptor after making sure that the path still names our bytes."""
        self._check()
        try:
            named = self._files.lstat(self._path)
        except FileNotFoundError as error:
            raise SessionOwnershipLostError(self._session_id, "its file is gone") from error
        assert self._fd is not None, "a log that exists is open while its lease is held"
        held = self._files.fstat(self._fd)
        if not os.path.samestat(held, named):
            raise SessionOwnershipLostError(self._session_id, "its file was replaced")
        if held.st_size != self._size:
            raise SessionOwnershipLostError(self._session_id, "somebody else wrote to its file")
        return self._fd

    def _check(self) -> None:
        self._lease.check_owner()
        if not self.usable:
            raise SessionOwnershipLostError(
                self._session_id, "a failed write left its file in an unknown state"
            )

    def _roll_back(self, fd: int, error: OSError) -> None:
        try:
            self._files.truncate(fd, self._size)
            self._sync_now(fd)
        except OSError as second:
            self.usable = False
            raise ExceptionGroup(
                f"writing {self._path} failed, and so did cutting it back", [error, second]
            ) from error

    def _sync_now(self, fd: int) -> None:
        if self._fsync != "never":
            try:
                self._files.fsync(fd)
            except OSError as error:
                self._name(error)
                raise
        self._unsynced = False

    def _name(self, error: OSError) -> None:
        """Say which file an error is about, where the call knew only a descriptor."""
        error.filename = error.filename or self._path

    def _sync_name(self) -> None:
        if self._fsync != "never":
            self._files.sync_directory(os.path.dirname(self._path))

    def _publish(self, temp: str) -> None:
        """Give the finished file its name; where links are missing, the lease is the only guard."""
        try:
            self._files.link(temp, self._path)
        except FileExistsError as error:
            raise SessionAlreadyExistsError(self._session_id) from error
        except OSError as error:
            if error.errno not in _NO_LINKS:
                raise
            try:
                self._files.lstat(self._path)
            except FileNotFoundError:
                self._files.replace(temp, self._path)
                return
            raise SessionAlreadyExistsError(self._session_id) from error

    def _remove_leftovers(self, folder: str) -> None:
        """Remove what crashed writers left; nobody else writes here while we hold the lease."""
        for name in self._files.list_dir(folder):
            if name.startswith(".") and name.endswith(TEMP_SUFFIX):
                self._try_unlink(os.path.join(folder, name))

    def _try_unlink(self, path: str) -> bool:
        try:
            self._files.unlink(path)
        except OSError:
            return False  # readers ignore a leftover temp file, and the next writer removes it
        return True
