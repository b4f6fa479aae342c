"""The log oracle: what a session log must satisfy beyond what `append` enforces."""

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from harness.llm import (
    BlockAssembler,
    LlmError,
    StreamChunk,
    chunk_from_json,
    expand_assistant_stream,
)
from harness.session import (
    ASSISTANT_ATTEMPT,
    ASSISTANT_CHUNK,
    ASSISTANT_MESSAGE,
    CONTEXT_MESSAGE,
    END_SEED,
    REQUEST_HEADER,
    STEERING_MESSAGE,
    STEP_END,
    STEP_START,
    TOOL_CALL,
    TOOL_RESULT,
    TURN_END,
    USER_MESSAGE,
    SeedDialect,
    Session,
    SessionEvent,
    SessionEventError,
    canonical_header,
    header_equals,
)
from harness.wire import FrozenDict, freeze_json, json_equal


class Violation(NamedTuple):
    """One broken rule: its number in the catalogue, the event, and what is wrong."""

    rule: str
    seq: int
    message: str


class LogChecker:
    """Follow a log and tell what is wrong with the next event.

    `check` changes nothing; `commit` takes an event over.

    Invariants: `_chunks` are the chunk events since the last settlement of the open step;
    `_calls` are the tool-call blocks of its message, `_started` and `_answered` count theirs.
    """

    def __init__(self) -> None:
        """Start before the first event."""
        self._chunks: list[SessionEvent] = []
        self._message: SessionEvent | None = None
        self._calls: list[Any] = []
        self._started: list[str] = []
        self._answered: list[str] = []
        self._header: FrozenDict | None = None

    def check(self, event: SessionEvent) -> Violation | None:
        """Return the first rule that `event` would break, or `None`."""
        checker = _CHECKS.get(event.type)
        if checker is None:
            return None
        problem = checker(self, event)
        return None if problem is None else Violation(problem[0], event.seq, problem[1])

    def commit(self, event: SessionEvent) -> None:
        """Take an event over."""
        kind = event.type
        if kind == ASSISTANT_CHUNK:
            self._chunks.append(event)
        elif kind == ASSISTANT_ATTEMPT:
            self._chunks = []
        elif kind == ASSISTANT_MESSAGE and event.surface_op == "append":
            self._chunks = []
            self._message = event
            self._calls = [
                block
                for block in event.data["message"]["content"]
                if block.get("type") == "tool-call"
            ]
        elif kind == TOOL_CALL:
            self._started.append(event.data["callId"])
        elif kind == TOOL_RESULT and event.surface_op == "append":
            self._answered.append(event.data["message"]["source"]["callId"])
        elif kind in (STEP_START, STEP_END, TURN_END):
            self._chunks, self._message = [], None
            self._calls, self._started, self._answered = [], [], []
        elif kind == REQUEST_HEADER:
            self._header = canonical_header(event.data["header"])

    # -- the rules ---------------------------------------------------------------------------

    def _check_message(self, event: SessionEvent) -> tuple[str, str] | None:
        if event.surface_op != "append":
            return None
        if self._message is not None:
            return "S12", f"a second assistant/message in the step of event {self._message.seq}"
        own = [chunk.seq for chunk in self._chunks]
        if list(event.source_event_seqs or ()) != own:
            return "S12", f"its sources {event.source_event_seqs} are not its chunks {own[:6]}"
        has_stream = event.source_event_seqs is not None or bool(event.data.get("stream"))
        if event.data.get("rewritten") or not has_stream:
            return None
        return self._check_content(event)

    def _check_content(self, event: SessionEvent) -> tuple[str, str] | None:
        assembler = BlockAssembler()
        is_interrupted = event.data.get("interrupted") is True
        try:
            for chunk in self._stream(event):
                assembler.push(chunk)
            blocks = assembler.interrupted_blocks() if is_interrupted else assembler.blocks()
        except (LlmError, ValueError) as error:
            return "S13", f"its chunks cannot be assembled: {error}"
        expected = freeze_json([block.to_json() for block in blocks])
        if not json_equal(expected, event.data["message"]["content"]):
            return "S13", "its content is not what its chunks make"
        return None

    def _stream(self, event: SessionEvent) -> Iterator[StreamChunk]:
        if self._chunks:
            yield from (chunk_from_json(chunk.data["chunk"]) for chunk in self._chunks)
        else:
            yield from (chunk for _, chunk in expand_assistant_stream(event.data.get("stream", ())))

    def _check_attempt(self, event: SessionEvent) -> tuple[str, str] | None:
        bounds = event.data.get("chunkRange")
        own = [chunk.seq for chunk in self._chunks]
        if bounds is None:
            return ("S12", f"it has chunks {own[:6]} but names none") if own else None
        if not own or (bounds["start"], bounds["end"]) != (own[0], own[-1]):
            return "S12", f"its chunk range {dict(bounds)} is not {own[:1]}..{own[-1:]}"
        return None

    def _check_call(self, event: SessionEvent) -> tuple[str, str] | None:
        index = len(self._started)
        if index >= len(self._calls):
            return "S14", f"call {event.data['callId']!r} is not in the step's message"
        block = self._calls[index]
        for member, key in (("id", "callId"), ("name", "name"), ("arguments", "arguments")):
            if block[member] != event.data[key]:
                return "S14", f"{key} {event.data[key]!r} is not the message's {block[member]!r}"
        return None

    def _check_result(self, event: SessionEvent) -> tuple[str, str] | None:
        if event.surface_op != "append":
            return None
        call_id = event.data["message"]["source"]["callId"]
        if self._started.count(call_id) > self._answered.count(call_id):
            return None
        error: dict[str, Any] = event.data.get("error", {})
        asked = [block["id"] for block in self._calls].count(call_id)
        is_open = asked > self._answered.count(call_id)
        if error.get("code") == "TOOL_NOT_STARTED" and is_open:
            return None
        return "S7", f"result of call {call_id!r}, which has no unanswered tool/call"

    def _check_between(self, event: SessionEvent) -> tuple[str, str] | None:
        if event.surface_op != "append":
            return None
        if len(self._answered) < len(self._calls):
            return "S16", "it stands between a tool call and its result"
        return None

    def _check_step_end(self, _event: SessionEvent) -> tuple[str, str] | None:
        asked = sorted(block["id"] for block in self._calls)
        if asked != sorted(self._answered):
            return "S15", f"calls {asked} have the results {sorted(self._answered)}"
        return None

    def _check_header(self, event: SessionEvent) -> tuple[str, str] | None:
        header = canonical_header(event.data["header"])
        if not json_equal(header, event.data["header"]):
            return "S18", "the header is not in canonical form"
        if event.data["reason"] == "change" and header_equals(header, self._header):
            return "S18", "a change that changes nothing"
        return None


