"""Check when buffered events are written, and what happens while they cannot be."""

# ruff: noqa: D102  # a test's name is its description

from typing import Any

import anyio
import pytest

from harness.session_persistence.contract.events import note, open_turn, run_turn
from harness.session_persistence.contract.rehearsed import disk_full
from harness.session_persistence.contract.stage import ContractStage, Process
from harness.session_persistence.events import PersistenceDegraded, PersistenceRecovered
from harness.session_persistence.writer import WriteBehind
from vendor_shims.cordis import Context, Service
from vendor_shims.timer import VirtualClock


class _Agent:
    """Stand where an agent stands, and remember why it was cancelled."""

    def __init__(self) -> None:
        self.causes: list[dict[str, Any]] = []

    def cancel(self, cause: dict[str, Any]) -> None:
        """See `Agent.cancel`."""
        self.causes.append(cause)


class _Agents(Service):
    """Stand where the agent registry stands."""

    key = "agents"

    def __init__(self, ctx: Context) -> None:
        super().__init__(ctx)
        self.agents = {"session-a": _Agent()}

    def get(self, session_id: str) -> _Agent | None:
        """See `AgentRegistry.get`."""
        return self.agents.get(session_id)


async def n_stored(process: Process, session_id: str) -> int:
    """Return how many events of a session are stored."""
    return len(await process.persistence.read_from(session_id, 0))


async def settled(process: Process, session_id: str, n_events: int) -> None:
    """Wait until that many events of a session are stored."""
    with anyio.fail_after(30):
        while await n_stored(process, session_id) < n_events:  # noqa: ASYNC110  # threads tell nobody
            await anyio.sleep(0.001)


