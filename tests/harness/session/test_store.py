"""The store: which sessions are live, who hears of them, and how they leave."""

from __future__ import annotations

import asyncio
import re

import pytest

from harness.errors import HarnessError
from harness.scope import create_scope
from harness.session import (
    SESSION_CREATED,
    SESSION_DISPOSED,
    SESSION_EVENT,
    SESSION_FLUSH,
    Session,
    SessionId,
    SessionStore,
    SessionStoreError,
)
from harness.session.testing import LogWriter
from vendor_shims.cordis import Context
from vendor_shims.testing import kernel


@pytest.mark.spec("03-83")
async def test_ids_are_unique_among_live_sessions(live):
    live.store.create("s")
    for make in (live.store.create, live.store.prepare):
        with pytest.raises(SessionStoreError, match="'s' is taken"):
            make("s")
    minted = [live.store.create().id for _ in range(20)]
    assert len(set(minted)) == 20
    pattern = r"session-[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"
    assert all(re.fullmatch(pattern, one) for one in minted)


@pytest.mark.spec("03-83")
async def test_a_minted_id_that_is_taken_is_drawn_again():
    drawn = iter(["a", "a", "a", "b"])
    async with kernel() as made:

        def store(ctx: Context) -> None:
            SessionStore(ctx, new_id=lambda: SessionId(next(drawn)), now_ms=lambda: 5)

        made.root.plugin(store)
        await made.settle()
        sessions: SessionStore = made.root.require("sessions")
        made_sessions = [sessions.create() for _ in range(2)]
        assert [session.id for session in made_sessions] == ["a", "b"]
        assert made_sessions[1].header.created_at == 5
        assert made_sessions[1].append("turn/start", {"turn": 1}).time == 5


@pytest.mark.spec("03-84")
async def test_a_listener_may_veto_a_session(live):
    heard: list[str] = []

    def veto(session: Session) -> None:
        assert live.store.get(session.id) is session
        raise HarnessError("not this one")

    off = live.root.on(SESSION_CREATED, veto)
    live.root.on(SESSION_CREATED, lambda session: heard.append(session.id))
    with pytest.raises(HarnessError, match="not this one"):
        live.store.create("s")
    assert heard == ["s"]
    assert live.store.get("s") is None
    assert live.disposed == ["s"]
    off()
    assert live.store.create("s").id == "s"
    assert live.disposed == ["s"]


@pytest.mark.spec("03-85")
async def test_an_asynchronous_listener_cannot_veto(live):
    async def fail(_session: Session) -> None:
        raise ValueError("too late")

    live.root.on(SESSION_CREATED, fail)
    session = live.store.create("s")
    await live.kernel.settle()
    assert live.store.get("s") is session
    assert [line for line in live.errors() if "too late" in line] == live.errors()
    assert len(live.errors()) == 1


@pytest.mark.spec("03-86")
async def test_a_session_is_in_one_store_once(live):
    session = live.store.prepare("s")
    twin = live.store.prepare("s")
    detach = live.store.enter(session)
    for one in (session, twin):
        with pytest.raises(SessionStoreError, match="taken"):
            live.store.enter(one)
    detach()
    live.store.enter(twin)()
    async with kernel() as other:
        other.root.plugin(SessionStore)
        await other.settle()
        elsewhere = other.root.require("sessions").enter(session)
        with pytest.raises(SessionStoreError, match="in a store already"):
            live.store.enter(session)
        elsewhere()
    assert live.disposed == []


@pytest.mark.spec("03-87")
async def test_a_session_is_announced_once(live):
    caught: list[SessionStoreError] = []
    session = live.store.prepare("s")
    with pytest.raises(SessionStoreError, match="not in the store"):
        live.store.announce(session)

    def again(session: Session) -> None:
        try:
            live.store.announce(session)
        except SessionStoreError as error:
            caught.append(error)

    live.root.on(SESSION_CREATED, again)
    live.store.enter(session)
    live.store.announce(session)
    assert len(caught) == 1
    with pytest.raises(SessionStoreError, match="announced before"):
        live.store.announce(session)
    with pytest.raises(SessionStoreError, match="not in the store"):
        live.store.announce(Session("s"))


@pytest.mark.spec("03-88")
async def test_a_detach_inside_a_listener_waits_for_the_append(live):
    session = live.store.prepare("s")
    detach = live.store.enter(session)
    live.store.announce(session)
    order: list[str] = []

    def leave(_session: Session, _event: object) -> None:
        detach()
        detach()
        assert live.store.get("s") is session
        assert live.disposed == []
        order.append("first")

    live.root.on(SESSION_EVENT, leave)
    live.root.on(SESSION_EVENT, lambda _session, _event: order.append("second"))
    LogWriter(session).begin_turn()
    assert order == ["first", "second"]
    assert live.store.get("s") is None
    assert live.disposed == ["s"]
    detach()
    assert live.disposed == ["s"]
    session.append("todo/write", {})
    assert len(live.heard) == 1


@pytest.mark.spec("03-88")
async def test_a_detach_inside_the_announcement_waits_for_its_end(live):
    session = live.store.prepare("s")
    detach = live.store.enter(session)
    heard: list[str] = []

    def leave(_session: Session) -> None:
        detach()
        assert live.store.get("s") is session

    live.root.on(SESSION_CREATED, leave)
    live.root.on(SESSION_CREATED, lambda session: heard.append(session.id))
    live.store.announce(session)
    assert heard == ["s"]
    assert live.store.get("s") is None
    assert live.disposed == ["s"]


