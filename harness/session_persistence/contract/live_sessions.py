"""Check that live sessions are stored by themselves, and that nobody's log is mixed up."""

# ruff: noqa: D102  # a test's name is its description

from traceback import format_exception

import pytest

from harness.session_persistence.contract.events import (
    a_header,
    a_log,
    note,
    open_turn,
    run_turn,
)
from harness.session_persistence.contract.stage import ContractStage
from harness.session_persistence.errors import SessionAlreadyExistsError, SessionAlreadyOwnedError
from harness.session_persistence.events import PersistenceDegraded
from vendor_shims.cordis import Emit


class LiveSessionCases(ContractStage):
    """Hold what happens between a session's creation and its disposal."""

    async def test_a_session_without_events_is_never_stored(self) -> None:
        async with self.process() as ours, self.process() as theirs:
            session = ours.live()
            await ours.flush(session)
            assert [h.id for h in await ours.persistence.list()] == [session.id]
            ours.dispose(session)
            await ours.persistence.flush()
            assert await theirs.persistence.list() == []
            again = ours.live()
            run_turn(again)
            await ours.flush(again)
            assert len(await theirs.persistence.read_from(again.id, 0)) == again.seq

    async def test_a_fork_is_stored_with_its_seed_once(self) -> None:
        seed = a_log(2)
        async with self.process() as ours, self.process() as theirs:
            session = ours.live(
                "session-child", seed, parent_session="session-a", seed_length=len(seed)
            )
            run_turn(session)
            await ours.flush(session)
            stored = await theirs.persistence.inspect("session-child")
            assert stored.events == session.events
            assert stored.header.seed_length == len(seed)

    @pytest.mark.spec("05-28")
    async def test_disposal_stores_what_is_left_and_gives_the_session_back(self) -> None:
        async with self.process() as ours, self.process() as theirs:
            session = ours.live()
            open_turn(session)
            note(session)
            ours.dispose(session)
            async with await ours.persistence.prepare_resume(session.id) as preparation:
                assert preparation.events[:2] == session.events
            async with await theirs.persistence.open(session.id, "write"):
                pass

    async def test_the_factory_order_of_handle_and_session_works(self) -> None:
        async with self.process() as ours, self.process() as theirs:
            handle = await ours.persistence.create(a_header())
            session = ours.live(header=handle.header)
            run_turn(session)
            ours.dispose(session)
            await handle.close()
            assert await theirs.persistence.read_from(session.id, 0) == session.events

    async def test_a_live_session_claims_what_a_handle_stored_before(self) -> None:
        seed = a_log(1)
        async with self.process() as ours, self.process() as theirs:
            handle = await ours.persistence.create(a_header())
            await handle.append(seed)
            session = ours.live(seed=seed, header=handle.header)
            run_turn(session)
            await ours.flush(session)
            assert await theirs.persistence.read_from(session.id, 0) == session.events
            ours.dispose(session)
            await handle.close()

    async def test_closing_the_handle_of_a_live_session_ends_its_storage(self) -> None:
        async with self.process() as ours:
            handle = await ours.persistence.create(a_header())
            session = ours.live(header=handle.header)
            run_turn(session)
            await handle.close()
            n_stored = session.seq
            run_turn(session)
            await ours.flush(session)
            await ours.persistence.flush()
            assert len(await ours.persistence.read_from(session.id, 0)) == n_stored

    @pytest.mark.spec("05-18")
    async def test_a_reload_during_a_turn_goes_on_without_gap_or_repeat(self) -> None:
        async with self.process() as ours, self.process() as theirs:
            session = ours.live()
            run_turn(session)
            open_turn(session)
            note(session, "buffered")
            await ours.unmount()
            assert await theirs.persistence.read_from(session.id, 0) == session.events
            note(session, "while nobody listened")
            self.tear(session.id)
            await ours.mount()
            note(session, "afterwards")
            await ours.flush(session)
            assert await theirs.persistence.read_from(session.id, 0) == session.events
            assert session.open_turn == 2

    async def test_a_reload_with_nothing_new_stores_nothing(self) -> None:
        async with self.process() as ours:
            session = ours.live()
            run_turn(session)
            await ours.flush(session)
            before = self.fingerprint()
            await ours.unmount()
            await ours.mount()
            await ours.flush(session)
            assert self.fingerprint() == before

    @pytest.mark.spec("05-19")
    @pytest.mark.parametrize("cwd", ["/somewhere/else", None])
    async def test_a_session_of_another_directory_is_refused(self, cwd: str | None) -> None:
        async with self.process() as ours, self.process() as theirs:
            async with await ours.persistence.create(a_header()) as handle:
                await handle.append(a_log(1))
            before = self.fingerprint()
            session = theirs.live(seed=a_log(1), cwd=cwd)
            with pytest.raises(SessionAlreadyExistsError, match="directory"):
                await theirs.flush(session)
            run_turn(session)
            with pytest.raises(SessionAlreadyExistsError, match="directory"):
                await theirs.flush(session)
            assert self.fingerprint() == before
            (told,) = theirs.bus
            assert isinstance(told, PersistenceDegraded)
            theirs.dispose(session)
            async with await ours.persistence.open("session-a", "write"):
                pass

    async def test_a_session_that_does_not_begin_like_the_stored_log_is_refused(self) -> None:
        async with self.process() as ours, self.process() as theirs:
            async with await ours.persistence.create(a_header()) as handle:
                await handle.append(a_log(2))
            before = self.fingerprint()
            session = theirs.live()
            run_turn(session)
            with pytest.raises(SessionAlreadyExistsError, match="does not begin"):
                await theirs.flush(session)
            assert self.fingerprint() == before

    async def test_a_session_beside_the_handle_of_another_directory_is_refused(self) -> None:
        async with self.process() as ours:
            handle = await ours.persistence.create(a_header())
            session = ours.live(cwd="/somewhere/else")
            run_turn(session)
            with pytest.raises(SessionAlreadyExistsError, match="directory"):
                await ours.flush(session)
            ours.dispose(session)
            await handle.close()
            assert await ours.persistence.list() == []

    async def test_a_new_session_under_an_id_that_still_drains_is_refused(self) -> None:
        async with self.process() as ours:
            session = ours.live()
            run_turn(session)
            ours.backend.failing_ids.add(session.id)
            ours.dispose(session)
            await ours.root.settle()
            second = ours.live()
            run_turn(second)
            with pytest.raises(SessionAlreadyExistsError, match="another session"):
                await ours.flush(second)
            ours.backend.failing_ids.clear()

    async def test_another_process_keeps_a_live_session_from_being_stored(self) -> None:
        async with self.process() as ours, self.process() as theirs:
            session = ours.live()
            run_turn(session)
            await ours.flush(session)
            twin = theirs.live(seed=session.events)
            with pytest.raises(SessionAlreadyOwnedError):
                await theirs.flush(twin)
            ours.dispose(session)
            await ours.unmount()
            await theirs.flush(twin)
            assert await theirs.persistence.read_from(twin.id, 0) == twin.events

    async def test_announcing_a_session_again_changes_nothing(self) -> None:
        again = Emit("session/created")
        async with self.process() as ours, self.process() as theirs:
            session = ours.live()
            run_turn(session)
            ours.root.emit(again, session)
            run_turn(session)
            await ours.flush(session)
            assert await theirs.persistence.read_from(session.id, 0) == session.events

    @pytest.mark.spec("05-20")
    async def test_a_flush_of_all_tries_each_and_names_the_one_that_failed(self) -> None:
        async with self.process() as ours, self.process() as theirs:
            sessions = [ours.live(f"session-{name}") for name in "abc"]
            for session in sessions:
                run_turn(session)
            ours.backend.failing_ids.add("session-b")
            with pytest.raises(ExceptionGroup) as caught:
                await ours.persistence.flush()
            (error,) = caught.value.exceptions
            assert error.__notes__ == ["session 'session-b'"]
            for session in (sessions[0], sessions[2]):
                assert await theirs.persistence.read_from(session.id, 0) == session.events
            ours.backend.failing_ids.clear()
            await ours.persistence.flush()
            assert await theirs.persistence.read_from("session-b", 0) == sessions[1].events

    @pytest.mark.spec("05-29")
    async def test_unloading_over_a_failing_storage_saves_the_other_sessions(self) -> None:
        async with self.process() as ours, self.process() as theirs:
            good, bad = ours.live("session-good"), ours.live("session-bad")
            for session in (good, bad):
                open_turn(session)
            ours.backend.failing_ids.add("session-bad")
            assert ours.fiber is not None
            await ours.unmount()
            (told,) = ours.fiber.cleanup_errors
            assert "session 'session-bad'" in "".join(format_exception(told))
            assert "session-good" not in "".join(format_exception(told))
            n_batches = ours.backend.n_batches
            note(good)
            assert ours.backend.n_batches == n_batches
            assert len(await theirs.persistence.read_from("session-good", 0)) == 1

    async def test_events_that_a_disposed_session_could_not_store_are_kept(self) -> None:
        async with self.process() as ours, self.process() as theirs:
            session = ours.live()
            ours.backend.failing_ids.add(session.id)
            run_turn(session)
            await ours.told(1)
            ours.dispose(session)
            await ours.begun(2)
            await ours.root.settle()
            ours.backend.failing_ids.clear()
            await ours.unmount()
            assert await theirs.persistence.read_from(session.id, 0) == session.events
