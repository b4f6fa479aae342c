"""Opening of files that people name, without waiting for somebody who writes into them."""

import errno
import os
import stat

__all__ = ["unblocked"]


def unblocked(path: str, flags: int) -> int:
    """Open a file as the `opener` of `open` does, but no named pipe, which could wait for ever.

    Raises:
        OSError: the file cannot be opened, or is a named pipe.
    """
    descriptor = os.open(path, flags | getattr(os, "O_NONBLOCK", 0), 0o666)
    if stat.S_ISFIFO(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "is a named pipe, no file", path)
    return descriptor
