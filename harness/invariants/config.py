"""Declare which checks run."""

import re

from vendor_shims.cordis import Issue, ValidationError
from vendor_shims.schema import config, field


@config
class InvariantsConfig:
    """Choose the packages whose invariants are checked."""

    enabled: bool = field(default=True, doc="Check at all.")
    package_allowlist: list[str] | None = field(
        default=None, doc="Regular expressions; only packages that match one are checked."
    )
    package_blocklist: list[str] = field(
        factory=list[str], doc="Regular expressions; packages that match one are not checked."
    )

    def selects(self, package: str) -> bool:
        """Return whether the checks of a package run."""
        if not self.enabled or any(re.search(one, package) for one in self.package_blocklist):
            return False
        allowed = self.package_allowlist
        return allowed is None or any(re.search(one, package) for one in allowed)

    def check_patterns(self) -> None:
        """Raise `ValidationError` for blank, padded, repeated or invalid patterns."""
        issues: list[Issue] = []
        for name in ("package_allowlist", "package_blocklist"):
            seen: set[str] = set()
            for index, pattern in enumerate(getattr(self, name) or ()):
                problem = _problem(pattern, seen)
                seen.add(pattern)
                if problem:
                    issues.append(Issue(f"expected a pattern but got {pattern!r}: {problem}",
                                        (name, index)))  # fmt: skip
        if issues:
            raise ValidationError(issues)


def _problem(pattern: str, seen: set[str]) -> str:
    if not pattern.strip() or pattern != pattern.strip():
        return "it is blank or padded"
    if pattern in seen:
        return "it is listed twice"
    try:
        re.compile(pattern)
    except re.error as error:
        return str(error)
    return ""
