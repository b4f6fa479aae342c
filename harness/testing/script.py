"""Decide which answer comes next."""

from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from inspect import isawaitable
from typing import Any, TypeAlias

import attrs

from harness.testing.behaviours import (
    BehaviourOptions,
    BehaviourPicker,
    behaviour_names,
    behaviour_reply,
    check_options,
)
from harness.testing.chat_replies import error_reply
from harness.testing.recorded import RecordedRequest
from harness.testing.reply import Reply

ScriptEntry: TypeAlias = Reply | str | Mapping[str, Any]
"""A ready answer, a behaviour's name, or `{"behavior": name, option: value}`."""

Respond: TypeAlias = Callable[[RecordedRequest], Reply | Awaitable[Reply]]
"""Answers a request by its content, for loops too long to script."""


class Script:
    """Hand out scripted answers in order.

    Invariants:
        - Each accepted request takes exactly one entry; refused ones take none.
    """

    def __init__(
        self,
        entries: tuple[ScriptEntry, ...],
        *,
        respond: Respond | None,
        repeat_last: bool,
        options: BehaviourOptions,
        picker: BehaviourPicker,
    ) -> None:
        self._respond = respond
        self._repeat_last = repeat_last
        self._options = check_options(options)
        self._picker = picker
        self._last: ScriptEntry | None = None
        self._entries: deque[ScriptEntry] = deque()
        self.extend(entries)

    @property
    def left(self) -> int:
        """Return how many entries nobody has taken."""
        return len(self._entries)

    def extend(self, entries: tuple[ScriptEntry, ...]) -> None:
        """Add answers at the end.

        Raises:
            ValueError: an unknown behaviour or option; nothing is added then.
        """
        for entry in entries:
            if not isinstance(entry, Reply):
                name, _ = self._named(entry)
                if name not in behaviour_names():
                    known = ", ".join(behaviour_names())
                    raise ValueError(f"unknown behaviour {name!r}; expected one of {known}")
        self._entries.extend(entries)

    async def take(self, request: RecordedRequest) -> tuple[str, Reply]:
        """Return what the script says, by name, and the answer to send."""
        if self._entries:
            self._last = self._entries.popleft()
        elif self._respond is not None:
            reply = await _answer(self._respond, request)
            return reply.name, reply
        elif not self._repeat_last or self._last is None:
            exhausted = error_reply(500, "the script is exhausted", code="MOCK_SCRIPT_EXHAUSTED")
            return exhausted.name, exhausted
        entry = self._last
        if isinstance(entry, Reply):
            return entry.name, entry
        name, options = self._named(entry)
        picked = self._picker.pick() if name == "random" else name
        return name, behaviour_reply(picked, options)

    def _named(self, entry: str | Mapping[str, Any]) -> tuple[str, BehaviourOptions]:
        if isinstance(entry, str):
            return entry, self._options
        overrides = dict(entry)
        name = overrides.pop("behavior", None)
        try:
            options = attrs.evolve(self._options, **overrides)
        except TypeError as error:
            raise ValueError(f"unknown option in the script entry {entry!r}") from error
        return str(name), check_options(options)


async def _answer(respond: Respond, request: RecordedRequest) -> Reply:
    """Ask the function; its failure becomes an answer, so that the client's test shows it."""
    try:
        reply = respond(request)
        return await reply if isawaitable(reply) else reply
    except Exception as error:  # noqa: BLE001 - whatever it raises is the test's to see
        return error_reply(500, f"respond has failed: {error!r}", code="MOCK_RESPOND_FAILED")
