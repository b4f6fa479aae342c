"""Show a run to a program: the answer on standard output, nothing else."""

from harness.session import ASSISTANT_MESSAGE, SessionEvent
from harness_plugins.launcher.complaint import Complaint
from harness_plugins.launcher.descriptors import complain_on_stderr
from harness_plugins.launcher.ending import Ending
from harness_plugins.launcher.output import Output
from harness_plugins.launcher.shown_text import printable
from harness_plugins.launcher.surface import Opened, Surface


class PlainSurface(Surface):
    """Print the last text of the model when the run is over, byte for byte."""

    def __init__(self, output: Output, *, shows_reasoning: bool, is_quiet: bool) -> None:
        """Print to `output`; reasoning and notes go to stderr."""
        self._output = output
        self._shows_reasoning = shows_reasoning
        self._is_quiet = is_quiet

    def open(self, opened: Opened) -> None:
        """Say nothing: whoever wants the id asks for JSON."""

    def event(self, event: SessionEvent) -> None:
        """Print reasoning, when it is wanted."""
        if not self._shows_reasoning or event.type != ASSISTANT_MESSAGE:
            return
        for block in event.data["message"]["content"]:
            if block.get("type") == "reasoning" and block.get("text"):
                complain_on_stderr(printable(block["text"]).rstrip("\n") + "\n")

    def note(self, code: str, message: str) -> None:  # noqa: ARG002 - codes are for programs
        """Print a note for people."""
        if not self._is_quiet:
            complain_on_stderr(f"dsh: note: {printable(message)}\n")

    def close(self, ending: Ending, complaint: Complaint | None) -> None:  # noqa: ARG002 - as above
        """Print the answer, also what there is of it after a failure."""
        if ending.text:
            end = "" if ending.text.endswith("\n") else "\n"
            self._output.write((ending.text + end).encode("utf-8", "replace"))
