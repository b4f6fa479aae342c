"""Say who hears of the appends of a session, and keep what must wait until they have heard."""

from collections import deque
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from harness.session.event import SessionEvent
    from harness.session.session import Session


class Publisher(Protocol):
    """Tells others about appends of a live session; the store attaches one."""

    def validate(self, session: "Session", event: "SessionEvent") -> None:
        """Raise to veto an event that is about to be appended."""
        ...

    def publish(self, session: "Session", event: "SessionEvent") -> None:
        """Report an appended event; never raises."""
        ...

    def fail(self, session: "Session", error: Exception) -> None:
        """Report what a deferred callback raised; never raises."""
        ...


class Deferred:
    """The callbacks that wait for the end of a publication, oldest first.

    Invariants: `n_holds` is above zero while they may not run: in a one-shot turn, and while one
    of them runs; the queue is empty whenever nothing is published and nothing holds it.
    """

    __slots__ = ("_session", "n_holds", "queue")

    def __init__(self, session: "Session") -> None:
        """Serve `session`."""
        self._session = session
        self.n_holds = 0
        self.queue: deque[tuple[Callable[[], object], Publisher]] = deque()

    def add(self, callback: Callable[[], object], publisher: Publisher) -> None:
        """Let a callback wait; `publisher` hears of its error."""
        self.queue.append((callback, publisher))

    @contextmanager
    def held(self) -> Generator[None]:
        """Let callbacks wait for the end of the block, which runs them."""
        self.n_holds += 1
        try:
            yield
        finally:
            self.n_holds -= 1
            self.run()

    def run(self) -> None:
        """Call what waits, and what is deferred meanwhile, unless something holds it."""
        if self.n_holds:
            return
        self.n_holds += 1
        try:
            while self.queue:
                callback, publisher = self.queue.popleft()
                try:
                    callback()
                except Exception as error:  # noqa: BLE001 - reported: the append it waited for stands
                    publisher.fail(self._session, error)
        finally:
            self.n_holds -= 1
