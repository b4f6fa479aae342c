"""Close what a crash left open, and find where a log may be cut."""

from collections.abc import Sequence
from typing import Any, Literal

from harness.session import event_types as types
from harness.session.event import SessionEvent
from harness.wire import FrozenDict, freeze_json

InterruptionCause = Literal["interrupted", "forked"]

_TEXTS: dict[tuple[str, bool], str] = {
    ("interrupted", False): (
        "Error: the session stopped before this tool call began. It never ran; issue it again if"
        " you still want it."
    ),
    ("interrupted", True): (
        "Error: this tool call had started when the session stopped, and no result was recorded."
        " Its outcome is unknown. Repeat it only if it is read-only or idempotent; otherwise check"
        " external state first, or ask the user."
    ),
    ("forked", False): (
        "Error: this conversation was forked before this tool call began. It never ran here; issue"
        " it again if you still want it."
    ),
    ("forked", True): (
        "Error: this tool call was running when the conversation was forked, and its result is not"
        " part of this copy. Repeat it only if it is read-only or idempotent; otherwise check"
        " external state first."
    ),
}


class _Call:
    """A tool call without a result; `seq` is that of its `tool/call`, `None` before it started."""

    __slots__ = ("id", "seq")

    def __init__(self, ident: str, seq: int | None = None) -> None:
        self.id = ident
        self.seq = seq


class _OpenBrackets:
    """What is open at the end of a log: turn, step, and calls in the order of their message.

    Calls of one message may share an id; then the first that fits is started, and answered.
    """

    __slots__ = ("calls", "step", "turn")

    def __init__(self) -> None:
        self.turn: int | None = None
        self.step: int | None = None
        self.calls: list[_Call] = []

    def feed(self, event: SessionEvent) -> None:
        kind, data = event.type, event.data
        if kind == types.TURN_START:
            self.turn = data["turn"]
        elif kind == types.TURN_END:
            self.turn = self.step = None
            self.calls.clear()
        elif kind == types.STEP_START:
            self.step = data["step"]
        elif kind == types.STEP_END:
            self.step = None
            self.calls.clear()
        elif kind == types.ASSISTANT_MESSAGE and event.surface_op == "append":
            for block in data["message"]["content"]:
                if block["type"] == "tool-call":
                    self.calls.append(_Call(block["id"]))
        elif kind == types.TOOL_CALL:
            self._start(data["callId"], event.seq)
        elif kind == types.TOOL_RESULT and event.surface_op == "append":
            self._answer(data["message"]["source"]["callId"])

    def _start(self, ident: str, seq: int) -> None:
        for call in self.calls:
            if call.id == ident and call.seq is None:
                call.seq = seq
                return
        self.calls.append(_Call(ident, seq))

    def _answer(self, ident: str) -> None:
        answered = [call for call in self.calls if call.id == ident]
        if answered:
            started = [call for call in answered if call.seq is not None]
            self.calls.remove((started or answered)[0])


def unanswered_result(
    call_id: str,
    *,
    turn: int,
    step: int,
    seq: int,
    call_seq: int | None,
    cause: InterruptionCause = "interrupted",
) -> FrozenDict:
    """Return the data of the `tool/result` that closes a call which got none.

    Args:
        call_id: the call.
        turn: the open turn.
        step: the open step.
        seq: the seq that the event will have.
        call_seq: the seq of its `tool/call`, `None` when it never started.
        cause: which wording the model reads.
    """
    has_started = call_seq is not None
    name, code = (
        ("ToolOutcomeUnknownError", "TOOL_OUTCOME_UNKNOWN")
        if has_started
        else ("ToolNotStartedError", "TOOL_NOT_STARTED")
    )
    block = {
        "type": "tool-result",
        "toolCallId": call_id,
        "content": [{"type": "text", "text": _TEXTS[cause, has_started]}],
        "isError": True,
    }
    data: dict[str, Any] = {
        "turn": turn,
        "step": step,
        "message": {
            "id": f"interrupted-tool-result-{call_id}-{seq}",
            "role": "user",
            "content": [block],
            "source": {"kind": "tool", "callId": call_id},
        },
        "error": {"name": name, "code": code},
    }
    return freeze_json(data)


def interrupted_turn_closers(
    events: Sequence[SessionEvent], cause: InterruptionCause = "interrupted"
) -> list[SessionEvent]:
    """Return the events that balance a log whose writer died; empty when it is balanced.

    Every unanswered call gets a result, then the step and the turn are closed. Deterministic:
    seqs continue, times repeat the last event's, and closing a closed log adds nothing.

    Raises:
        LookupError, TypeError, AttributeError: an event lacks what its type promises, which only
            happens in a log that no session has checked.
    """
    state = _OpenBrackets()
    for event in events:
        if event.type != types.ASSISTANT_CHUNK:
            state.feed(event)
    if state.turn is None:
        return []
    time = events[-1].time
    closers: list[SessionEvent] = []

    def close(kind: str, data: FrozenDict, **surface: Any) -> None:
        closers.append(SessionEvent(kind, events[-1].seq + 1 + len(closers), time, data, **surface))

    if state.step is not None:
        for call in state.calls:
            data = unanswered_result(
                call.id,
                turn=state.turn,
                step=state.step,
                seq=events[-1].seq + 1 + len(closers),
                call_seq=call.seq,
                cause=cause,
            )
            sources = None if call.seq is None else (call.seq,)
            close(types.TOOL_RESULT, data, surface_op="append", source_event_seqs=sources)
        close(types.STEP_END, FrozenDict(turn=state.turn, step=state.step))
    reason = FrozenDict(kind="interrupted")
    close(types.TURN_END, FrozenDict(turn=state.turn, reason=reason))
    return closers


def balanced_prefix(events: Sequence[SessionEvent]) -> Sequence[SessionEvent]:
    """Return the longest prefix that ends outside a turn."""
    end = 0
    is_open = False
    for index, event in enumerate(events):
        if event.type == types.TURN_START:
            is_open = True
        elif event.type == types.TURN_END:
            is_open = False
        if not is_open:
            end = index + 1
    return events[:end]