class WriteBehindCases(ContractStage):
    """Hold the fixed window, the shared drain, and that a full disk loses nothing."""

    @pytest.mark.spec("05-21")
    async def test_one_event_is_written_at_the_end_of_its_window(self) -> None:
        clock = VirtualClock()
        async with self.process(clock=clock) as ours:
            session = ours.live()
            open_turn(session)
            await clock.advance(0.199)
            assert ours.backend.n_batches == 0
            await clock.advance(0.001)
            await settled(ours, session.id, 1)
            assert ours.backend.n_batches == 1

    @pytest.mark.spec("05-22")
    async def test_later_events_do_not_extend_the_window(self) -> None:
        clock = VirtualClock()
        async with self.process(clock=clock) as ours:
            session = ours.live()
            open_turn(session)
            for n_events in range(2, 21):
                await clock.advance(0.05)
                if n_events % 4 == 1:
                    await settled(ours, session.id, n_events - 1)
                note(session)
            await clock.advance(0.05)
            await settled(ours, session.id, 20)
            assert [len(batch) for batch in ours.backend.batches] == [4] * 5

    @pytest.mark.spec("05-23")
    async def test_events_during_a_slow_write_make_one_batch_after_it(self) -> None:
        clock = VirtualClock()
        async with self.process(clock=clock) as ours, self.process() as theirs:
            session = ours.live()
            open_turn(session)
            gate = ours.backend.gate = anyio.Event()
            await clock.advance(0.2)
            await ours.begun(1)
            for _ in range(10):
                note(session)
                await clock.advance(0.1)
            ours.backend.gate = None
            gate.set()
            await settled(ours, session.id, 11)
            assert [len(batch) for batch in ours.backend.batches] == [1, 10]
            assert await theirs.persistence.read_from(session.id, 0) == session.events

    @pytest.mark.spec("05-24")
    async def test_a_storage_that_recovers_has_everything_once_and_in_order(self) -> None:
        clock = VirtualClock()
        async with self.process(clock=clock) as ours, self.process() as theirs:
            session = ours.live()
            ours.backend.failures.extend([disk_full(), disk_full()])
            open_turn(session)
            for expected in (1, 2, 3):
                note(session)
                await clock.advance(0.2)
                await ours.begun(expected)
                await clock.advance(0)
            await settled(ours, session.id, 4)
            assert await theirs.persistence.read_from(session.id, 0) == session.events
            degraded, recovered = ours.bus
            assert isinstance(degraded, PersistenceDegraded)
            assert isinstance(degraded.error, OSError)
            assert (degraded.session_id, degraded.buffered) == (session.id, 2)
            assert recovered == PersistenceRecovered(session_id=session.id, written=4)

    @pytest.mark.spec("05-25")
    async def test_a_failure_is_not_retried_before_something_new_happens(self) -> None:
        clock = VirtualClock()
        async with self.process(clock=clock) as ours:
            session = ours.live()
            ours.backend.failures.extend([disk_full(), disk_full()])
            open_turn(session)
            await clock.advance(0.2)
            await ours.told(1)
            await clock.advance(3600)
            assert ours.backend.n_batches == 1
            with pytest.raises(OSError, match="No space"):
                await ours.flush(session)
            assert ours.backend.n_batches == 2
            await ours.flush(session)
            assert await ours.persistence.read_from(session.id, 0) == session.events
            assert len(ours.bus) == 2

    @pytest.mark.spec("05-26")
    async def test_a_flush_covers_what_is_appended_meanwhile(self) -> None:
        async with self.process() as ours:
            session = ours.live()
            open_turn(session)
            gate = ours.backend.gate = anyio.Event()
            async with anyio.create_task_group() as group:
                group.start_soon(ours.flush, session)
                await ours.begun(1)
                note(session)
                ours.backend.gate = None
                gate.set()
            assert [len(batch) for batch in ours.backend.batches] == [1, 1]
            assert await ours.persistence.read_from(session.id, 0) == session.events

    @pytest.mark.spec("05-27")
    async def test_flushes_share_one_drain(self) -> None:
        async with self.process() as ours:
            session = ours.live()
            run_turn(session)
            async with anyio.create_task_group() as group:
                for _ in range(10):
                    group.start_soon(ours.flush, session)
            assert ours.backend.n_batches == 1

    async def test_a_cancelled_flush_stops_waiting_and_the_write_goes_on(self) -> None:
        async with self.process() as ours:
            session = ours.live()
            run_turn(session)
            gate = ours.backend.gate = anyio.Event()
            with anyio.move_on_after(0.05) as scope:
                await ours.flush(session)
            assert scope.cancelled_caught
            ours.backend.gate = None
            gate.set()
            await ours.flush(session)
            assert ours.backend.n_batches == 1

    async def test_the_end_of_a_turn_is_written_without_waiting_for_the_window(self) -> None:
        clock = VirtualClock()
        async with self.process(clock=clock) as ours:
            session = ours.live()
            run_turn(session)
            await settled(ours, session.id, session.seq)
            assert clock.time() == 0

    @pytest.mark.spec("05-30")
    @pytest.mark.parametrize(
        "limits", [WriteBehind(max_buffered_events=10), WriteBehind(max_buffered_bytes=700)]
    )
    async def test_a_full_buffer_stops_the_agent_and_keeps_the_events(
        self, limits: WriteBehind
    ) -> None:
        async with self.process(write_behind=limits) as ours:
            agents = ours.root.plugin(_Agents)
            await ours.root.settle()
            session = ours.live()
            ours.backend.failing_ids.add(session.id)
            open_turn(session)
            with pytest.raises(OSError, match="No space"):
                await ours.flush(session)
            for _ in range(20):
                note(session)
            (agent,) = ours.root.get("agents").agents.values()
            assert agent.causes == [{"kind": "hook", "reason": "persistence stalled"}]
            ours.backend.failing_ids.clear()
            await ours.flush(session)
            assert await ours.persistence.read_from(session.id, 0) == session.events
            await agents.dispose()

    async def test_a_full_buffer_without_an_agent_only_waits(self) -> None:
        async with self.process(write_behind=WriteBehind(max_buffered_events=3)) as ours:
            session = ours.live()
            ours.backend.failures.append(disk_full())
            open_turn(session)
            with pytest.raises(OSError, match="No space"):
                await ours.flush(session)
            for _ in range(5):
                note(session)
            await ours.flush(session)
            assert await ours.persistence.read_from(session.id, 0) == session.events
