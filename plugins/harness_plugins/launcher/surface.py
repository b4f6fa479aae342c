"""Define what shows a run: four forms of output behind one interface."""

from abc import ABC, abstractmethod

import attrs

from harness.agent import StreamFrame
from harness.session import SessionEvent
from harness_plugins.launcher.complaint import Complaint
from harness_plugins.launcher.ending import Ending


@attrs.frozen(kw_only=True)
class Opened:
    """Describe the session of a run; it is stored by the time anybody is told of it."""

    session_id: str
    cwd: str
    provider: str
    model: str | None
    effort: str | None
    is_resumed: bool


class Surface(ABC):
    """Show one run. All calls are synchronous, in the order of the facts.

    Events and frames may come before `open`; what names the session waits for it. `close` comes
    exactly once, and only after `open`.
    """

    wants_frames: bool = False
    """Whether `frame` needs to be called, which costs something with every delta."""

    @abstractmethod
    def open(self, opened: Opened) -> None:
        """Hear that the session is stored: it can be resumed whatever happens next."""

    @abstractmethod
    def event(self, event: SessionEvent) -> None:
        """Show an event that was appended."""

    def frame(self, frame: StreamFrame) -> None:  # noqa: B027 - optional, see `wants_frames`
        """Show a piece of a live answer."""

    @abstractmethod
    def note(self, code: str, message: str) -> None:
        """Say something that is no error and ends nothing."""

    @abstractmethod
    def close(self, ending: Ending, complaint: Complaint | None) -> None:
        """Show how it ended; the complaint itself is printed on stderr by the caller."""
