"""Check that a crash loses nothing that was stored, and that its turn is closed once."""

# ruff: noqa: D102  # a test's name is its description

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import anyio
import pytest
from anyio.lowlevel import checkpoint

from harness.session import Session, SessionEvent, interrupted_turn_closers
from harness.session_persistence.contract.events import (
    a_header,
    a_log,
    begin_turn,
    note,
    open_turn,
    run_turn,
)
from harness.session_persistence.contract.rehearsed import disk_full
from harness.session_persistence.contract.stage import ContractStage, Process
from harness.session_persistence.errors import (
    SessionAlreadyOwnedError,
    SessionBusyError,
    SessionPersistenceCorruptionError,
)
from harness.wire import FrozenDict
from vendor_shims.cordis import AbortController, AbortSignal


class ChangedMindError(Exception):
    """Stand for a reason to give up."""


async def prepare_and_release(process: Process, signal: AbortSignal) -> None:
    """Prepare a session until the signal fires, and give back what was prepared."""
    with suppress(ChangedMindError):
        preparation = await process.persistence.prepare_resume("session-a", signal=signal)
        await preparation.release()


async def store(process: Process, events: list[SessionEvent]) -> None:
    """Store events as a session that nobody has open."""
    async with await process.persistence.create(a_header()) as handle:
        await handle.append(events)


def built(build: Callable[[Session], object]) -> list[SessionEvent]:
    """Return the events that `build` appends to a new session."""
    session = Session("session-maker", now_ms=lambda: 7000)
    build(session)
    return list(session.events)


def inside_injection(session: Session) -> None:
    """Stop after the context of an injection turn."""
    session.append("turn/start", {"turn": 1, "trigger": {"kind": "injection"}})
    message = {
        "id": "i1",
        "role": "user",
        "content": [{"type": "text", "text": "news"}],
        "source": {"kind": "plugin", "plugin": "watch"},
    }
    session.append("context/message", message, surface_op="append")


def inside_compaction(session: Session) -> None:
    """Stop between a compaction's summary and its replacement."""
    run_turn(session)
    session.append("turn/start", {"turn": 2, "trigger": {"kind": "maintenance", "task": "compact"}})
    session.append("compaction/start", {"compactionId": "k1", "turn": 2})
    session.append("compaction/summary", {"compactionId": "k1", "summary": []})


def inside_step(session: Session) -> None:
    """Stop in a step without a message."""
    turn = open_turn(session)
    session.append("step/start", {"turn": turn, "step": 1})


def with_three_calls(session: Session) -> None:
    """Stop with one call answered, one started, and one not begun."""
    begin_turn(session, n_calls=3)
    for call in ("c1-0", "c1-1"):
        data = {"turn": 1, "step": 1, "callId": call, "name": "tick", "arguments": "{}"}
        session.append("tool/call", data)
    block: dict[str, Any] = {"type": "tool-result", "toolCallId": "c1-0", "content": []}
    source = {"kind": "tool", "callId": "c1-0"}
    message = {"id": "r", "role": "user", "content": [block], "source": source}
    session.append("tool/result", {"turn": 1, "step": 1, "message": message}, surface_op="append")


