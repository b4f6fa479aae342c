"""Check what is handed to an agent, before anything changes."""

from collections.abc import Mapping
from typing import Any

from harness.agent import Content
from harness.llm import USER_SOURCE, Message, create_user_message
from harness.session import (
    ASSISTANT_ATTEMPT,
    ASSISTANT_CHUNK,
    END_SEED,
    INBOX_SPLICED,
    REQUEST_CONTEXT,
    REQUEST_HEADER,
    REQUEST_OVERRIDE,
    STEP_END,
    STEP_START,
    SURFACE_TYPES,
    TOOL_CALL,
    TURN_END,
    TURN_START,
)

_OWN_TYPES = frozenset(
    {
        TURN_START,
        TURN_END,
        STEP_START,
        STEP_END,
        ASSISTANT_CHUNK,
        ASSISTANT_ATTEMPT,
        TOOL_CALL,
        REQUEST_HEADER,
        REQUEST_CONTEXT,
        REQUEST_OVERRIDE,
        INBOX_SPLICED,
        END_SEED,
    }
)


def make_message(content: Content | Message, source: Mapping[str, Any] | None) -> Message:
    """Return the message that a delivery was given, or one around its content."""
    if isinstance(content, Message):
        return content
    return create_user_message(content, source=source or USER_SOURCE)


def check_message(message: Message) -> None:
    """Raise `ValueError` for a message that no agent takes."""
    if message.role != "user":
        raise ValueError(f"message {message.id!r} has the role {message.role!r}, expected 'user'")
    if not message.content:
        raise ValueError(f"message {message.id!r} has no content")


def check_fact(event_type: str) -> None:
    """Raise `ValueError` for an event type that is not a plugin's to write."""
    if event_type in SURFACE_TYPES:
        raise ValueError(f"{event_type!r} is a surface type; use inject")
    if event_type in _OWN_TYPES:
        raise ValueError(f"{event_type!r} is written by the session and its loop only")
