"""Write legal logs for tests, by hand and at random.

Needs `hypothesis`, which is not a dependency of this package; nothing else imports this module.
"""

from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st

from harness.llm import (
    BlockAssembler,
    BlockEnd,
    BlockStart,
    Finish,
    FinishReason,
    StreamChunk,
    TextBlock,
    TextDelta,
    ToolCallBlock,
    ToolCallDelta,
)
from harness.session import event_types as types
from harness.session.event import Replace, SessionEvent, SurfaceOp
from harness.session.session import Session

__all__ = ["LogWriter", "balanced_logs"]


class LogWriter:
    """Write a legal log, one method an act; the clock counts and sometimes steps back.

    Invariants: ids are unique in the log; what it wrote satisfies every rule of `check_log`.
    """

    def __init__(self, session: Session | None = None, *, session_id: str = "written") -> None:
        """Write into `session`, by default into a new one that no store knows."""
        self.n_ids = 0
        self.session = session or Session(session_id, now_ms=self._now_ms)

    @property
    def events(self) -> tuple[SessionEvent, ...]:
        """The log so far."""
        return self.session.events

    def append(self, kind: str, /, **data: Any) -> SessionEvent:
        """Append a log-only event."""
        return self.session.append(kind, data)

    def begin_turn(self, trigger: str = "message") -> SessionEvent:
        """Open the next turn."""
        turn = self.session.last_turn + 1
        return self.append(types.TURN_START, turn=turn, trigger={"kind": trigger})

    def end_turn(self, kind: str = "completed") -> SessionEvent:
        """Close the open turn."""
        return self.append(types.TURN_END, turn=self.session.open_turn, reason={"kind": kind})

    def begin_step(self, step: int = 1) -> SessionEvent:
        """Open a step of the open turn."""
        return self.append(types.STEP_START, turn=self.session.open_turn, step=step)

    def end_step(self) -> SessionEvent:
        """Close the open step."""
        return self.append(types.STEP_END, **self._place())

    def user(self, text: str = "hi", *, replacing: Sequence[int] = ()) -> SessionEvent:
        """Append a prompt, or put a summary in place of neighbouring surface nodes."""
        source = {"kind": "plugin", "plugin": "summary"} if replacing else {"kind": "user"}
        op: SurfaceOp = Replace(replacing[0], replacing[-1]) if replacing else "append"
        return self.session.append(
            types.USER_MESSAGE,
            self._message("user", text, source),
            surface_op=op,
            source_event_seqs=tuple(replacing) or None,
        )

    def context(
        self, text: str = "fact", kind: str = types.CONTEXT_MESSAGE, **more: Any
    ) -> SessionEvent:
        """Append a context message, or of `kind` a steering one."""
        data = self._message("user", text, {"kind": "plugin", "plugin": "notes"})
        if kind == types.STEERING_MESSAGE:
            data["turn"] = self.session.open_turn
        return self.session.append(kind, {**data, **more}, surface_op="append")

    def header(self, model: str = "m", reason: str = "initial") -> SessionEvent:
        """Append a request header and where the request goes."""
        config = {"provider": "p", "model": model}
        self.append(types.REQUEST_HEADER, reason=reason, header={"config": config})
        return self.append(types.REQUEST_CONTEXT, **config)

    def chunks(self, *chunks: StreamChunk) -> list[int]:
        """Append chunks of the open step and return their seqs."""
        place = self._place()
        appended = [
            self.append(types.ASSISTANT_CHUNK, **place, chunk=chunk.to_json()) for chunk in chunks
        ]
        return [event.seq for event in appended]

    def answer(
        self, text: str = "", calls: Sequence[str] = (), *, is_interrupted: bool = False
    ) -> SessionEvent:
        """Append an answer with its chunks; `calls` are the ids of its tool calls."""
        chunks: list[StreamChunk] = []
        if text:
            chunks += [BlockStart(0, "text"), TextDelta(0, text)]
            chunks += [] if is_interrupted else [BlockEnd(0, TextBlock(text))]
        for index, call_id in enumerate(calls, bool(text)):
            chunks += [
                BlockStart(index, "tool-call"),
                ToolCallDelta(index, call_id, "echo", "{}"),
                BlockEnd(index, ToolCallBlock(call_id, "echo", "{}")),
            ]
        if not is_interrupted:
            chunks.append(Finish(FinishReason.TOOL_CALLS if calls else FinishReason.STOP))
        seqs = self.chunks(*chunks)
        assembler = BlockAssembler()
        for chunk in chunks:
            assembler.push(chunk)
        blocks = assembler.interrupted_blocks() if is_interrupted else assembler.blocks()
        source = {"kind": "model", "provider": "p", "model": "m"}
        message = {
            **self._message("assistant", "", source),
            "content": [b.to_json() for b in blocks],
        }
        data: dict[str, Any] = {**self._place(), "message": message}
        if is_interrupted:
            data["interrupted"] = True
        return self.session.append(
            types.ASSISTANT_MESSAGE, data, surface_op="append", source_event_seqs=seqs
        )

    def attempt(self, text: str = "") -> SessionEvent:
        """Append an attempt that failed, with a chunk when it has `text`."""
        data: dict[str, Any] = {**self._place(), "attempt": 1}
        if text:
            seqs = self.chunks(BlockStart(0, "text"), TextDelta(0, text))
            data["chunkRange"] = {"start": seqs[0], "end": seqs[-1]}
        return self.session.append(types.ASSISTANT_ATTEMPT, data)

    def call(self, call_id: str) -> SessionEvent:
        """Append that a call begins."""
        return self.append(
            types.TOOL_CALL, **self._place(), callId=call_id, name="echo", arguments="{}"
        )

    def result(
        self, call_id: str, text: str = "done", *, call_seq: int | None = None, **more: Any
    ) -> SessionEvent:
        """Append the result of a call that began at `call_seq`."""
        block = {
            "type": "tool-result",
            "toolCallId": call_id,
            "content": [{"type": "text", "text": text}],
        }
        message = self._message("user", "", {"kind": "tool", "callId": call_id})
        return self.session.append(
            types.TOOL_RESULT,
            {**self._place(), "message": {**message, "content": [block]}, **more},
            surface_op="append",
            source_event_seqs=None if call_seq is None else (call_seq,),
        )

    def prune(self, seq: int, text: str = "(pruned)") -> SessionEvent:
        """Put a shorter result in place of the `tool/result` at `seq`."""
        data = dict(self.session.event(seq).data)
        block = {**data["message"]["content"][0], "content": [{"type": "text", "text": text}]}
        data["message"] = {**data["message"], "content": [block]}
        return self.session.append(
            types.TOOL_RESULT, data, surface_op=Replace(seq, seq), source_event_seqs=(seq,)
        )

    def note(self) -> SessionEvent:
        """Append a log-only fact."""
        return self.append("todo/write", todos=[])

    def step(self, text: str = "", calls: Sequence[str] = (), step: int = 1) -> None:
        """Write a whole step: an answer, and each of its calls with a result."""
        self.begin_step(step)
        self.answer(text, calls)
        for call_id in calls:
            self.result(call_id, call_seq=self.call(call_id).seq)
        self.end_step()

    def turn(self, text: str = "hi", answer: str = "hello") -> None:
        """Write a whole turn of one step."""
        self.begin_turn()
        self.user(text)
        self.step(answer)
        self.end_turn()

    def _place(self) -> dict[str, Any]:
        return {"turn": self.session.open_turn, "step": self.session.open_step}

    def _message(self, role: str, text: str, source: dict[str, Any]) -> dict[str, Any]:
        self.n_ids += 1
        content = [{"type": "text", "text": text}]
        return {"id": f"m{self.n_ids}", "role": role, "content": content, "source": source}

    def _now_ms(self) -> int:
        seq = 0 if self.n_ids == 0 else self.session.seq
        return 1_000 + seq - 3 * (seq % 7 == 0)