class CrashCases(ContractStage):
    """Hold that recovery is exact, committed once, and never guesses."""

    @pytest.mark.spec("05-14", "05-15")
    async def test_inspect_shows_the_repair_and_load_commits_it_once(self) -> None:
        events = a_log(1, open_turn=True)
        async with self.process() as ours, self.process() as theirs:
            await store(ours, events)
            before = self.fingerprint()
            seen = await theirs.persistence.inspect("session-a")
            assert seen.events[: len(events)] == tuple(events)
            assert [e.type for e in seen.events[len(events) :]] == [
                "tool/result",
                "step/end",
                "turn/end",
            ]
            assert (seen.closers, seen.lease) == (3, "free")
            assert self.fingerprint() == before
            loaded = await ours.persistence.load("session-a")
            assert (loaded.events, loaded.closers) == (seen.events, 3)
            again = await theirs.persistence.load("session-a")
            assert (again.events, again.closers) == (seen.events, 0)
            assert await theirs.persistence.read_from("session-a", 0) == seen.events

    @pytest.mark.spec("05-14")
    async def test_a_log_that_runs_elsewhere_is_shown_as_such_and_not_repaired(self) -> None:
        async with self.process() as ours, self.process() as theirs:
            session = ours.live()
            run_turn(session)
            open_turn(session)
            await ours.flush(session)
            seen = await theirs.persistence.inspect(session.id)
            assert (seen.lease, seen.closers) == ("held-elsewhere", 1)
            with pytest.raises(SessionAlreadyOwnedError):
                await theirs.persistence.load(session.id)
            session.append("turn/end", {"turn": 2, "reason": {"kind": "completed"}})
            await ours.flush(session)
            assert (await theirs.persistence.load(session.id)).events == session.events

    async def test_a_torn_tail_is_dropped_and_the_turn_closed(self) -> None:
        events = a_log(1, open_turn=True)
        async with self.process() as ours, self.process() as theirs:
            await store(ours, events)
            self.tear("session-a")
            torn = self.fingerprint()
            assert await theirs.persistence.read_from("session-a", 0) == tuple(events)
            seen = await theirs.persistence.inspect("session-a")
            assert self.fingerprint() == torn
            loaded = await ours.persistence.load("session-a")
            assert loaded.events == seen.events
            assert (await theirs.persistence.inspect("session-a")).closers == 0

    async def test_a_torn_tail_after_a_whole_turn_is_dropped_without_closers(self) -> None:
        async with self.process() as ours:
            await store(ours, a_log(2))
            clean = self.fingerprint()
            self.tear("session-a")
            assert self.fingerprint() != clean
            loaded = await ours.persistence.load("session-a")
            assert (loaded.events, loaded.closers) == (tuple(a_log(2)), 0)

    async def test_the_first_append_drops_a_torn_tail(self) -> None:
        events = a_log(2)
        async with self.process() as ours:
            await store(ours, events[:11])
            self.tear("session-a")
            async with await ours.persistence.open("session-a", "write") as handle:
                await handle.append(events[11:])
            assert (await ours.persistence.load("session-a")).events == tuple(events)

    @pytest.mark.spec("05-61", "05-62", "05-63", "05-64", "05-65", "05-66", "05-67")
    @pytest.mark.parametrize(
        ("build", "closed_by"),
        [
            (open_turn, ["turn/end"]),
            (inside_step, ["step/end", "turn/end"]),
            (with_three_calls, ["tool/result", "tool/result", "step/end", "turn/end"]),
            (inside_injection, ["turn/end"]),
            (inside_compaction, ["turn/end"]),
        ],
    )
    async def test_every_kind_of_interruption_is_closed(
        self, build: Callable[[Session], object], closed_by: list[str]
    ) -> None:
        events = built(build)
        async with self.process() as ours:
            await store(ours, events)
            loaded = await ours.persistence.load("session-a")
            closers = loaded.events[len(events) :]
            assert loaded.events[: len(events)] == tuple(events)
            assert [event.type for event in closers] == closed_by
            assert [event.seq for event in loaded.events] == list(range(len(loaded.events)))
            assert {event.time for event in closers} == {events[-1].time}
            assert list(closers) == interrupted_turn_closers(events)
            codes = [e.data["error"]["code"] for e in closers if e.type == "tool/result"]
            assert codes == ["TOOL_OUTCOME_UNKNOWN", "TOOL_NOT_STARTED"][: len(codes)]
            revived = Session.from_restore("session-a", loaded.events, loaded.header)
            assert revived.open_turn is None
            assert revived.derive_messages()[: len(events)] or build in (open_turn, inside_step)

    @pytest.mark.spec("05-16")
    async def test_a_released_preparation_leaves_a_repaired_free_log(self) -> None:
        async with self.process() as ours, self.process() as theirs:
            await store(ours, a_log(1, open_turn=True))
            preparation = await ours.persistence.prepare_resume("session-a")
            assert preparation.closers == 3
            with pytest.raises(SessionAlreadyOwnedError):
                await theirs.persistence.prepare_resume("session-a")
            with pytest.raises(SessionAlreadyOwnedError):
                await ours.persistence.append("session-a", [])
            with pytest.raises(SessionBusyError):
                await preparation.handle.append([])
            await preparation.release()
            await preparation.release()
            async with await theirs.persistence.prepare_resume("session-a") as again:
                assert (again.events, again.closers) == (preparation.events, 0)
                assert again.revision == preparation.revision

    async def test_a_resumed_session_goes_on_where_the_log_ends(self) -> None:
        async with self.process() as ours, self.process() as theirs:
            await store(ours, a_log(1, open_turn=True))
            n_loads = theirs.backend.n_loads
            preparation = await theirs.persistence.prepare_resume("session-a")
            async with preparation:
                session = theirs.live(seed=preparation.events, header=preparation.header)
            assert preparation.consumed
            run_turn(session)
            await theirs.flush(session)
            assert theirs.backend.n_loads == n_loads + 1
            theirs.dispose(session)
            await preparation.handle.close()
            loaded = await ours.persistence.load("session-a")
            assert loaded.events == session.events
            assert [e.type for e in loaded.events].count("session/end-seed") == 1

    @pytest.mark.spec("05-17")
    async def test_an_aborted_preparation_leaves_nothing_behind(self) -> None:
        async with self.process() as ours, self.process() as theirs:
            await store(ours, a_log(1))
            for n_turns in range(12):
                controller = AbortController(AbortSignal)
                async with anyio.create_task_group() as group:
                    group.start_soon(prepare_and_release, ours, controller.signal)
                    for _ in range(n_turns):
                        await checkpoint()
                    controller.abort(ChangedMindError())
                async with await theirs.persistence.open("session-a", "write"):
                    pass

    async def test_a_preparation_waits_for_a_session_that_still_drains(self) -> None:
        async with self.process() as ours:
            session = ours.live()
            run_turn(session)
            gate = ours.backend.gate = anyio.Event()
            ours.dispose(session)
            async with anyio.create_task_group() as group:

                async def resume() -> None:
                    async with await ours.persistence.prepare_resume(session.id) as preparation:
                        assert preparation.events == session.events

                group.start_soon(resume)
                await checkpoint()
                ours.backend.gate = None
                gate.set()

    @pytest.mark.spec("05-68")
    async def test_a_repair_that_fails_is_done_by_the_next_one(self) -> None:
        events = a_log(1, open_turn=True)
        async with self.process() as ours:
            await store(ours, events)
            self.tear("session-a")
            expected = (*events, *interrupted_turn_closers(events))
            ours.backend.failures.append(disk_full())
            with pytest.raises(OSError, match="No space"):
                await ours.persistence.load("session-a")
            ours.backend.failures.append(disk_full())
            with pytest.raises(OSError, match="No space"):
                await ours.persistence.prepare_resume("session-a")
            assert (await ours.persistence.load("session-a")).events == expected
            assert (await ours.persistence.load("session-a")).closers == 0

    async def test_an_event_without_the_shape_of_its_type_is_reported(self) -> None:
        events = a_log(0, open_turn=True)
        events[-1] = events[-1]._replace(data=FrozenDict(turn=1))
        async with self.process() as ours:
            await store(ours, events)
            before = self.fingerprint()
            with pytest.raises(SessionPersistenceCorruptionError, match="shape"):
                await ours.persistence.load("session-a")
            assert self.fingerprint() == before

    async def test_what_was_acknowledged_before_a_crash_is_there_afterwards(self) -> None:
        async with self.process() as ours, self.process() as theirs:
            session = ours.live()
            run_turn(session)
            await ours.flush(session)
            n_acknowledged = session.seq
            begin_turn(session)
            note(session)
            await ours.crash()
            loaded = await theirs.persistence.load(session.id)
            assert loaded.events[:n_acknowledged] == session.events[:n_acknowledged]
            assert loaded.events[-1].type == "turn/end"
