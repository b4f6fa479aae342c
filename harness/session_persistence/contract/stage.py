"""Run persistence as several processes would: each with a tree and a backend of its own."""

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Any

import anyio
from attrs import define, field, frozen

from harness.session import Session, SessionEvent, SessionHeader, SessionStore
from harness.session_persistence.backend import PersistenceBackend
from harness.session_persistence.contract.events import CWD
from harness.session_persistence.contract.rehearsed import RehearsedBackend
from harness.session_persistence.coordinator import PersistenceCoordinator
from harness.session_persistence.events import PERSISTENCE_DEGRADED, PERSISTENCE_RECOVERED
from harness.session_persistence.writer import WriteBehind
from vendor_shims.cordis import Clock, Context, Fiber


@frozen(kw_only=True)
class _Setup:
    backend: RehearsedBackend
    write_behind: WriteBehind


class _Persistence(PersistenceCoordinator):
    """Mount the coordinator over whatever backend is on stage."""

    def __init__(self, ctx: Context, config: _Setup) -> None:
        super().__init__(ctx, config.backend, write_behind=config.write_behind)


@define
class Process:
    """One process on stage. `bus` records what persistence told, oldest first."""

    root: Context
    backend: RehearsedBackend
    setup: _Setup
    bus: list[Any] = field(factory=list)
    fiber: Fiber | None = None
    _detach: dict[Session, Callable[[], None]] = field(factory=dict)

    @property
    def persistence(self) -> PersistenceCoordinator:
        """Return the service."""
        return self.root[PersistenceCoordinator]

    @property
    def sessions(self) -> SessionStore:
        """Return the store of live sessions."""
        return self.root[SessionStore]

    async def mount(self) -> None:
        """Mount persistence."""
        self.fiber = self.root.plugin(_Persistence, self.setup)
        await self.root.settle()

    async def unmount(self) -> None:
        """Unload persistence and leave everything else running."""
        assert self.fiber is not None
        await self.fiber.dispose()

    def live(
        self,
        session_id: str = "session-a",
        seed: list[SessionEvent] | tuple[SessionEvent, ...] | None = None,
        *,
        header: SessionHeader | None = None,
        **meta: Any,
    ) -> Session:
        """Make a live session, as the agent factory does."""
        fields = {"cwd": CWD} | meta
        session = self.sessions.prepare(
            session_id, seed=seed, header=header, meta=None if header else fields
        )
        self._detach[session] = self.sessions.enter(session)
        self.sessions.announce(session)
        return session

    def dispose(self, session: Session) -> None:
        """Take a live session off the store."""
        self._detach.pop(session)()

    async def flush(self, session: Session) -> None:
        """Wait until a live session is durable."""
        assert await self.sessions.flush(session)

    async def begun(self, n_batches: int) -> None:
        """Wait until that many writes were begun."""
        with anyio.fail_after(30):
            while self.backend.n_batches < n_batches:  # noqa: ASYNC110  # threads tell nobody
                await anyio.sleep(0.001)

    async def told(self, n_facts: int) -> None:
        """Wait until persistence has told that much on the bus."""
        with anyio.fail_after(30):
            while len(self.bus) < n_facts:  # noqa: ASYNC110  # threads tell nobody
                await anyio.sleep(0.001)

    async def crash(self) -> None:
        """End the process without a word."""
        await self.backend.kill()


class ContractStage:
    """Say where the sessions of one test are stored; a subclass overrides all three."""

    def make_backend(self) -> PersistenceBackend:
        """Return a new backend over the storage of this test."""
        raise NotImplementedError

    def fingerprint(self) -> object:
        """Return something that is equal exactly while the stored bytes are."""
        raise NotImplementedError

    def tear(self, session_id: str) -> None:
        """Leave half a record at the end of a stored log."""
        raise NotImplementedError

    @asynccontextmanager
    async def process(
        self, *, clock: Clock | None = None, write_behind: WriteBehind | None = None
    ) -> AsyncGenerator[Process]:
        """Run a process with a session store and persistence mounted."""
        backend = RehearsedBackend(self.make_backend())
        setup = _Setup(backend=backend, write_behind=write_behind or WriteBehind())
        async with Context(clock=clock) as root:
            process = Process(root=root, backend=backend, setup=setup)
            root.on(PERSISTENCE_DEGRADED, process.bus.append)
            root.on(PERSISTENCE_RECOVERED, process.bus.append)
            root.plugin(SessionStore)
            await process.mount()
            yield process
