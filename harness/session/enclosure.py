"""Enforce turn enclosure: every event lies in a turn, turns and steps are numbered without gaps."""

from typing import Any, cast

from harness.session import event_types as types
from harness.session.errors import TurnEnclosureError

_IN_STEP = frozenset(
    {
        types.ASSISTANT_CHUNK,
        types.ASSISTANT_MESSAGE,
        types.ASSISTANT_ATTEMPT,
        types.TOOL_CALL,
        types.REQUEST_OVERRIDE,
    }
)


class TurnTracker:
    """Follow the brackets of a log.

    `check` decides about the next event and changes nothing; `commit` takes it over.

    Invariants: `open_step` is set only while `open_turn` is; `last_step` is the number of the
    newest step of the open turn, 0 before its first.
    """

    __slots__ = ("last_step", "last_turn", "open_step", "open_turn", "strict")

    def __init__(self, *, strict: bool = True) -> None:
        """Begin before the first event; `strict` demands enclosure of log-only events too."""
        self.strict = strict
        self.open_turn: int | None = None
        self.open_step: int | None = None
        self.last_turn = 0
        self.last_step = 0

    def check(self, kind: str, data: Any, *, is_rewrite: bool = False) -> None:
        """Raise `TurnEnclosureError` unless the event may come next.

        Args:
            kind: the event type.
            data: the event's data.
            is_rewrite: a `tool/result` that replaces an earlier one keeps the numbers of that.
        """
        if kind in _IN_STEP or (kind == types.TOOL_RESULT and not is_rewrite):
            self.check_in_step(kind, data)
        elif kind in _BRACKETS:
            _BRACKETS[kind](self, data)
        elif self.open_turn is None and self._must_be_enclosed(kind):
            raise TurnEnclosureError(
                f"{kind!r} outside a turn; append it inside a turn, or through session.enclosed"
                " or agent.annotate"
            )

    def commit(self, kind: str, data: Any) -> None:
        """Take a checked event over."""
        if kind == types.TURN_START:
            self.open_turn = self.last_turn = data["turn"]
            self.last_step = 0
        elif kind == types.TURN_END:
            self.open_turn = None
        elif kind == types.STEP_START:
            self.open_step = self.last_step = data["step"]
        elif kind == types.STEP_END:
            self.open_step = None

    def _must_be_enclosed(self, kind: str) -> bool:
        """Others write context and facts between turns, but results are rewritten inside one."""
        return kind == types.TOOL_RESULT or (self.strict and kind != types.END_SEED)

    def check_in_step(self, kind: str, data: Any) -> None:
        """Raise `TurnEnclosureError` unless the event names the open turn and step."""
        if self.open_step is None:
            raise TurnEnclosureError(f"{kind!r} outside a step")
        turn, step = data.get("turn"), data.get("step")
        if type(turn) is int is type(step) and turn == self.open_turn and step == self.open_step:
            return
        raise TurnEnclosureError(
            f"{kind!r} names turn {turn!r} step {step!r}, but turn {self.open_turn} step"
            f" {self.open_step} is open"
        )

    def _check_turn_start(self, data: Any) -> None:
        if self.open_turn is not None:
            raise TurnEnclosureError(f"turn/start inside the open turn {self.open_turn}")
        if not _is_number(data.get("turn"), self.last_turn + 1):
            raise TurnEnclosureError(
                f"turn/start names turn {data.get('turn')!r}, expected {self.last_turn + 1}"
            )
        trigger = data.get("trigger", types.MESSAGE_TRIGGER)
        if not _has_kind(trigger):
            raise TurnEnclosureError(f"turn/start has no trigger with a kind: {trigger!r}")

    def _check_turn_end(self, data: Any) -> None:
        if self.open_turn is None or not _is_number(data.get("turn"), self.open_turn):
            raise TurnEnclosureError(
                f"turn/end names turn {data.get('turn')!r}, but the open turn is {self.open_turn}"
            )
        if self.open_step is not None:
            raise TurnEnclosureError(f"turn/end while step {self.open_step} is open")
        reason = data.get("reason")
        if not _has_kind(reason):
            raise TurnEnclosureError(f"turn/end has no reason with a kind: {reason!r}")

    def _check_step_start(self, data: Any) -> None:
        if self.open_turn is None or not _is_number(data.get("turn"), self.open_turn):
            raise TurnEnclosureError(
                f"step/start names turn {data.get('turn')!r}, but the open turn is {self.open_turn}"
            )
        if self.open_step is not None:
            raise TurnEnclosureError(f"step/start while step {self.open_step} is open")
        if not _is_number(data.get("step"), self.last_step + 1):
            raise TurnEnclosureError(
                f"step/start names step {data.get('step')!r}, expected {self.last_step + 1}"
            )

    def _check_step_end(self, data: Any) -> None:
        if (
            self.open_step is None
            or not _is_number(data.get("turn"), self.open_turn)
            or not _is_number(data.get("step"), self.open_step)
        ):
            raise TurnEnclosureError(
                f"step/end names turn {data.get('turn')!r} step {data.get('step')!r}, but turn"
                f" {self.open_turn} step {self.open_step} is open"
            )


_BRACKETS = {
    types.TURN_START: TurnTracker._check_turn_start,  # pyright: ignore[reportPrivateUsage] - own
    types.TURN_END: TurnTracker._check_turn_end,  # pyright: ignore[reportPrivateUsage] - own
    types.STEP_START: TurnTracker._check_step_start,  # pyright: ignore[reportPrivateUsage] - own
    types.STEP_END: TurnTracker._check_step_end,  # pyright: ignore[reportPrivateUsage] - own
}


def _is_number(value: object, expected: int | None) -> bool:
    return type(value) is int and value == expected


def _has_kind(value: object) -> bool:
    if not isinstance(value, dict):
        return False
    kind = cast("dict[str, Any]", value).get("kind")
    return isinstance(kind, str) and kind != ""
