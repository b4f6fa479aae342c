"""Which event types a build can read, and how their bus events are routed."""

from __future__ import annotations

import pytest

from harness import session as package
from harness.session import EVENT_TYPES, SURFACE_TYPES, EventTypeRegistry, SessionEventError
from vendor_shims.cordis import Event


def test_a_type_is_declared_once_and_for_good():
    registry = EventTypeRegistry()
    registry.register("b/two", "a/one", doc="first")
    registry.register("a/one", doc="second")
    assert registry.names() == ("a/one", "b/two")
    known = registry.get("a/one")
    assert known is not None
    assert known.doc == "first"
    assert registry.get("c/three") is None
    assert "a/one" in registry
    assert "c/three" not in registry
    registry.require("a/one", seq=0)
    with pytest.raises(
        SessionEventError, match=r"event 7 has the unknown type 'c/three'.*register"
    ):
        registry.require("c/three", seq=7)
    registry.require("c/three", seq=7, is_ignorable=True)


def test_a_declared_type_can_be_appended(log):
    log.begin_turn()
    EVENT_TYPES.register("tests/declared")
    assert log.append("tests/declared").type == "tests/declared"


def test_the_surface_types_are_known():
    assert set(EVENT_TYPES.names()) >= SURFACE_TYPES


async def test_every_dispatch_is_routed_by_its_session(live):
    descriptors = {
        str(value): value
        for name, value in vars(package).items()
        if name.startswith("SESSION_") and isinstance(value, Event)
    }
    routed: set[str] = set()

    def check(mode: str, name: str, args: tuple[object, ...], target: object) -> None:
        if name in descriptors:
            assert descriptors[name].mode == mode
            assert descriptors[name].scoped(*args) is target
            routed.add(name)

    live.root.on("internal/dispatch", check)
    live.root.on("session/flush", lambda session: None)
    session = live.store.prepare("s")
    detach = live.store.enter(session)
    live.store.announce(session)
    session.append("turn/start", {"turn": 1})
    await live.store.flush(session)
    detach()
    assert routed == set(descriptors)
    assert len(routed) == 5
    assert live.errors() == []
