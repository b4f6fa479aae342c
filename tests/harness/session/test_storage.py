"""What storage must keep for a session: its bytes, its unknown parts, and its place in time."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from harness.session import (
    Session,
    SessionHeader,
    SessionId,
    SessionStore,
    header_from_json,
    header_to_json,
    repair_tool_adjacency,
)
from harness.session.testing import LogWriter
from harness.session_persistence import (
    PersistenceCoordinator,
    SessionFormatUnsupportedError,
    SessionPersistenceCorruptionError,
)
from harness_plugins.session_persistence_jsonl import JsonlPersistence
from vendor_shims.cordis import Context

HEADER = SessionHeader(id=SessionId("s"), created_at=1)


@asynccontextmanager
async def storage(root: Path) -> AsyncIterator[PersistenceCoordinator]:
    async with Context() as ctx:
        ctx.plugin(SessionStore)
        ctx.plugin(JsonlPersistence, {"root": str(root)})
        await ctx.settle()
        yield ctx[PersistenceCoordinator]


async def store(root: Path, events, header: SessionHeader = HEADER) -> Path:
    """Store a log and return its file."""
    async with storage(root) as persistence:
        handle = await persistence.create(header)
        await handle.append(events)
        await handle.flush()
        await handle.close()
        return Path(persistence.locate(header).path)


async def load(root: Path) -> Session:
    async with storage(root) as persistence:
        stored = await persistence.load("s")
        return Session.from_restore("s", stored.events, stored.header)


@pytest.mark.spec("03-4")
async def test_a_log_survives_its_file_byte_for_byte(log, tmp_path):
    log.begin_turn()
    log.user("a\ud800b\u2028c")
    log.step("hello", ["c"])
    log.session.append("todo/write", {"half": "\udfff", "one": 1.0, "deep": [[[{}]]]})
    log.end_turn()
    await store(tmp_path, log.events)
    session = await load(tmp_path)
    assert session.events[:-1] == log.events
    assert [type(event.data["one"]) for event in session.events if "one" in event.data] == [float]
    assert session.derive_messages() == log.session.derive_messages()


@pytest.mark.spec("03-41")
async def test_unknown_header_members_survive_a_reload(log, tmp_path):
    log.turn()
    path = await store(tmp_path, log.events)
    path.write_bytes(path.read_bytes().replace(b"{", b'{"future":{"list":[1,2]},', 1))
    header = (await load(tmp_path)).header
    assert header.extra == {"future": {"list": (1, 2)}}
    assert header_from_json(header_to_json(header)) == header


@pytest.mark.spec("03-42")
@pytest.mark.parametrize("version", [1001, 4, 0])
async def test_another_format_is_refused_with_both_versions(log, tmp_path, version):
    log.turn()
    path = await store(tmp_path, log.events)
    text = path.read_bytes().replace(b'"version":1000', b'"version":%d' % version, 1)
    path.write_bytes(text)
    with pytest.raises(SessionFormatUnsupportedError, match=rf"\b{version}\b.*\b1000\b"):
        await load(tmp_path)
    assert path.read_bytes() == text


@pytest.mark.spec("03-102")
async def test_a_torn_last_line_is_dropped_and_one_in_the_middle_is_not(log, tmp_path):
    log.turn()
    path = await store(tmp_path, log.events)
    whole = path.read_bytes()
    path.write_bytes(whole[:-5])
    session = await load(tmp_path)
    assert session.events[: len(log.events) - 1] == log.events[:-1]
    assert session.events[-2].data["reason"] == {"kind": "interrupted"}
    lines = whole.split(b"\n")
    path.write_bytes(b"\n".join([*lines[:3], lines[3][:-4], *lines[4:]]))
    with pytest.raises(SessionPersistenceCorruptionError, match="line 4"):
        await load(tmp_path)


@pytest.mark.spec("03-103")
@pytest.mark.parametrize("is_ignorable", [True, False])
async def test_an_unknown_type_is_kept_only_when_it_may_be_skipped(log, tmp_path, is_ignorable):
    log.begin_turn()
    log.session.append("future/type", {"n": 1}, ignorable=True)
    log.end_turn()
    path = await store(tmp_path, log.events)
    if not is_ignorable:
        path.write_bytes(path.read_bytes().replace(b',"ignorable":true', b""))
        with pytest.raises(
            SessionFormatUnsupportedError, match=r"(?s)1.*future/type|future/type.*1"
        ):
            await load(tmp_path)
        return
    session = await load(tmp_path)
    assert session.event(1) == log.events[1]


@pytest.mark.spec("03-101")
async def test_a_crash_in_a_batch_of_calls_is_closed_and_the_session_goes_on(log, tmp_path):
    log.begin_turn()
    log.user()
    log.begin_step()
    log.answer(calls=["c1", "c2", "c2"])
    log.result("c1", call_seq=log.call("c1").seq)
    log.call("c2")
    await store(tmp_path, log.events)
    session = await load(tmp_path)
    LogWriter(session).turn()
    assert session.last_turn == 2
    history = session.derive_messages()
    assert repair_tool_adjacency(history) is history
