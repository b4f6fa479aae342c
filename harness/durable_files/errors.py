"""Define the errors of locked files; writing raises plain `OSError`.

HarnessError
└── LockTimeoutError               FILE_LOCK_TIMEOUT    another holder kept the lock (TimeoutError)
"""

from harness.errors import HarnessError


class LockTimeoutError(HarnessError, TimeoutError):
    """Report that somebody else held a lock for the whole wait; names the lock file and them."""

    code: str = "FILE_LOCK_TIMEOUT"
