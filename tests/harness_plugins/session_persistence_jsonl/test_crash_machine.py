"""Live sessions under crashes, power failures, full disks and reloads, in any order."""

import asyncio
import contextlib
import errno
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)

from harness.session import Session, SessionEvent, SessionStore, interrupted_turn_closers
from harness.session_persistence import PersistenceCoordinator, SessionPreparation
from harness.session_persistence.contract import a_header
from harness_plugins.session_persistence_jsonl import (
    JsonlBackend,
    JsonlConfig,
    JsonlPersistence,
    OsLogFiles,
)
from vendor_shims.cordis import Context, Fiber


class MortalFiles(OsLogFiles):
    """Real files of a process that can die, on a disk that can be full and lose power."""

    def __init__(self):
        self.dead = False
        self.full = False
        self.fds: set[int] = set()
        self.synced: dict[int, int] = {}

    def write(self, fd: int, data: memoryview) -> int:
        self._check()
        if self.full:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return super().write(fd, data)

    def truncate(self, fd: int, length: int) -> None:
        self._check()
        super().truncate(fd, length)

    def fsync(self, fd: int) -> None:
        self._check()
        state = os.fstat(fd)
        self.synced[state.st_ino] = state.st_size

    def sync_directory(self, path: str) -> None:
        self._check()

    def _check(self):
        if self.dead:
            raise OSError(errno.ESRCH, "the process has ended")


def next_step(session: Session) -> int:
    types = [event.type for event in session.events]
    return types[len(types) - types[::-1].index("turn/start") :].count("step/start") + 1


class Life(RuleBasedStateMachine):
    """One session, written by one process after another.

    `written` is everything any life of the session appended, `durable` how much of it must be
    there, and `closed` how the last recovery ended the log.
    """

    @initialize(fsync=st.sampled_from(["batch", "checkpoint"]), pack=st.booleans())
    def begin(self, fsync: str, pack: bool):
        self.runner = asyncio.Runner()
        self.root = Path(tempfile.mkdtemp())
        self.config = {"root": str(self.root), "fsync": fsync, "packChunks": pack}
        self.context: Context | None = None
        self.session: Session | None = None
        self.before: tuple[SessionEvent, ...] = ()
        self.durable = 0
        self.runner.run(self._start())

    async def _start(self):
        self.files = files = MortalFiles()

        class Persistence(JsonlPersistence):
            def __init__(self, ctx: Context, config: JsonlConfig):
                super().__init__(ctx, config, files=files)

        self.plugin = Persistence
        self.context = Context()
        self.context.plugin(SessionStore)
        self.fiber: Fiber = self.context.plugin(Persistence, self.config)
        await self.context.settle()
        self.sessions = self.context[SessionStore]
        persistence = self.context[PersistenceCoordinator]
        self.preparation: SessionPreparation | None = None
        seed = None
        if await persistence.stat("session-a") is not None:
            self.preparation = await persistence.prepare_resume("session-a")
            self._check_recovered(self.preparation.events)
            seed = self.preparation.events
            self.durable = len(seed)
        else:
            assert self.durable == 0
        self.session = self.sessions.prepare(seed=seed, header=a_header())
        self.detach = self.sessions.enter(self.session)
        self.sessions.announce(self.session)

    def _check_recovered(self, events: tuple[SessionEvent, ...]):
        possible = (
            (*self.before[:n], *interrupted_turn_closers(self.before[:n]))
            for n in range(self.durable, len(self.before) + 1)
        )
        assert events in possible

    def _die(self):
        """End the process: nothing it does from now on reaches the disk."""
        assert self.session is not None
        assert self.context is not None
        self.before = self.session.events
        self.files.dead = True

        async def end():
            with contextlib.suppress(Exception):
                assert self.context is not None
                await self.context.close()

        self.runner.run(end())

    @rule(n_deltas=st.integers(0, 5))
    def work(self, n_deltas: int):
        """Append the next few events of a turn."""

        async def work():
            session = self.session
            assert session is not None
            if session.open_turn is None:
                turn = {"turn": session.last_turn + 1, "trigger": {"kind": "message"}}
                session.append("turn/start", turn)
            turn = session.open_turn
            if session.open_step is None:
                session.append("step/start", {"turn": turn, "step": next_step(session)})
            for number in range(n_deltas):
                chunk = {"type": "text-delta", "index": 0, "text": f"{number}\n"}
                data = {"turn": turn, "step": session.open_step, "chunk": chunk}
                session.append("assistant/chunk", data)

        self.runner.run(work())

    @rule()
    def finish(self):
        """End the open step and turn."""

        async def finish():
            session = self.session
            assert session is not None
            turn = session.open_turn
            if session.open_step is not None:
                session.append("step/end", {"turn": turn, "step": session.open_step})
            if turn is not None:
                session.append("turn/end", {"turn": turn, "reason": {"kind": "completed"}})

        self.runner.run(finish())

    @rule()
    def flush(self):
        """Wait until everything is acknowledged, or hear that the disk is full."""

        async def flush():
            assert self.session is not None
            try:
                await self.sessions.flush(self.session)
            except OSError:
                assert self.files.full
            else:
                self.durable = self.session.seq if await self._exists() else 0

        self.runner.run(flush())

    async def _exists(self) -> bool:
        return (
            await JsonlBackend(JsonlConfig(root=str(self.root))).snapshot("session-a") is not None
        )

    @rule(full=st.booleans())
    def fill_or_empty_the_disk(self, full: bool):
        self.files.full = full

    @rule()
    def let_time_pass(self):
        """Give background writes a chance."""
        self.runner.run(asyncio.sleep(0.01))

    @precondition(lambda self: not self.files.full)
    @rule()
    def reload(self):
        """Unload and mount the plugin under the running session."""

        async def reload():
            assert self.context is not None
            await self.fiber.dispose()
            self.fiber = self.context.plugin(self.plugin, self.config)
            await self.context.settle()

        self.runner.run(reload())

    @rule()
    def crash(self):
        self._die()
        self.runner.run(self._start())

    @rule(keep=st.floats(0, 1))
    def power_failure(self, keep: float):
        self._die()
        for path in self.root.glob("*/*/session.v1000.jsonl"):
            state = path.stat()
            synced = self.files.synced.get(state.st_ino, 0)
            os.truncate(path, synced + int((state.st_size - synced) * keep))
        self.runner.run(self._start())

    @precondition(lambda self: not self.files.full)
    @rule()
    def stop_in_order(self):
        async def stop():
            assert self.session is not None
            assert self.context is not None
            self.detach()
            if self.preparation is not None:
                await self.preparation.handle.close()
            await self.context.close()
            self.before = self.session.events
            self.durable = self.session.seq if await self._exists() else 0
            await self._start()

        self.runner.run(stop())

    @invariant()
    def others_see_a_prefix(self):
        if self.session is None:
            return

        async def look() -> Any:
            return await JsonlBackend(JsonlConfig(root=str(self.root))).load_stored("session-a")

        found = self.runner.run(look())
        events = () if found is None else found.events
        assert events == self.session.events[: len(events)]
        assert len(events) >= self.durable

    def teardown(self):
        if self.context is not None:
            self._die()
            shutil.rmtree(self.root)
        self.runner.close()


TestLife = Life.TestCase


def test_what_a_resume_hands_out_survives_a_power_failure():
    life = Life()
    life.begin("checkpoint", pack=True)
    life.work(3)
    life.finish()
    life.let_time_pass()
    life.crash()
    life.power_failure(0.0)
    life.teardown()
