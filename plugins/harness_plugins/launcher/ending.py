"""Read from the log how a run ended: its answer, its reason, what it cost."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import attrs

from harness.agent import fold_consumed_work
from harness.llm import TextDelta
from harness.session import (
    ASSISTANT_ATTEMPT,
    ASSISTANT_MESSAGE,
    STEP_START,
    TURN_START,
    Session,
    SessionEvent,
    is_conversational_turn,
)
from harness_plugins.llm_retry import RETRY_EVENT

NOT_RUN: Final = "none"
_COUNTERS = ("inputTokens", "outputTokens", "cacheReadTokens", "cacheWriteTokens")


@attrs.frozen(kw_only=True)
class Ending:
    """Hold what became of the input of one run.

    `text` is the last text of the model; of a failed run, whatever of it was received. `reason` is
    that of `turn/end`, `{"kind": "none"}` when the input never ran. `usage` adds up all requests.
    `n_attempts` and `waited_s` are those of the last step. `cut_at_tokens` is the length of the
    last answer as far as it was reported.
    """

    session_id: str
    text: str
    reason: Mapping[str, Any]
    usage: Mapping[str, int]
    n_turns: int
    n_steps: int
    duration_ms: int
    n_attempts: int = 1
    waited_s: float = 0.0
    cut_at_tokens: int | None = None

    @property
    def kind(self) -> str:
        """Return the kind of the reason."""
        return self.reason["kind"]


def read_ending(session: Session, first_seq: int) -> Ending:
    """Fold the events from `first_seq` on, which belong to this run."""
    events = session.events_from(first_seq)
    end = fold_consumed_work(events).end
    reason: Mapping[str, Any] = {"kind": NOT_RUN} if end is None else end.data["reason"]
    used = [event.data["usage"] for event in events if _has_usage(event)]
    n_retries, waited_ms = _last_series(events)
    return Ending(
        session_id=session.id,
        text=_last_text(session, events, includes_attempts=reason["kind"] != "completed"),
        reason=reason,
        usage=_sum(used),
        n_turns=sum(_is_turn(event) for event in events),
        n_steps=sum(event.type == STEP_START for event in events),
        duration_ms=max(0, events[-1].time - events[0].time) if events else 0,
        n_attempts=n_retries + 1,
        waited_s=waited_ms / 1000,
        cut_at_tokens=used[-1].get("outputTokens") if used else None,
    )


def message_text(message: Mapping[str, Any]) -> str:
    """Return the text blocks of a logged message, joined by blank lines."""
    texts = [block["text"] for block in message["content"] if block.get("type") == "text"]
    return "\n\n".join(text for text in texts if text)


def _last_text(session: Session, events: Sequence[SessionEvent], *, includes_attempts: bool) -> str:
    for event in reversed(events):
        text = ""
        if event.type == ASSISTANT_MESSAGE:
            text = message_text(event.data["message"])
        elif event.type == ASSISTANT_ATTEMPT and includes_attempts:
            chunks = (chunk for _, chunk in session.attempt_stream(event))
            text = "".join(chunk.text for chunk in chunks if isinstance(chunk, TextDelta))
        if text.strip():
            return text
    return ""


def _last_series(events: Sequence[SessionEvent]) -> tuple[int, int]:
    """Return the number of retries in the last step, and the milliseconds spent waiting."""
    n_retries = waited_ms = 0
    for event in reversed(events):
        if event.type == STEP_START:
            break
        if event.type == RETRY_EVENT:
            n_retries += 1
            waited_ms += event.data["delayMs"]
    return n_retries, waited_ms


def _sum(used: Iterable[Mapping[str, int]]) -> dict[str, int]:
    total = dict.fromkeys(_COUNTERS, 0)
    for usage in used:
        for name in _COUNTERS:
            total[name] += usage.get(name, 0)
    return {**total, "totalTokens": sum(total.values())}


def _has_usage(event: SessionEvent) -> bool:
    return event.type == ASSISTANT_MESSAGE and "usage" in event.data


def _is_turn(event: SessionEvent) -> bool:
    return event.type == TURN_START and is_conversational_turn(event.data)
