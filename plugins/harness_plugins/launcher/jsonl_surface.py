"""Show a run to a program that follows it: one JSON object per line."""

from collections.abc import Mapping
from typing import Any, cast

import harness.session as log
from harness.agent import StreamChunkFrame, StreamFrame
from harness.llm import ReasoningDelta, TextDelta, ToolCallDelta
from harness.session import SessionEvent
from harness.wire import JsonDecodeError, dumps, loads
from harness_plugins import llm_retry
from harness_plugins.launcher.complaint import Complaint
from harness_plugins.launcher.ending import Ending
from harness_plugins.launcher.output import Output
from harness_plugins.launcher.surface import Opened, Surface
from harness_plugins.launcher.version import VERSION

SCHEMA = 1
_PERMISSION = "danger-full-access"  # tools run as the user, until a sandbox is composed


class JsonlSurface(Surface):
    """Write `session` first, `final` last, and in between what is committed to the log.

    Invariants: nothing is written before the session is stored; steps nest in turns; each
    `tool_call` has one `tool_result`.
    """

    def __init__(self, output: Output, *, with_deltas: bool) -> None:
        """Hold everything back until the session is stored."""
        self.wants_frames = with_deltas
        self._output = output
        self._started_ms: dict[str, int] = {}
        self._usage: Mapping[str, Any] | None = None
        output.hold()

    def open(self, opened: Opened) -> None:
        """Write the session, then what was held back."""
        line = {
            "type": "session",
            "sessionId": opened.session_id,
            "cwd": opened.cwd,
            "schema": SCHEMA,
            "version": VERSION,
            "provider": opened.provider,
            "model": opened.model,
            "effort": opened.effort,
            "permission": _PERMISSION,
            "resumed": opened.is_resumed,
        }
        self._output.release(dumps(line) + b"\n")

    def event(self, event: SessionEvent) -> None:
        """Write what a reader needs of an event."""
        data = event.data
        match event.type:
            case log.TURN_START:
                self._status("turn_start", turn=data["turn"])
            case log.TURN_END:
                self._status("turn_end", turn=data["turn"], reason=data["reason"]["kind"])
            case log.STEP_START:
                self._usage = None
                self._status("step_start", turn=data["turn"], step=data["step"])
            case log.STEP_END:
                usage = {} if self._usage is None else {"usage": self._usage}
                self._status("step_end", turn=data["turn"], step=data["step"], **usage)
            case log.ASSISTANT_MESSAGE:
                self._usage = data.get("usage")
                self._message(data)
            case log.TOOL_CALL:
                self._started_ms[data["callId"]] = event.time
            case log.TOOL_RESULT if event.surface_op == "append":
                self._result(data, event.time)
            case llm_retry.RETRY_EVENT:
                self._retry(data)
            case _:
                pass  # chunks come as deltas, the rest concerns nobody outside

    def frame(self, frame: StreamFrame) -> None:
        """Write a delta."""
        if not isinstance(frame, StreamChunkFrame):
            return
        chunk = frame.chunk
        if isinstance(chunk, TextDelta):
            self._delta("text", frame.attempt_id, chunk.index, chunk.text)
        elif isinstance(chunk, ReasoningDelta):
            self._delta("thinking", frame.attempt_id, chunk.index, chunk.text)
        elif isinstance(chunk, ToolCallDelta):
            call = {"callId": chunk.id}
            self._delta("tool_args", frame.attempt_id, chunk.index, chunk.arguments_delta, **call)

    def note(self, code: str, message: str) -> None:
        """Write a notice."""
        self._line("notice", level="info", code=code, message=message)

    def close(self, ending: Ending, complaint: Complaint | None) -> None:
        """Write what went wrong, if anything did, and the one final line."""
        if complaint is not None:
            self._line("error", message=complaint.sentence, code=complaint.code)
        self._line(
            "final",
            text=ending.text,
            reason=ending.kind,
            usage=ending.usage,
            turns=ending.n_turns,
            steps=ending.n_steps,
            durationMs=ending.duration_ms,
            sessionId=ending.session_id,
        )

    def _message(self, data: Mapping[str, Any]) -> None:
        place = {"turn": data["turn"], "step": data["step"]}
        for block in data["message"]["content"]:
            match block.get("type"):
                case "text" if block["text"]:
                    self._line("text", text=block["text"], **place)
                case "reasoning" if block.get("text"):
                    self._line("thinking", text=block["text"], **place)
                case "tool-call":
                    arguments = _arguments(block["arguments"])
                    self._line("tool_call", callId=block["id"], tool=block["name"], **arguments)
                case _:
                    pass  # empty, or of a kind that has no text

    def _result(self, data: Mapping[str, Any], time_ms: int) -> None:
        block = data["message"]["content"][0]
        call_id = block["toolCallId"]
        facts = _object(data.get("meta"))
        spill = {"spill": facts["spillPath"]} if "spillPath" in facts else {}
        self._line(
            "tool_result",
            callId=call_id,
            status="error" if block.get("isError") else "completed",
            result="\n".join(part["text"] for part in block["content"] if "text" in part),
            durationMs=max(0, time_ms - self._started_ms.pop(call_id, time_ms)),
            truncated=facts.get("truncated") is True,
            **spill,
        )

    def _retry(self, data: Mapping[str, Any]) -> None:
        failure = data["failure"]
        self._line(
            "retry",
            attempt=data["retry"],
            max=data.get("maxRetries"),
            delayMs=data["delayMs"],
            code=failure["code"],
            message=failure["message"],
        )

    def _delta(self, kind: str, attempt: str, index: int, text: str, **call: str) -> None:
        delta = {"kind": kind, "attempt": attempt, "index": index, "text": text, **call}
        self._line("delta", **delta)

    def _status(self, phase: str, **facts: object) -> None:
        self._line("status", phase=phase, **facts)

    def _line(self, line_type: str, /, **facts: object) -> None:
        self._output.write(dumps({"type": line_type, **facts}) + b"\n")


def _arguments(text: str) -> dict[str, Any]:
    """Return the arguments of a call as an object, or as the text that is none."""
    try:
        value: object = loads(text.encode()) if text.strip() else {}
    except JsonDecodeError:
        return {"rawInput": text}
    return {"input": value} if isinstance(value, dict) else {"rawInput": text}


def _object(value: object) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", value) if isinstance(value, dict) else {}
