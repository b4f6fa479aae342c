"""Check who may write a session, and that claims end."""

# ruff: noqa: D102  # a test's name is its description

import anyio
import pytest
from anyio.lowlevel import checkpoint

from harness.session_persistence.contract.events import (
    a_header,
    a_log,
    open_turn,
    run_turn,
)
from harness.session_persistence.contract.rehearsed import disk_full
from harness.session_persistence.contract.stage import ContractStage
from harness.session_persistence.errors import (
    SessionAlreadyOwnedError,
    SessionBusyError,
    SessionHandleClosedError,
    SessionNotFoundError,
    SessionReadOnlyError,
)
from harness.session_persistence.handle import SessionHandle


class ClaimCases(ContractStage):
    """Hold that a session has one writer at a time, in this process and between processes."""

    @pytest.mark.spec("05-8")
    async def test_handles_refuse_what_they_cannot_do(self) -> None:
        async with self.process() as ours:
            writer = await ours.persistence.create(a_header())
            await writer.append(a_log())
            assert (writer.access, writer.id) == ("write", "session-a")
            reader = await ours.persistence.open("session-a", "read")
            assert reader.access == "read"
            assert await reader.read(2, 3) == tuple(a_log()[2:5])
            for refused in (lambda: reader.append([]), reader.flush):
                with pytest.raises(SessionReadOnlyError):
                    await refused()
            for handle in (reader, writer):
                await handle.close()
                await handle.close()
                for refused in (handle.read, handle.flush):
                    with pytest.raises(SessionHandleClosedError):
                        await refused()

    @pytest.mark.spec("05-9")
    async def test_a_second_writer_of_one_process_is_refused(self) -> None:
        async with self.process() as ours:
            handle = await ours.persistence.create(a_header())
            await handle.append(a_log())
            for refused in (
                lambda: ours.persistence.open("session-a", "write"),
                lambda: ours.persistence.prepare_resume("session-a"),
                lambda: ours.persistence.append("session-a", []),
            ):
                with pytest.raises(SessionAlreadyOwnedError, match="this process"):
                    await refused()
            await handle.close()
            async with await ours.persistence.open("session-a", "write") as handle:
                assert len(await handle.read()) == len(a_log())

    async def test_of_writers_that_open_at_once_one_wins(self) -> None:
        async with self.process() as ours:
            await (await ours.persistence.create(a_header())).flush()
            await ours.unmount()
            await ours.mount()
            won: list[SessionHandle] = []
            lost: list[SessionAlreadyOwnedError] = []

            async def attempt() -> None:
                try:
                    won.append(await ours.persistence.open("session-a", "write"))
                except SessionAlreadyOwnedError as error:
                    lost.append(error)

            async with anyio.create_task_group() as group:
                for _ in range(4):
                    group.start_soon(attempt)
            assert (len(won), len(lost)) == (1, 3)
            await won[0].close()

    @pytest.mark.spec("05-10")
    async def test_a_second_process_is_refused_until_the_first_one_dies(self) -> None:
        async with self.process() as ours, self.process() as theirs:
            handle = await ours.persistence.create(a_header())
            await handle.append(a_log())
            with pytest.raises(SessionAlreadyOwnedError):
                await theirs.persistence.open("session-a", "write")
            await ours.crash()
            async with await theirs.persistence.open("session-a", "write") as taken:
                assert await taken.read() == tuple(a_log())

    @pytest.mark.spec("05-11")
    async def test_a_reader_beside_a_writer_sees_growing_prefixes(self) -> None:
        events = a_log(30)
        async with self.process() as ours, self.process() as theirs:
            writer = await ours.persistence.create(a_header())
            await writer.flush()
            reader = await theirs.persistence.open("session-a", "read")
            seen: list[int] = []

            async def read() -> None:
                while not seen or seen[-1] < len(events):
                    prefix = await reader.read()
                    assert prefix == tuple(events[: len(prefix)])
                    seen.append(len(prefix))

            async with anyio.create_task_group() as group:
                group.start_soon(read)
                for at in range(0, len(events), 7):
                    await writer.append(events[at : at + 7])
            assert seen == sorted(seen)
            await reader.close()
            await writer.close()

    @pytest.mark.spec("05-13")
    async def test_a_live_session_is_loaded_between_its_turns_only(self) -> None:
        async with self.process() as ours:
            session = ours.live()
            with pytest.raises(SessionNotFoundError):
                await ours.persistence.load(session.id)
            run_turn(session)
            stored = await ours.persistence.load(session.id)
            assert stored.events == session.events
            assert (stored.lease, stored.closers) == ("held-here", 0)
            open_turn(session)
            with pytest.raises(SessionBusyError):
                await ours.persistence.load(session.id)
            seen = await ours.persistence.inspect(session.id)
            assert (seen.lease, seen.closers) == ("held-here", 1)

    async def test_a_turn_that_begins_while_a_load_flushes_is_seen(self) -> None:
        async with self.process() as ours:
            session = ours.live()
            run_turn(session)
            ours.backend.gate = anyio.Event()
            async with anyio.create_task_group() as group:

                async def load() -> None:
                    with pytest.raises(SessionBusyError):
                        await ours.persistence.load(session.id)

                group.start_soon(load)
                await checkpoint()
                open_turn(session)
                ours.backend.gate.set()
            ours.backend.gate = None

    async def test_append_adopts_a_session_that_nobody_has_open(self) -> None:
        events = a_log(2)
        async with self.process() as ours:
            async with await ours.persistence.create(a_header()) as handle:
                await handle.append(events[:11])
            await ours.persistence.append("session-a", events[11:])
            assert (await ours.persistence.load("session-a")).events == tuple(events)
            async with await ours.persistence.open("session-a", "write"):
                pass

    async def test_a_handle_frees_its_claim_also_when_the_last_write_fails(self) -> None:
        async with self.process() as ours:
            handle = await ours.persistence.create(a_header())
            session = ours.live(header=handle.header)
            run_turn(session)
            ours.backend.failing_ids.add(session.id)
            ours.dispose(session)
            with pytest.raises(OSError, match="No space"):
                await handle.close()
            ours.backend.failing_ids.clear()
            await (await ours.persistence.create(a_header())).close()

    async def test_a_failed_append_leaves_the_log_as_it_was(self) -> None:
        events = a_log()
        async with self.process() as ours:
            handle = await ours.persistence.create(a_header())
            await handle.append(events[:3])
            before = self.fingerprint()
            ours.backend.failures.append(disk_full())
            with pytest.raises(OSError, match="No space"):
                await handle.append(events[3:])
            assert self.fingerprint() == before
            await handle.append(events[3:])
            assert await handle.read() == tuple(events)
            await handle.close()

    async def test_a_cancelled_append_is_stored_all_the_same(self) -> None:
        async with self.process() as ours:
            handle = await ours.persistence.create(a_header())
            gate = ours.backend.gate = anyio.Event()
            async with anyio.create_task_group() as group:
                group.start_soon(handle.append, a_log())
                await ours.begun(1)
                group.cancel_scope.cancel()
                gate.set()
            ours.backend.gate = None
            assert await handle.read() == tuple(a_log())
            await handle.close()
