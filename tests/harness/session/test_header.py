"""The session header: what it may hold, and that unknown members survive a rewrite."""

from __future__ import annotations

import re

import attrs
import pytest

from harness.session import (
    SESSION_FORMAT_VERSION,
    Session,
    SessionHeader,
    SessionHeaderError,
    SessionId,
    header_from_json,
    header_to_json,
    new_session_id,
)
from harness.wire import FrozenDict, dumps, loads

STORED = {
    "version": 1000,
    "id": "session-1",
    "createdAt": 1_760_000_000_000,
    "cwd": "/w/project",
    "parentSession": "session-0",
    "seedLength": 42,
    "origin": "subagent",
    "delegationDepth": 1,
    "agentPreset": "code",
}


def test_a_header_reads_and_writes_its_stored_form():
    header = header_from_json(STORED)
    assert header.seed_length == 42
    assert header_to_json(header) == STORED
    assert list(header_to_json(header)) == list(STORED)


def test_a_new_header_writes_only_what_it_has():
    header = SessionHeader(id=SessionId("s"), created_at=3)
    stored = {"version": SESSION_FORMAT_VERSION, "id": "s", "createdAt": 3, "delegationDepth": 0}
    assert header_to_json(header) == stored
    assert Session("s", header).header is header


@pytest.mark.spec("03-40")
@pytest.mark.parametrize(
    "changes",
    [
        {"cwd": "relative/path"},
        {"cwd": ""},
        {"cwd": 1},
        {"created_at": -1},
        {"created_at": 1.0},
        {"origin": "x"},
        {"delegation_depth": 1.0},
        {"delegation_depth": -1},
        {"seed_length": True},
        {"seed_length": -1},
        {"parent_session": ""},
        {"agent_preset": 1},
        {"imported_from": "x"},
        {"imported_from": ["x"]},
        {"id": ""},
        {"version": True},
    ],
    ids=repr,
)
def test_a_malformed_member_is_refused(changes):
    header = attrs.evolve(header_from_json(STORED), **changes)
    with pytest.raises(SessionHeaderError):
        Session(header.id, header)
    keys = {"created_at": "createdAt", "delegation_depth": "delegationDepth"}
    keys |= {"seed_length": "seedLength", "parent_session": "parentSession"}
    keys |= {"agent_preset": "agentPreset", "imported_from": "importedFrom"}
    stored = STORED | {keys.get(key, key): value for key, value in changes.items()}
    with pytest.raises(SessionHeaderError):
        header_from_json(stored)


@pytest.mark.spec("03-40")
def test_a_header_belongs_to_its_session():
    with pytest.raises(SessionHeaderError, match="belongs to 'session-1'"):
        Session("session-2", header_from_json(STORED))
    for member in ("version", "id", "createdAt"):
        with pytest.raises(SessionHeaderError):
            header_from_json({key: value for key, value in STORED.items() if key != member})
    for value in (None, [], "x"):
        with pytest.raises(SessionHeaderError, match="header object"):
            header_from_json(value)


@pytest.mark.spec("03-41")
def test_unknown_members_are_kept_from_storage_and_refused_elsewhere():
    stored = {"type": "session", **STORED, "future": {"big": 2**60, "list": [1]}}
    header = header_from_json(stored)
    again = loads(dumps(header_to_json(header)))
    assert again == {key: value for key, value in stored.items() if key != "type"}
    with pytest.raises(SessionHeaderError, match="'future'"):
        header_from_json(stored, is_stored=False)
    with pytest.raises(TypeError):
        header.extra["future"]["list"] = 1


@pytest.mark.spec("03-41")
@pytest.mark.parametrize("meta", [{"future": 1}, {"id": "x"}, {"created_at": 1}, {"cwd": "x"}])
async def test_unknown_meta_of_a_new_session_is_refused(live, meta):
    with pytest.raises(SessionHeaderError):
        live.store.create("s", meta=meta)
    assert live.store.list() == []
    session = live.store.create("s", meta={"cwd": "/w", "delegation_depth": 2})
    assert (session.header.cwd, session.header.delegation_depth) == ("/w", 2)


@pytest.mark.spec("03-42")
async def test_an_imported_header_relaxes_the_seed_and_stands_last(live):
    origin = {"file": "f", "version": 0}
    header = header_from_json({**STORED, "importedFrom": origin, "future": 1})
    assert list(header_to_json(header))[-1] == "importedFrom"
    assert type(header.imported_from) is FrozenDict
    title = Session.create("x", [], header_from_json({**STORED, "id": "x"})).events[0]
    title = title._replace(type="session/title", data=FrozenDict(title="t"))
    assert live.store.prepare(header=header, seed=[title]).seq == 2
    native = attrs.evolve(header, imported_from=None)
    with pytest.raises(ValueError, match="outside a turn"):
        live.store.prepare(header=native, seed=[title])
    assert live.store.prepare(header=native, seed=[title], seed_dialect="upstream").seq == 2
    with pytest.raises(SessionHeaderError, match="not to session"):
        live.store.prepare("other", header=header)


def test_ids_are_version_7_and_sorted_by_time():
    ids = [new_session_id() for _ in range(50)]
    pattern = r"session-[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"
    assert all(re.fullmatch(pattern, one) for one in ids)
    assert len(set(ids)) == 50
    assert [one[:21] for one in ids] == sorted(one[:21] for one in ids)
