"""Put a raised object into words that a model can act on."""

from typing import cast

from harness.wire import sanitize_text
from vendor_shims.cordis import CordisError

MAX_MESSAGE_CHARS = 8_000
"""Longest error message that reaches the model; what is cut is counted."""


def describe_error(error: BaseException) -> str:
    """Return the message of an error: its text, or its class name when it has none.

    Groups are described by their members. A raising `__str__` is answered with a placeholder, text
    that cannot be encoded is repaired, and a very long text is cut with a note.
    """
    if isinstance(error, BaseExceptionGroup):
        group = cast("BaseExceptionGroup[BaseException]", error)
        members = [describe_error(member) for member in group.exceptions]
        return _bound("; ".join(members))
    try:
        text = str(error)
    except Exception:  # noqa: BLE001  # whatever a foreign __str__ raises, the call still needs its one result
        return f"{type(error).__name__} (its message could not be read)"
    return _bound(sanitize_text(text) if text.strip() else type(error).__name__)


def error_code(error: BaseException) -> str | None:
    """Return the stable code of a deliberate error, or `None`."""
    return error.code if isinstance(error, CordisError) else None


def _bound(text: str) -> str:
    cut = len(text) - MAX_MESSAGE_CHARS
    return text if cut <= 0 else f"{text[:MAX_MESSAGE_CHARS]}… ({cut} more characters)"
