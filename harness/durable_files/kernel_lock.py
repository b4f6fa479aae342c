"""Take and release the operating system's own lock on an open file."""

import os

if os.name == "nt":  # pragma: no cover - Windows only
    import msvcrt

    # The locked byte lies beyond any owner record, so that others can still read that.
    _LOCKED_BYTE = 1 << 30

    def try_lock(fd: int) -> bool:
        """Take the exclusive lock without waiting; return whether that worked."""
        os.lseek(fd, _LOCKED_BYTE, os.SEEK_SET)
        try:
            msvcrt.locking(fd, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

else:
    import fcntl

    def try_lock(fd: int) -> bool:
        """Take the exclusive lock without waiting; return whether that worked.

        The kernel releases it when the descriptor is closed, also by the process's death.
        """
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True
