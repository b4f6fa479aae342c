"""Follow the live sessions of this process, so that storing them takes no call."""

from harness.session import Session, SessionEvent
from harness.session_persistence.errors import SessionAlreadyExistsError
from harness.session_persistence.preparation import SessionPreparation
from harness.session_persistence.writer import SessionWriter
from harness.session_persistence.writers import Writers


class LiveSessions:
    """Listen to the session store and hand events to writers.

    Invariants: `_followed` maps a session to the writer whose `session` it is; a session is
    followed, refused, or unknown here, and a refused one is never stored.
    """

    def __init__(self, writers: Writers) -> None:
        self._writers = writers
        self._followed: dict[Session, SessionWriter] = {}
        self._preparations: dict[str, SessionPreparation] = {}
        self._refused: dict[Session, SessionAlreadyExistsError] = {}

    def expect(self, preparation: SessionPreparation) -> None:
        """Wait for the session that takes a preparation over."""
        self._preparations[preparation.header.id] = preparation

    def leave(self, writer: SessionWriter) -> None:
        """Stop following whatever a writer stores, because its handle closes."""
        self._preparations.pop(writer.header.id, None)
        if writer.session is not None:
            del self._followed[writer.session]

    def created(self, session: Session) -> None:
        """Begin to follow a session; announcing it again changes nothing."""
        if session in self._followed:
            return
        writer = self._writers.get(session.id)
        if writer is None:
            writer = self._writers.reserve(session.header)
        elif writer.session is not None or not writer.claimed:
            self._refuse(session, "another session of this process is stored under its id")
            return
        elif writer.header.cwd != session.header.cwd:
            self._refuse(session, f"it belongs to the directory {writer.header.cwd!r}")
            return
        preparation = self._preparations.pop(session.id, None)
        if preparation is not None:
            preparation.consumed = True
        self._followed[session] = writer
        writer.attach(session, known=None if preparation is None else preparation.events)

    def appended(self, session: Session, event: SessionEvent) -> None:
        """Buffer one event. Runs once per delta."""
        writer = self._followed.get(session)
        if writer is not None:
            writer.admit(event)

    async def flush(self, session: Session) -> None:
        """Return once everything of a session is durable.

        Raises:
            SessionAlreadyExistsError: the session is refused: its id belongs to another log.
            Exception: what made the write fail.
        """
        if session in self._refused:
            raise self._refused[session]
        if session in self._followed:
            await self._followed[session].flush()

    def disposed(self, session: Session) -> None:
        """Store what is left of a session; a handle that claims it gives it back itself."""
        self._refused.pop(session, None)
        writer = self._followed.pop(session, None)
        if writer is None:
            return
        writer.detach()
        if not writer.claimed:
            self._writers.retire_soon(writer)

    def _refuse(self, session: Session, detail: str) -> None:
        error = SessionAlreadyExistsError(session.id, detail)
        self._refused[session] = error
        self._writers.refused(session.id, error)
