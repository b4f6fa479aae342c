"""What every backend gets from the coordinator, on the backend that has nothing of its own."""

import asyncio
import gc
import threading

import anyio
import pytest

from harness.session import SESSION_CREATED
from harness.session_persistence import (
    LeaseHolder,
    MemoryBackend,
    MemoryStorage,
    SessionAlreadyExistsError,
    SessionAlreadyOwnedError,
    SessionHandleClosedError,
    SessionNotFoundError,
    SessionOwnershipLostError,
    SessionPersistenceCorruptionError,
    encode_lines,
    paused_collector,
)
from harness.session_persistence.contract import (
    ContractStage,
    Process,
    a_header,
    a_log,
    run_turn,
)
from vendor_shims.cordis import AbortController, AbortSignal


class Memory(ContractStage):
    def __init__(self):
        self.storage = MemoryStorage()

    def make_backend(self):
        return MemoryBackend(self.storage)


@pytest.fixture
def stage() -> Memory:
    return Memory()


async def store(process: Process, session_id: str = "session-a", *, n_turns: int = 1):
    async with await process.persistence.create(a_header(session_id)) as handle:
        await handle.append(a_log(n_turns))


async def test_an_unbalanced_log_under_our_own_handle_is_not_loaded(stage: Memory):
    async with stage.process() as ours:
        async with await ours.persistence.create(a_header()) as handle:
            await handle.append(a_log(1, open_turn=True))
            with pytest.raises(SessionAlreadyOwnedError, match="this process"):
                await ours.persistence.load("session-a")
            seen = await ours.persistence.inspect("session-a")
            assert (seen.lease, seen.closers) == ("held-here", 3)
        assert (await ours.persistence.load("session-a")).closers == 3


async def test_a_reserved_session_has_a_header_and_nothing_else(stage: Memory):
    async with stage.process() as ours:
        async with await ours.persistence.create(a_header()):
            snapshot = await ours.persistence.stat("session-a")
            assert snapshot is not None
            assert (snapshot.header, snapshot.size_bytes) == (a_header(), None)
            async with await ours.persistence.open("session-a", "read") as reader:
                assert await reader.read() == ()
            assert await ours.persistence.read_from("session-a", 0) == ()
            with pytest.raises(SessionNotFoundError):
                await ours.persistence.load("session-a")
        assert await ours.persistence.stat("session-a") is None


async def test_a_handle_never_shows_a_shorter_log_than_before(stage: Memory):
    async with stage.process() as ours:
        await store(ours)
        async with await ours.persistence.open("session-a", "read") as reader:
            await reader.read()
            log = stage.storage.logs["session-a"]
            del log.events[-1]
            with pytest.raises(SessionPersistenceCorruptionError, match="had 12 events"):
                await reader.read()


async def test_a_log_that_vanishes_between_lease_and_read_is_lost(stage: Memory):
    async with stage.process() as ours:
        await store(ours)
        backend = ours.backend
        acquire = backend.acquire_lease

        async def acquire_and_lose(header):
            stage.storage.logs.clear()
            return await acquire(header)

        backend.acquire_lease = acquire_and_lose
        with pytest.raises(SessionOwnershipLostError, match="gone"):
            await ours.persistence.open("session-a", "write")
        assert not stage.storage.leases


async def test_a_memory_lease_that_was_released_writes_nothing(stage: Memory):
    backend = stage.make_backend()
    lease = await backend.acquire_lease(a_header())
    await lease.release()
    await lease.release()
    with pytest.raises(SessionOwnershipLostError):
        await backend.append_batch(lease, a_log())
    assert await backend.read_raw("session-a") is None


async def test_the_newest_logs_are_remembered(stage: Memory):
    async with stage.process() as ours:
        names = [f"session-{number}" for number in range(7)]
        for name in names:
            await store(ours, name)
        for name in names:
            await ours.persistence.inspect(name)
        n_loads = ours.backend.n_loads
        for name in names[-5:]:
            await ours.persistence.inspect(name)
        assert ours.backend.n_loads == n_loads
        await ours.persistence.inspect(names[0])
        assert ours.backend.n_loads == n_loads + 1