@pytest.mark.spec("03-89")
async def test_a_stale_detach_leaves_the_next_session_of_that_id_alone(live):
    first = live.store.prepare("s")
    stale = live.store.enter(first)
    stale()
    second = live.store.create("s")
    stale()
    assert live.store.get("s") is second
    assert live.disposed == []


async def test_a_session_may_enter_again_as_it_leaves(live):
    session = live.store.prepare("s")
    detach = live.store.enter(session)
    live.store.announce(session)
    assert session.is_attached

    def again(session: Session) -> None:
        assert not session.is_attached
        live.store.enter(session)

    live.root.on(SESSION_DISPOSED, again)
    detach()
    assert session.is_attached
    LogWriter(session).begin_turn()
    assert len(live.heard) == 1


async def test_a_detached_session_may_enter_again(live):
    session = live.store.prepare("s")
    live.store.enter(session)()
    live.store.enter(session)
    assert live.store.list() == [session]


@pytest.mark.spec("03-90")
async def test_a_flush_waits_for_all_and_raises_the_first_failure(live):
    log = live.log("s")
    assert await live.store.flush(log.session) is False
    done: list[str] = []
    gate = asyncio.Event()

    async def slow(_session: Session) -> None:
        await gate.wait()
        done.append("slow")
        raise OSError("disk full")

    async def quick(_session: Session) -> None:
        done.append("quick")

    async def later(_session: Session) -> None:
        gate.set()
        raise ValueError("also broken")

    for listener in (slow, quick, later):
        live.root.on(SESSION_FLUSH, listener)
    with pytest.raises(OSError, match="disk full") as caught:
        await live.store.flush(log.session)
    assert done == ["quick", "slow"]
    assert caught.value.__notes__ == ["also failed to flush: ValueError('also broken')"]


@pytest.mark.spec("03-90")
async def test_only_a_live_session_can_be_flushed(live):
    heard: list[str] = []
    live.root.on(SESSION_FLUSH, lambda session: heard.append(session.id))
    session = live.store.prepare("s")
    with pytest.raises(SessionStoreError, match="not live"):
        await live.store.flush(session)
    detach = live.store.enter(session)
    assert await live.store.flush(session) is True
    assert heard == ["s"]
    with pytest.raises(SessionStoreError, match="not live"):
        await live.store.flush(Session("s"))
    detach()
    with pytest.raises(SessionStoreError, match="not live"):
        await live.store.flush(session)


class Key:
    """A scope key."""


@pytest.mark.spec("03-91")
async def test_a_scoped_listener_hears_only_of_sessions_entered_there(live):
    scopes = [create_scope(live.root, Key()) for _ in range(2)]
    child = create_scope(live.root, Key(), scopes[0].key)
    heard: dict[str, list[str]] = {"all": [], "first": [], "second": [], "child": []}
    places = {"all": live.root, "first": scopes[0].ctx, "second": scopes[1].ctx, "child": child.ctx}
    for name, ctx in places.items():
        ctx.on(SESSION_CREATED, lambda one, name=name: heard[name].append(f"+{one.id}"))
        ctx.on(SESSION_EVENT, lambda one, _event, name=name: heard[name].append(one.id))
    for name in ("first", "second", "child"):
        store: SessionStore = live.store.as_caller(places[name])
        LogWriter(store.create(name)).begin_turn()
    assert heard == {
        "all": ["+first", "first", "+second", "second", "+child", "child"],
        "first": ["+first", "first", "+child", "child"],
        "second": ["+second", "second"],
        "child": ["+child", "child"],
    }
    first: SessionStore = live.store.as_caller(scopes[0].ctx)
    assert await first.flush(live.store.get("first")) is False
    child.ctx.on(SESSION_FLUSH, lambda _session: None)
    assert await first.flush(live.store.get("first")) is False
    assert await first.flush(live.store.get("child")) is True


@pytest.mark.spec("03-95")
async def test_a_session_leaves_with_the_fiber_that_made_it(live):
    def owner(ctx: Context) -> None:
        ctx.require("sessions").create("b")

    live.store.create("a")
    fiber = live.root.inject(["sessions"], owner)
    live.store.create("c")
    await live.kernel.settle()
    live.store.create("d")
    assert [session.id for session in live.store.list()] == ["a", "c", "b", "d"]
    live.store.list().clear()
    await fiber.dispose()
    assert [session.id for session in live.store.list()] == ["a", "c", "d"]
    assert live.disposed == ["b"]
    assert live.store.get("b") is None


async def test_a_session_leaves_before_the_store_does():
    async with kernel() as made:
        store = made.root.plugin(SessionStore)
        await made.settle()
        sessions: SessionStore = made.root.require("sessions")
        disposed: list[str] = []
        made.root.on(SESSION_DISPOSED, lambda session: disposed.append(session.id))
        made.root.inject(["sessions"], lambda ctx: ctx.require("sessions").create("a") and None)
        await made.settle()
        await store.dispose()
        assert disposed == ["a"]
        assert sessions.list() == []
