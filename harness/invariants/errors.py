"""Define how a broken invariant is reported.

HarnessError
└── InvariantError   INVARIANT   something that must never happen was about to
"""

from harness.errors import HarnessError


class InvariantError(HarnessError):
    """Report a broken invariant; `package` names whose it is, `rule` which one."""

    code: str = "INVARIANT"

    def __init__(self, message: str, *, package: str, rule: str = "") -> None:
        """Keep who is responsible beside what went wrong."""
        super().__init__(f"[{package}{' ' + rule if rule else ''}] {message}")
        self.package = package
        self.rule = rule
