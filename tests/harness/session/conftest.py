"""Give session tests a writer of legal logs, and a store on a kernel that must end empty."""

from __future__ import annotations

from collections.abc import AsyncIterator

import attrs
import pytest

from harness.session import SESSION_DISPOSED, SESSION_EVENT, Session, SessionEvent, SessionStore
from harness.session.testing import LogWriter
from vendor_shims.cordis import Context
from vendor_shims.testing import Kernel, kernel


@attrs.define
class Live:
    """A mounted store, and what its listeners heard."""

    kernel: Kernel
    store: SessionStore
    heard: list[SessionEvent] = attrs.field(factory=list[SessionEvent])
    disposed: list[str] = attrs.field(factory=list[str])

    @property
    def root(self) -> Context:
        return self.kernel.root

    def log(self, session_id: str | None = None) -> LogWriter:
        """Return a writer into a new session of the store."""
        return LogWriter(self.store.create(session_id))

    def errors(self) -> list[str]:
        return self.kernel.logged()


@pytest.fixture
def log() -> LogWriter:
    return LogWriter()


@pytest.fixture
async def live() -> AsyncIterator[Live]:
    async with kernel() as made:
        made.root.plugin(SessionStore)
        await made.settle()
        live = Live(made, made.root.require("sessions"))

        def hear(_session: Session, event: SessionEvent) -> None:
            live.heard.append(event)

        made.root.on(SESSION_EVENT, hear)
        made.root.on(SESSION_DISPOSED, lambda session: live.disposed.append(session.id))
        yield live
