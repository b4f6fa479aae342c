"""Check what is stored and given back."""

# ruff: noqa: D102  # a test's name is its description

from typing import Any

import pytest

from harness.session import SessionEvent
from harness.session_persistence.contract.events import a_header, a_log
from harness.session_persistence.contract.stage import ContractStage
from harness.session_persistence.errors import (
    AppendSequenceError,
    NotLosslessJsonError,
    SessionAlreadyExistsError,
    SessionNotFoundError,
)
from harness.wire import FrozenDict, Json, dumps
from vendor_shims.cordis import AbortController, AbortSignal


def a_note(seq: int, value: Json) -> SessionEvent:
    """Return an event with any payload."""
    return SessionEvent("todo/write", seq, 1, FrozenDict(value=value))


class StoringCases(ContractStage):
    """Hold that what was stored comes back, and nothing else."""

    @pytest.mark.spec("05-1")
    async def test_a_session_exists_for_others_once_it_is_materialised(self) -> None:
        async with self.process() as ours, self.process() as theirs:
            handle = await ours.persistence.create(a_header())
            await handle.append([])
            assert [header.id for header in await ours.persistence.list()] == ["session-a"]
            assert await theirs.persistence.list() == []
            await handle.flush()
            assert [header.id for header in await theirs.persistence.list()] == ["session-a"]
            assert (await theirs.persistence.inspect("session-a")).events == ()
            await handle.close()

    @pytest.mark.spec("05-2")
    async def test_an_id_is_taken_once(self) -> None:
        async with self.process() as ours, self.process() as theirs:
            handle = await ours.persistence.create(a_header())
            with pytest.raises(SessionAlreadyExistsError):
                await ours.persistence.create(a_header())
            await handle.append(a_log())
            with pytest.raises(SessionAlreadyExistsError):
                await theirs.persistence.create(a_header(cwd="/another/place"))
            await handle.close()
            with pytest.raises(SessionAlreadyExistsError):
                await ours.persistence.create(a_header())

    async def test_a_refused_header_reserves_nothing(self) -> None:
        async with self.process() as ours:
            for wrong in (
                a_header(created_at=1.5),
                a_header(cwd="relative"),
                a_header(extra=FrozenDict(sandboxMode="x")),
            ):
                with pytest.raises(ValueError, match=r"createdAt|cwd|unknown"):
                    await ours.persistence.create(wrong)
            handle = await ours.persistence.create(a_header())
            await handle.close()
            assert await ours.persistence.list() == []

    @pytest.mark.spec("05-3", "05-4")
    async def test_a_log_stays_dense(self) -> None:
        events = a_log(2)
        async with self.process() as ours:
            async with await ours.persistence.create(a_header()) as handle:
                await handle.append(events[:3])
            async with await ours.persistence.open("session-a", "write") as handle:
                await handle.append(events[3:4])
                with pytest.raises(AppendSequenceError, match=r"event 0 .* seq 3, expected 4"):
                    await handle.append(events[3:4])
                with pytest.raises(AppendSequenceError, match=r"event 1 .* seq 6, expected 5"):
                    await handle.append([events[4], events[6]])
                assert await handle.read() == tuple(events[:4])
                await handle.append([])
                await handle.append(events[4:])
            assert (await ours.persistence.load("session-a")).events == tuple(events)

    @pytest.mark.spec("05-5")
    async def test_a_payload_that_is_no_exact_json_is_refused_with_its_path(self) -> None:
        cycle: list[Any] = []
        cycle.append(cycle)
        async with self.process() as ours:
            handle = await ours.persistence.create(a_header())
            await handle.append([a_note(0, "fine")])
            before = self.fingerprint()
            for wrong in (float("nan"), float("-inf"), -0.0, b"x", {1}, {1: 2}, cycle, 2**60):
                bad = [a_note(1, "fine"), a_note(2, {"deep": [wrong]})]
                with pytest.raises(NotLosslessJsonError, match=r"'todo/write'.*value\.deep"):
                    await handle.append(bad)
            assert self.fingerprint() == before
            await handle.close()

    @pytest.mark.spec("05-6")
    async def test_hostile_text_comes_back_equal(self) -> None:
        texts = ["\ud800", "\udfff x", "\x00", "\u2028\r\n", "\U0001f600", "~" * 70_000, "\\ud800"]
        events = [a_note(seq, text) for seq, text in enumerate(texts)]
        events.append(a_note(len(events), {text: (text, 1.0, 1e300, None, True) for text in texts}))
        async with self.process() as ours, self.process() as theirs:
            async with await ours.persistence.create(a_header()) as handle:
                await handle.append(events)
            stored = await theirs.persistence.read_from("session-a", 0)
            assert stored == tuple(events)
            assert [dumps(e.data) for e in stored] == [dumps(e.data) for e in events]

    @pytest.mark.spec("05-7")
    async def test_what_the_caller_changes_later_is_not_stored(self) -> None:
        async with self.process() as ours:
            inner = {"list": [1]}
            events = [a_note(0, inner)]
            handle = await ours.persistence.create(a_header())
            await handle.append(events)
            events.append(a_note(1, "late"))
            inner["list"].append(2)
            (stored,) = await handle.read()
            assert stored.data["value"] == {"list": (1,)}
            await handle.close()

    @pytest.mark.spec("05-12")
    async def test_a_suffix_is_exact_and_reading_changes_nothing(self) -> None:
        events = a_log(900)
        async with self.process() as ours, self.process() as theirs:
            async with await ours.persistence.create(a_header()) as handle:
                await handle.append(events)
            before = self.fingerprint()
            read_from = theirs.persistence.read_from
            n = len(events)
            assert await read_from("session-a", n - 10) == tuple(events[-10:])
            assert await read_from("session-a", 20_000) == ()
            for wrong in (-1, 1.5, "1", True):
                with pytest.raises(TypeError):
                    await read_from("session-a", wrong)  # pyright: ignore[reportArgumentType]  # the point
            assert self.fingerprint() == before

    async def test_header_fields_come_back(self) -> None:
        header = a_header(
            parent_session="session-parent",
            seed_length=3,
            origin="subagent",
            delegation_depth=2,
            agent_preset="code",
        )
        async with self.process() as ours, self.process() as theirs:
            async with await ours.persistence.create(header, inherited_event_count=3) as handle:
                assert handle.inherited_event_count == 3
                await handle.append(a_log())
            assert await theirs.persistence.list() == [header]
            assert (await theirs.persistence.load("session-a")).header == header
            assert ours.persistence.locate(header).kind == ours.backend.name

    async def test_revisions_are_stable_and_change_with_every_append(self) -> None:
        events = a_log(2)
        async with self.process() as ours:
            handle = await ours.persistence.create(a_header())
            await handle.append(events[:9])
            first = await ours.persistence.stat("session-a")
            assert first == await ours.persistence.stat("session-a")
            await handle.append(events[9:])
            second = await ours.persistence.stat("session-a")
            assert first is not None
            assert second is not None
            assert first.revision != second.revision
            await handle.close()

    async def test_sessions_are_listed_oldest_first(self) -> None:
        async with self.process() as ours:
            for name, created_at in (("c", 3), ("a", 1), ("b", 2)):
                handle = await ours.persistence.create(a_header(name, created_at=created_at))
                await handle.flush()
                await handle.close()
            assert [header.id for header in await ours.persistence.list()] == ["a", "b", "c"]
            snapshots = await ours.persistence.list_snapshots()
            assert [snapshot.format_status for snapshot in snapshots] == ["current"] * 3

    async def test_a_missing_session_is_named(self) -> None:
        async with self.process() as ours:
            persistence = ours.persistence
            assert await persistence.stat("nobody") is None
            for call in (
                persistence.load,
                persistence.inspect,
                persistence.prepare_resume,
                persistence.read_raw,
            ):
                with pytest.raises(SessionNotFoundError, match="'nobody'"):
                    await call("nobody")
            for access in ("read", "write"):
                with pytest.raises(SessionNotFoundError):
                    await persistence.open("nobody", access)
            with pytest.raises(SessionNotFoundError):
                await persistence.append("nobody", a_log())
            with pytest.raises(SessionNotFoundError):
                await persistence.read_from("nobody", 0)

    async def test_a_read_that_was_aborted_before_raises_the_reason(self) -> None:
        controller = AbortController(AbortSignal)
        reason = RuntimeError("not any more")
        controller.abort(reason)
        signal = controller.signal
        async with self.process() as ours:
            await (await ours.persistence.create(a_header())).close()
            persistence = ours.persistence
            for read in (
                lambda: persistence.inspect("session-a", signal=signal),
                lambda: persistence.read_from("session-a", 0, signal=signal),
                lambda: persistence.prepare_resume("session-a", signal=signal),
                lambda: persistence.open("session-a", "read", signal=signal),
                lambda: persistence.create(a_header(), signal=signal),
                lambda: persistence.list(signal=signal),
                lambda: persistence.list_snapshots(signal=signal),
            ):
                with pytest.raises(RuntimeError) as caught:
                    await read()
                assert caught.value is reason

    async def test_the_raw_text_holds_every_event(self) -> None:
        async with self.process() as ours:
            async with await ours.persistence.create(a_header()) as handle:
                await handle.append(a_log())
            raw = await ours.persistence.read_raw("session-a")
            assert raw.file_name
            assert '"turn/end"' in raw.text

    async def test_readers_share_a_remembered_log_until_it_changes(self) -> None:
        events = a_log(2)
        async with self.process() as ours, self.process() as theirs:
            handle = await ours.persistence.create(a_header())
            await handle.append(events[:11])
            for _ in range(3):
                await theirs.persistence.read_from("session-a", 0)
            assert theirs.backend.n_loads == 1
            await handle.append(events[11:])
            assert len(await theirs.persistence.read_from("session-a", 0)) == len(events)
            assert theirs.backend.n_loads == 2
            await handle.close()
