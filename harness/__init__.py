"""The agent harness: one package per service contract.

The few names that everybody needs are offered here and loaded at first use.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from harness.errors import HarnessError
    from vendor_shims.cordis import AbortController, AbortError, AbortSignal

__all__ = ["AbortController", "AbortError", "AbortSignal", "HarnessError"]


def __getattr__(name: str) -> object:
    """Load an offered name from where it lives."""
    if name == "HarnessError":
        from harness.errors import HarnessError

        return HarnessError
    if name in __all__:
        from vendor_shims import cordis

        return getattr(cordis, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
