"""Define what can go wrong with scope keys and layered registrations.

HarnessError
└── ScopeError                  SCOPE_ERROR          anything this package refuses (ValueError)
    ├── ScopeBoundError         SCOPE_BOUND          a key already has its parent link
    └── ScopeCycleError         SCOPE_CYCLE          a link would make a key its own ancestor
"""

from harness.errors import HarnessError


class ScopeError(HarnessError, ValueError):
    """Report a misuse of scope keys; catch it to treat every kind alike."""

    code: str = "SCOPE_ERROR"


class ScopeBoundError(ScopeError):
    """Report a second parent link for one key; re-link through the binding instead."""

    code: str = "SCOPE_BOUND"


class ScopeCycleError(ScopeError):
    """Report a parent link that would make a key its own ancestor."""

    code: str = "SCOPE_CYCLE"