_CHECKS = {
    ASSISTANT_MESSAGE: LogChecker._check_message,  # pyright: ignore[reportPrivateUsage] - own
    ASSISTANT_ATTEMPT: LogChecker._check_attempt,  # pyright: ignore[reportPrivateUsage] - own
    TOOL_CALL: LogChecker._check_call,  # pyright: ignore[reportPrivateUsage] - own
    TOOL_RESULT: LogChecker._check_result,  # pyright: ignore[reportPrivateUsage] - own
    USER_MESSAGE: LogChecker._check_between,  # pyright: ignore[reportPrivateUsage] - own
    CONTEXT_MESSAGE: LogChecker._check_between,  # pyright: ignore[reportPrivateUsage] - own
    STEERING_MESSAGE: LogChecker._check_between,  # pyright: ignore[reportPrivateUsage] - own
    STEP_END: LogChecker._check_step_end,  # pyright: ignore[reportPrivateUsage] - own
    REQUEST_HEADER: LogChecker._check_header,  # pyright: ignore[reportPrivateUsage] - own
}


def check_log(
    events: Iterable[SessionEvent],
    *,
    is_complete: bool = False,
    seed_dialect: SeedDialect = "native",
) -> tuple[Violation, ...]:
    """Return every broken rule of a log, in order; empty for a log that cannot lie.

    Only the first breach of S1 to S11 is reported, alone: behind it nothing can be folded.

    Args:
        events: the log, from seq 0.
        is_complete: also demand that no turn is open at the end.
        seed_dialect: `upstream` for an imported log, whose facts may stand between turns.
    """
    log = list(events)
    found: list[Violation] = []
    try:
        session = Session.create("checked", log, seed_dialect=seed_dialect, allow_open_turn=True)
    except SessionEventError as error:
        return (Violation("S1-S11", error.index or 0, str(error)),)
    if is_complete and session.open_turn is not None:
        found.append(Violation("S3", len(log), f"turn {session.open_turn} is open at the end"))
    checker = LogChecker()
    for event in log:
        if event.type == END_SEED:
            continue
        violation = checker.check(event)
        if violation is not None:
            found.append(violation)
        checker.commit(event)
    return tuple(found)
