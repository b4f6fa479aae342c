"""Define the errors of bounded output.

HarnessError
└── InvalidBudgetError             INVALID_BUDGET       a limit that is no count (ValueError)
"""

from harness.errors import HarnessError


class InvalidBudgetError(HarnessError, ValueError):
    """Report a budget that is no non-negative integer; names the parameter."""

    code: str = "INVALID_BUDGET"


def check_budget(value: object, name: str) -> int:
    """Return a budget that is a non-negative integer, or refuse it.

    Raises:
        InvalidBudgetError: a boolean, a float, a negative number or no number at all.
    """
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise InvalidBudgetError(f"{name} must be a non-negative integer, got {value!r}")
    return value
