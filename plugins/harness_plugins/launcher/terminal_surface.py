"""Show a run to a person: text as it arrives, one line for each tool call."""

from collections.abc import Callable, Mapping
from typing import Any

from harness.agent import StreamChunkFrame, StreamEnd, StreamFrame
from harness.llm import BlockStart, ReasoningDelta, TextDelta
from harness.session import ASSISTANT_MESSAGE, TOOL_CALL, TOOL_RESULT, SessionEvent
from harness.tools import ToolDefinition, call_view, parse_arguments, result_view
from harness_plugins.launcher.complaint import Complaint
from harness_plugins.launcher.descriptors import STDERR, complain_on_stderr, is_terminal
from harness_plugins.launcher.ending import Ending
from harness_plugins.launcher.output import Output
from harness_plugins.launcher.shown_text import (
    DIM,
    PLAIN,
    clipped,
    columns,
    may_use_colour,
    one_line,
    printable,
)
from harness_plugins.launcher.surface import Opened, Surface
from harness_plugins.llm_retry import RETRY_EVENT

FindTool = Callable[[str], ToolDefinition | None]


class TerminalSurface(Surface):
    """Stream text to standard output; tool lines, reasoning and notes go to stderr, dimmed.

    Invariants: `_is_at_start` says that the cursor stands at the start of a line, whichever of
    the two streams wrote last.
    """

    def __init__(
        self, output: Output, find_tool: FindTool, *, shows_reasoning: bool, is_quiet: bool
    ) -> None:
        """Stream to `output`; `find_tool(name)` knows how calls are shown."""
        self.wants_frames = True
        self._output = output
        self._find_tool = find_tool
        self._shows_reasoning = shows_reasoning
        self._is_quiet = is_quiet
        self._is_shared = is_terminal(STDERR)
        self._is_coloured = self._is_shared and may_use_colour()
        self._is_at_start = True
        self._calls: dict[str, tuple[str, object]] = {}

    def open(self, opened: Opened) -> None:
        """Say nothing yet: the id comes last, where it is read."""

    def frame(self, frame: StreamFrame) -> None:
        """Print a delta."""
        if isinstance(frame, StreamEnd):
            self._end_line()
        elif isinstance(frame, StreamChunkFrame):
            chunk = frame.chunk
            if isinstance(chunk, TextDelta):
                self._print(printable(chunk.text))
            elif isinstance(chunk, ReasoningDelta) and self._shows_reasoning:
                self._aside(printable(chunk.text))
            elif isinstance(chunk, BlockStart):
                self._end_line()

    def event(self, event: SessionEvent) -> None:
        """Print what tools do, and that a request is repeated."""
        if event.type == ASSISTANT_MESSAGE and event.data.get("rewritten"):
            self._note_rewritten(event.data["message"])
        elif event.type == TOOL_CALL:
            self._call(event.data["callId"], event.data["name"], event.data["arguments"])
        elif event.type == TOOL_RESULT and event.surface_op == "append":
            self._result(event.data)
        elif event.type == RETRY_EVENT:
            failure = event.data["failure"]
            limit = f" of {event.data['maxRetries']}" if "maxRetries" in event.data else ""
            wait_s = event.data["delayMs"] / 1000
            text = f"{failure['code']}: {failure['message']}"
            self._line(f"retry {event.data['retry']}{limit} in {wait_s:.1f} s: {one_line(text)}")

    def note(self, code: str, message: str) -> None:  # noqa: ARG002 - codes are for programs
        """Print a note."""
        self._line(f"dsh: note: {one_line(message)}", is_cut=False)

    def close(self, ending: Ending, complaint: Complaint | None) -> None:
        """End the text; a complaint names the session itself."""
        self._end_line()
        if complaint is None:
            self._line(f'to go on: dsh run --resume {ending.session_id} "…"', is_cut=False)

    # -- tools -------------------------------------------------------------------------------

    def _call(self, call_id: str, name: str, raw_arguments: str) -> None:
        arguments = parse_arguments(raw_arguments)
        self._calls[call_id] = (name, arguments)
        view = call_view(self._find_tool(name), name, arguments)
        title = view["title"]
        if view["card"] == "generic" and title == name:
            title = raw_arguments
        self._line(f"→ {name} {one_line(title)}")

    def _result(self, data: Mapping[str, Any]) -> None:
        """Print how a call ended, unless it simply worked."""
        block = data["message"]["content"][0]
        name, arguments = self._calls.pop(block["toolCallId"], ("tool", {}))
        logged = {
            "content": block["content"],
            "isError": bool(block.get("isError")),
            "meta": data.get("meta"),
        }
        if logged["isError"]:
            texts = [part["text"] for part in block["content"] if part.get("type") == "text"]
            self._line(f"  {name} failed: {one_line(' '.join(texts))}")
            return
        view = result_view(self._find_tool(name), name, arguments, logged)
        if view["card"] == "terminal":
            code, signal = view.get("exitCode", 0), view.get("signal")
            if signal is not None or code != 0:
                self._line(f"  {name}: {signal or f'exit code {code}'}")

    def _note_rewritten(self, message: Mapping[str, Any]) -> None:
        """Print the text that entered the log in the place of what was streamed."""
        for block in message["content"]:
            if block.get("type") == "text":
                self._end_line()
                self._print(printable(block["text"]))
        self._end_line()

    # -- lines -------------------------------------------------------------------------------

    def _print(self, text: str) -> None:
        if text:
            self._output.write(text.encode())
            self._is_at_start = text.endswith("\n")

    def _aside(self, text: str) -> None:
        if text:
            complain_on_stderr(self._dimmed(text))
            if self._is_shared:
                self._is_at_start = text.endswith("\n")

    def _line(self, text: str, *, is_cut: bool = True) -> None:
        if self._is_quiet:
            return
        self._end_line()
        shown = clipped(text, columns()) if is_cut else text
        complain_on_stderr(self._dimmed(shown) + "\n")

    def _end_line(self) -> None:
        if not self._is_at_start:
            self._print("\n")

    def _dimmed(self, text: str) -> str:
        return f"{DIM}{text}{PLAIN}" if self._is_coloured else text
