"""Project events to the messages a model sees: a pure function of one event."""

from collections.abc import Callable
from typing import Any

import attrs

from harness.llm import Message
from harness.session import event_types as types
from harness.session.envelope import wrap_content
from harness.session.event import SessionEvent
from harness.session.surface import SessionSurface


def derive_event_message(event: SessionEvent) -> Message | None:
    """Return the message that a surface event stands for, `None` for every other event.

    An assistant message without content only hosts the usage of its step and derives to nothing.
    """
    derive = _DERIVERS.get(event.type)
    return None if derive is None else derive(event.data)


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
    generation `_generation`; a message is made once per event.
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
        """Return the event's message; the same object each time."""
        if event.type not in types.SURFACE_TYPES:
            return None
        if event.seq not in self._cache:
            self._cache[event.seq] = derive_event_message(event)
        return self._cache[event.seq]

    def remember(self, seq: int, message: Message) -> None:
        """Take a message over from the writer of an event that holds it verbatim."""
        self._cache[seq] = message

    def messages(self) -> list[Message]:
        """Return a fresh list of shared messages; costs O(new nodes) and the copy."""
        if self._generation != self._surface.replace_generation:
            self._generation = self._surface.replace_generation
            self._messages = []
            self._n_nodes = 0
        for seq in self._surface.after(self._n_nodes):
            message = self.message(self._events[seq])
            if message is not None:
                self._messages.append(message)
        self._n_nodes = len(self._surface)
        return self._messages.copy()
