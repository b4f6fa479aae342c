"""Show a run as the raw events of its session, one JSON object per line."""

from harness.session import SessionEvent, event_to_json
from harness.wire import dumps
from harness_plugins.launcher.complaint import Complaint
from harness_plugins.launcher.descriptors import complain_on_stderr
from harness_plugins.launcher.ending import Ending
from harness_plugins.launcher.output import Output
from harness_plugins.launcher.surface import Opened, Surface


class EventsSurface(Surface):
    """Write `{"sessionId", "event"}` for every event, as it is stored."""

    def __init__(self, output: Output, session_id: str) -> None:
        """Hold everything back until the session is stored."""
        self._output = output
        self._session_id = session_id
        output.hold()

    def open(self, opened: Opened) -> None:  # noqa: ARG002 - each line names the session
        """Write what was held back."""
        self._output.release()

    def event(self, event: SessionEvent) -> None:
        """Write the event."""
        line = {"sessionId": self._session_id, "event": event_to_json(event)}
        self._output.write(dumps(line) + b"\n")

    def note(self, code: str, message: str) -> None:
        """Print a note on stderr, since these lines hold nothing but events."""
        complain_on_stderr(f"dsh: note: {code}: {message}\n")

    def close(self, ending: Ending, complaint: Complaint | None) -> None:
        """End; the last event says how."""
