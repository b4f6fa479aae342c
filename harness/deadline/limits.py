"""Check durations where they enter: configuration and tool arguments."""

from math import isfinite
from typing import Final

from harness.deadline.errors import InvalidTimeoutError

MAX_TIMEOUT_MS: Final = 2_147_483_647
"""The largest delay that may be configured, in milliseconds: about 24.8 days."""


def check_timeout_ms(value: object, name: str) -> float:
    """Return a configured number of milliseconds in seconds.

    Raises:
        InvalidTimeoutError: not a finite positive number, or beyond `MAX_TIMEOUT_MS`.
    """
    number = _positive(value, name)
    if number > MAX_TIMEOUT_MS:
        raise InvalidTimeoutError(
            f"{name} must be at most {MAX_TIMEOUT_MS} milliseconds, got {value!r}"
        )
    return number / 1000


def clamp_timeout(requested: object, default: float, maximum: float, name: str) -> float:
    """Return the requested duration, or the default when None, but never more than the maximum.

    All durations have the same unit, which is the caller's choice; `name` is the parameter that
    the message blames.

    Raises:
        InvalidTimeoutError: the request is not a finite positive number.
    """
    return min(default if requested is None else _positive(requested, name), maximum)


def _positive(value: object, name: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InvalidTimeoutError(f"{name} must be a positive number, got {value!r}")
    if not isfinite(value) or value <= 0:
        raise InvalidTimeoutError(f"{name} must be finite and greater than 0, got {value!r}")
    return value