async def test_readers_of_one_log_wait_for_the_first_and_survive_its_end(stage: Memory):
    async with stage.process() as ours:
        await store(ours)
        load, gate = ours.backend.load_stored, anyio.Event()

        async def slow(session_id: str):
            await gate.wait()
            return await load(session_id)

        ours.backend.load_stored = slow
        controller = AbortController(AbortSignal)
        n_loads = ours.backend.n_loads
        seen: list[int] = []

        async def read(signal: AbortSignal | None):
            try:
                seen.append(len(await ours.persistence.read_from("session-a", 0, signal=signal)))
            except KeyError:
                seen.append(-1)

        async with anyio.create_task_group() as group:
            group.start_soon(read, controller.signal)
            for _ in range(3):
                group.start_soon(read, None)
            await anyio.wait_all_tasks_blocked()
            controller.abort(KeyError("no longer"))
            await anyio.wait_all_tasks_blocked()
            gate.set()
        assert seen == [-1, 12, 12, 12]
        assert ours.backend.n_loads == n_loads + 1


async def test_a_task_that_is_cancelled_while_it_appends_waits_for_the_end(stage: Memory):
    async with stage.process() as ours:
        handle = await ours.persistence.create(a_header())
        gate = ours.backend.gate = anyio.Event()
        task = ours.root.spawn(handle.append(a_log()))
        await ours.begun(1)
        task.cancel()
        await anyio.wait_all_tasks_blocked()
        assert not task.done()
        gate.set()
        await asyncio.wait([task])
        assert task.cancelled()
        ours.backend.gate = None
        assert await handle.read() == tuple(a_log())
        await handle.close()


async def test_closing_after_the_service_unloaded_is_harmless(stage: Memory):
    async with stage.process() as ours:
        handle = await ours.persistence.create(a_header())
        session = ours.live(header=handle.header)
        run_turn(session)
        persistence = ours.persistence
        await ours.unmount()
        assert tuple(stage.storage.logs["session-a"].events) == session.events
        await handle.close()
        with pytest.raises(SessionHandleClosedError):
            await handle.flush()
        assert persistence.locate(a_header()).kind == "memory"
        assert not stage.storage.leases


async def test_a_refused_session_is_forgotten_when_it_ends(stage: Memory):
    async with stage.process() as ours:
        handle = await ours.persistence.create(a_header(cwd="/elsewhere"))
        session = ours.live()
        run_turn(session)
        for _ in range(2):
            with pytest.raises(SessionAlreadyExistsError):
                await ours.flush(session)
        ours.dispose(session)
        assert [type(fact).__name__ for fact in ours.bus] == ["PersistenceDegraded"]
        await handle.close()
        assert not stage.storage.logs


async def test_a_log_that_vanishes_before_its_text_is_read_is_missing(stage: Memory):
    async with stage.process() as ours:
        await store(ours)

        async def read_raw(session_id: str):
            return None

        ours.backend.read_raw = read_raw
        with pytest.raises(SessionNotFoundError):
            await ours.persistence.read_raw("session-a")


async def test_a_veto_of_a_creation_leaves_nothing_to_store(stage: Memory):
    def veto(session):
        raise ValueError("not this one")

    async with stage.process() as ours:
        off = ours.root.on(SESSION_CREATED, veto)
        with pytest.raises(ValueError, match="not this one"):
            ours.live()
        off()
        await ours.persistence.flush()
        session = ours.live()
        run_turn(session)
        await ours.flush(session)
        assert tuple(stage.storage.logs["session-a"].events) == session.events


def test_the_collector_pauses_until_the_last_one_is_done():
    assert gc.isenabled()
    inside, leave = threading.Event(), threading.Event()

    def other():
        with paused_collector():
            inside.set()
            leave.wait(30)

    thread = threading.Thread(target=other)
    thread.start()
    inside.wait(30)
    with paused_collector():
        assert not gc.isenabled()
    assert not gc.isenabled()
    leave.set()
    thread.join()
    assert gc.isenabled()
    gc.disable()
    try:
        with paused_collector():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_a_holder_is_named_as_far_as_it_is_known():
    assert str(LeaseHolder()) == "an unknown process"
    assert str(LeaseHolder(pid=7)) == "pid 7"
    assert str(LeaseHolder(pid=7, host="box")) == "pid 7 on box"
    assert "held by an unknown process" in str(SessionAlreadyOwnedError("s"))


def test_encoding_nothing_gives_nothing():
    assert encode_lines([], pack_chunks=True, max_line_bytes=1) == b""


async def test_a_resume_waits_for_a_handle_that_is_closing(stage: Memory):
    async with stage.process() as ours:
        handle = await ours.persistence.create(a_header())
        session = ours.live(header=handle.header)
        gate = ours.backend.gate = anyio.Event()
        run_turn(session)
        ours.dispose(session)
        async with anyio.create_task_group() as group:
            group.start_soon(handle.close)
            await anyio.wait_all_tasks_blocked()
            asyncio.get_running_loop().call_soon(gate.set)
            async with await ours.persistence.prepare_resume(session.id) as preparation:
                assert preparation.events == session.events