_texts = st.text(st.characters(exclude_categories=()), min_size=1, max_size=6)


@st.composite
def balanced_logs(draw: st.DrawFn, *, max_turns: int = 4) -> LogWriter:
    """Generate writers of legal logs that end outside a turn: every kind of act, any order."""
    log = LogWriter()
    for _ in range(draw(st.integers(0, max_turns))):
        if draw(st.integers(0, 3)) == 0:
            with log.session.enclosed({"kind": "injection"}):
                log.context(draw(_texts), envelope=draw(st.sampled_from(["raw", "context"])))
            continue
        log.begin_turn()
        log.user(draw(_texts))
        for step in range(1, draw(st.integers(0, 3)) + 1):
            _between(draw, log)
            _step(draw, log, step)
        _between(draw, log)
        log.end_turn(draw(st.sampled_from(["completed", "aborted", "max-tokens"])))
    return log


def _between(draw: st.DrawFn, log: LogWriter) -> None:
    """Write what may stand between steps: facts, steering, summaries, pruned results."""
    nodes = log.session.surface.nodes
    act = draw(st.sampled_from(["note", "steering", "context", "summary", "prune", "nothing"]))
    if act == "note":
        log.note()
    elif act == "steering":
        log.context(draw(_texts), types.STEERING_MESSAGE)
    elif act == "context":
        log.context(draw(_texts))
    elif act == "summary":
        start = draw(st.integers(0, len(nodes) - 1))
        end = draw(st.integers(start, len(nodes) - 1))
        log.user(draw(_texts), replacing=nodes[start : end + 1])
    elif act == "prune":
        results = [seq for seq in nodes if log.session.event(seq).type == types.TOOL_RESULT]
        if results:
            log.prune(draw(st.sampled_from(results)))


def _step(draw: st.DrawFn, log: LogWriter, step: int) -> None:
    log.begin_step(step)
    if log.session.request_header() is None:
        log.header()
    if draw(st.booleans()):
        log.attempt(draw(st.sampled_from(["", "oops"])))
    kind = draw(st.sampled_from(["text", "calls", "both", "interrupted", "none"]))
    if kind != "none":
        text = draw(_texts) if kind != "calls" else ""
        ids = st.sampled_from(["c1", "c2", "c3"])
        calls = draw(st.lists(ids, min_size=1, max_size=3)) if kind in ("calls", "both") else []
        log.answer(text, calls, is_interrupted=kind == "interrupted")
        n_started = draw(st.integers(0, len(calls)))
        for call_id in calls[:n_started]:
            if draw(st.booleans()):
                log.note()
            log.result(call_id, call_seq=log.call(call_id).seq)
        for call_id in calls[n_started:]:
            error = {"name": "ToolNotStartedError", "code": "TOOL_NOT_STARTED"}
            log.result(call_id, "not started", error=error)
    log.end_step()
