"""Collect the issues of one validation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, TypeAlias

from vendor_shims.cordis.errors import Issue
from vendor_shims.schema.preview import preview
from vendor_shims.schema.shapes import Raw
from vendor_shims.schema.values import MASK

Path: TypeAlias = tuple[str | int, ...]
"""Keys and indices from the root to a value."""

MAX_DEPTH = 100
"""Deepest nesting that is validated; deeper values are refused."""
MAX_ISSUES = 100
"""Most issues that one report lists."""
_MAX_ATTEMPTS = 100_000


class Expecting(Protocol):
    """What a report needs of the node that rejects a value."""

    @property
    def expected(self) -> str:
        """Return what messages say was expected."""
        ...

    def holds_secret(self) -> bool:
        """Return whether a value of the type may contain a secret."""
        ...


class Report:
    """The issues found so far, and what limits the search for more.

    Invariants: `n_found` counts every issue, `issues` keeps the first `MAX_ISSUES`; while `masked`
    is above zero no message shows a value.
    """

    __slots__ = ("attempts", "issues", "masked", "mismatch_depth", "n_found")

    def __init__(self, outer: Report | None = None, *, masked: bool = False) -> None:
        self.issues: list[Issue] = []
        self.n_found = 0
        self.masked = int(masked) + (outer.masked if outer is not None else 0)
        self.mismatch_depth = MAX_DEPTH + 1
        """Path length of the shallowest value of a wrong type."""
        self.attempts: list[int] = [_MAX_ATTEMPTS] if outer is None else outer.attempts
        """Branches that may still be tried, shared with every report inside."""

    def add(self, path: Path, message: str) -> None:
        """Note one issue."""
        self.n_found += 1
        if len(self.issues) < MAX_ISSUES:
            self.issues.append(Issue(message, path))

    def broken(self, what: str, value: Raw, path: Path, node: Expecting) -> None:
        """Note a value of the right type that breaks a rule; `what` says what was expected."""
        shown = MASK if self.masked or node.holds_secret() else preview(value)
        self.add(path, f"expected {what} but got {shown}")

    def mismatch(self, node: Expecting, value: Raw, path: Path) -> None:
        """Note a value of the wrong type."""
        self.mismatch_depth = min(self.mismatch_depth, len(path))
        self.broken(node.expected, value, path, node)

    def is_too_deep(self, path: Path) -> bool:
        """Note an issue and return True when `path` is deeper than anything sensible."""
        if len(path) <= MAX_DEPTH:
            return False
        self.add(path[:3], f"nested deeper than {MAX_DEPTH} levels")
        return True

    def take(self, inner: Report) -> None:
        """Take over the issues of a report inside this one."""
        for issue in inner.issues:
            self.add(issue.path, issue.message)

    def may_try(self, path: Path) -> bool:
        """Count one branch to try; False, with an issue, once a value has used up its share."""
        self.attempts[0] -= 1
        if self.attempts[0] >= 0:
            return True
        self.add(path[:3], "too ambiguous to validate: too many alternatives to try")
        return False

    def move_to_front(self, start: int, issues: Sequence[Issue]) -> None:
        """Put issues before those found since `start`, for a stable reading order."""
        self.n_found += len(issues)
        self.issues[start:start] = issues
        del self.issues[MAX_ISSUES:]

    def final(self) -> list[Issue]:
        """Return the issues, with a closing line when some were left out."""
        n_more = self.n_found - len(self.issues)
        return [*self.issues, Issue(f"has {n_more} more issues", ())] if n_more else self.issues
