"""Define the errors of durations.

HarnessError
└── InvalidTimeoutError            INVALID_TIMEOUT      a duration no timer can run (ValueError)
"""

from harness.errors import HarnessError


class InvalidTimeoutError(HarnessError, ValueError):
    """Report a duration that is no finite positive number within the limits; names it."""

    code: str = "INVALID_TIMEOUT"
