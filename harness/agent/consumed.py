"""Fold a log to what its turns did with the input, instead of guessing."""

from collections.abc import Iterable
from typing import Any, NamedTuple

from harness.session import (
    INBOX_SPLICED,
    STEP_START,
    TURN_END,
    TURN_START,
    SessionEvent,
    is_conversational_turn,
)


class Turn(NamedTuple):
    """One turn of a log; `end` is `None` while it is open."""

    number: int
    start: SessionEvent
    end: SessionEvent | None
    n_steps: int


class ConsumedWork(NamedTuple):
    """What became of the input.

    Attributes:
        end: the newest `turn/end` that accounts for input.
        dropped_unrun: whether a cancellation threw a prompt away that was queued behind that input
            and never taken up.
    """

    end: SessionEvent | None
    dropped_unrun: bool


def fold_turns(events: Iterable[SessionEvent], *, conversational: bool = True) -> list[Turn]:
    """Return the turns of a log, oldest first; by default only those that count as one."""
    turns: list[Turn] = []
    for event in events:
        if event.type == TURN_START:
            turns.append(Turn(event.data["turn"], event, None, 0))
        elif not turns:
            continue
        elif event.type == TURN_END:
            turns[-1] = turns[-1]._replace(end=event)
        elif event.type == STEP_START:
            turns[-1] = turns[-1]._replace(n_steps=turns[-1].n_steps + 1)
    if not conversational:
        return turns
    return [turn for turn in turns if is_conversational_turn(turn.start.data)]


def fold_consumed_work(events: Iterable[SessionEvent]) -> ConsumedWork:
    """Tell whether the last input really ran; see `ConsumedWork`."""
    log = list(events)
    end: SessionEvent | None = None
    after = -1
    for turn in fold_turns(log):
        if turn.end is not None and _accounts(turn, turn.end.data["reason"]):
            after, end = turn.start.seq, turn.end
    dropped = any(
        event.seq > after and event.type == INBOX_SPLICED and _dropped(event.data) for event in log
    )
    return ConsumedWork(end, dropped)


def _accounts(turn: Turn, reason: Any) -> bool:  # noqa: ANN401 - JSON of a turn/end
    # A turn of prompts begins because there are some, so only one that came to nothing had none.
    return turn.n_steps > 0 or reason["kind"] != "completed"


def _dropped(data: Any) -> bool:  # noqa: ANN401 - JSON of a splice
    return data.get("outcome") == "canceled" and data.get("removedCount", 0) > 0
