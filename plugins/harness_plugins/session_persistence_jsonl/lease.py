"""Own one session: a kernel lock on a file beside the log, held for the life of the writer.

The kernel decides and releases when the process dies; what the file says is for messages only.
Nothing expires by time, because a writer that was only slow would tear the log when it wakes.
"""

import os
import time

from harness.durable_files import FileLock, read_owner, try_file_lock
from harness.session_persistence import (
    LeaseHolder,
    SessionAlreadyOwnedError,
    SessionOwnershipLostError,
)

_GUARDED_NAME = "session"  # the lock file is `session.lock`
_ATTEMPTS = 5
_PAUSE_S = 0.01  # outlasts the instant for which a reader probes the lock


class FileLease:
    """Hold the kernel lock of one session.

    Invariants: the lock lives exactly as long as its descriptor; only the process that took it
    may use it, not a fork of it.
    """

    def __init__(self, folder: str, session_id: str) -> None:
        """Take the lock of a session directory, which exists.

        Raises:
            SessionAlreadyOwnedError: another writer has it; names that process when it can.
        """
        self._session_id = session_id
        self._pid = os.getpid()
        self._lock = _take(os.path.join(folder, _GUARDED_NAME), session_id)

    def check_owner(self) -> None:
        """Raise `SessionOwnershipLostError` when released, or used from a fork."""
        if not self._lock.held:
            raise SessionOwnershipLostError(self._session_id, "it was released")
        if os.getpid() != self._pid:
            raise SessionOwnershipLostError(self._session_id, "a forked process must not write")

    def release(self) -> None:
        """Give the lock back; the second call does nothing. The file stays."""
        self._lock.release()


def is_locked(folder: str) -> bool:
    """Return whether somebody holds the lock of a session directory now, without keeping it."""
    import fcntl  # POSIX only: importing this module must work everywhere

    try:
        fd = os.open(os.path.join(folder, _GUARDED_NAME + ".lock"), os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(fd)
    return False


def _take(path: str, session_id: str) -> FileLock:
    for attempt in range(_ATTEMPTS):
        if attempt:
            time.sleep(_PAUSE_S)
        lock = try_file_lock(path)
        if lock is not None:
            return lock
    owner = read_owner(path)
    holder = LeaseHolder() if owner is None else LeaseHolder(pid=owner.pid, host=owner.host)
    raise SessionAlreadyOwnedError(session_id, holder)
