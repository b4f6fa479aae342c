"""Tell JSON numbers apart: booleans never count as numbers."""

import math
from typing import TypeGuard

MAX_SAFE_INT = 2**53 - 1
"""The largest integer that every reader of a log keeps exactly."""


def is_int(value: object) -> TypeGuard[int]:
    """Tell whether `value` is an integer and not a boolean."""
    return isinstance(value, int) and not isinstance(value, bool)


def is_safe_int(value: object) -> TypeGuard[int]:
    """Tell whether `value` is an integer within ±(2^53 - 1)."""
    return is_int(value) and -MAX_SAFE_INT <= value <= MAX_SAFE_INT


def is_number(value: object) -> TypeGuard[float]:
    """Tell whether `value` is a finite number and not a boolean."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
