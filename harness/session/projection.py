"""Project events to the messages a model sees: a pure function of one event."""

from collections.abc import Callable
from typing import Any

import attrs

from harness.llm import Message
from harness.session import event_types as types
from harness.session.envelope import wrap_content
from harness.session.errors import MessageShapeError
from harness.session.event import SessionEvent
from harness.session.surface import SessionSurface


def derive_event_message(event: SessionEvent) -> Message | None:
    """Return the message that a surface event stands for, `None` for every other event.

    An assistant message without content only hosts the usage of its step and derives to nothing.
    """
    derive = _DERIVERS.get(event.type)
    return None if derive is None else derive(event.data)


def read_message(event: SessionEvent, given: Message | None = None) -> Message | None:
    """Derive the message of an event that is not in a log yet.

    Args:
        event: any event.
        given: the message that the event's data holds, when its writer has it.

    Raises:
        MessageShapeError: the message holds a malformed block, or one nested too deeply.
    """
    if given is not None and given.content and event.type in _VERBATIM:
        return given
    try:
        return derive_event_message(event)
    except ValueError as error:
        raise MessageShapeError(f"{event.type!r} holds a {error}") from error


def _verbatim(data: Any) -> Message:
    return Message.from_json(data)


def _enveloped(data: Any) -> Message:
    message = Message.from_json(data)
    if data.get("envelope", "context") == "raw":
        return message
    return attrs.evolve(message, content=wrap_content(message.content, message.source))


def _assistant(data: Any) -> Message | None:
    return Message.from_json(data["message"]) if data["message"]["content"] else None


def _tool_result(data: Any) -> Message:
    return Message.from_json(data["message"])


_VERBATIM = frozenset({types.USER_MESSAGE, types.ASSISTANT_MESSAGE, types.TOOL_RESULT})
_DERIVERS: dict[str, Callable[[Any], Message | None]] = {
    types.USER_MESSAGE: _verbatim,
    types.CONTEXT_MESSAGE: _enveloped,
    types.STEERING_MESSAGE: _enveloped,
    types.ASSISTANT_MESSAGE: _assistant,
    types.TOOL_RESULT: _tool_result,
}


class DerivedHistory:
    """The message list of a surface, folded forward.

    Invariants: `_messages` are those of the first `_n_nodes` nodes of the surface at its
    generation `_generation`; `_cache` has an entry for each surface event of the log.
    """

    __slots__ = ("_cache", "_events", "_generation", "_messages", "_n_nodes", "_surface")

    def __init__(self, events: list[SessionEvent], surface: SessionSurface) -> None:
        """Follow `surface` over `events`, whose position is their seq."""
        self._events = events
        self._surface = surface
        self._cache: dict[int, Message | None] = {}
        self._messages: list[Message] = []
        self._n_nodes = 0
        self._generation = 0

    def message(self, event: SessionEvent) -> Message | None:
        """Return the event's message; the same object each time for an event of the log."""
        seq = event.seq
        if seq in self._cache and self._events[seq] is event:
            return self._cache[seq]
        return derive_event_message(event)

    def remember(self, seq: int, message: Message | None) -> None:
        """Take over what a surface event of the log derives to."""
        self._cache[seq] = message

    def messages(self) -> list[Message]:
        """Return a fresh list of shared messages; costs O(new nodes) and the copy."""
        if self._generation != self._surface.replace_generation:
            self._generation = self._surface.replace_generation
            self._messages = []
            self._n_nodes = 0
        for seq in self._surface.after(self._n_nodes):
            message = self._cache[seq]
            if message is not None:
                self._messages.append(message)
        self._n_nodes = len(self._surface)
        return self._messages.copy()
