"""Decide what a patch that matches no row means, by the kind of the layer that has it."""

from harness.profiles.errors import PatchUnmatchedError
from vendor_shims.include import Composed, Skipped

_SHARED = ("profile", "home", "settings")
"""Layers that may speak of rows of other bundles or of other profiles."""


def check_unmatched(composed: Composed, *, strict: bool = False) -> tuple[str, ...]:
    """Return a warning for each patch of a user's files that was skipped, and for unknown keys.

    Args:
        composed: of a profile's layers.
        strict: refuse those as well.

    Raises:
        PatchUnmatchedError: a patch of a bundle, of `--patch` or of another flag was skipped.
    """
    fatal = [
        one for one in composed.skipped if strict or not (one.kind in _SHARED or one.is_applied)
    ]
    if fatal:
        raise PatchUnmatchedError("\n".join(map(describe_skipped, fatal)))
    return tuple(map(describe_skipped, composed.skipped))


def describe_skipped(skipped: Skipped) -> str:
    """Return one line: where the patch stands, why it was skipped, and what it may have meant."""
    where = skipped.layer if skipped.place is None else str(skipped.place)
    line = f"{where}: {skipped.message}"
    if skipped.nearest:
        line += f"; did you mean {' or '.join(map(repr, skipped.nearest))}?"
    return line
