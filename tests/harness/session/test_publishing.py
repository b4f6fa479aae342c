"""Who hears of an append, who may refuse it, and that nobody can spoil it."""

from __future__ import annotations

import pytest

from harness.errors import HarnessError
from harness.session import (
    SESSION_EVENT,
    SESSION_VALIDATE,
    TURN_START,
    USER_MESSAGE,
    Session,
    SessionEventError,
    SessionPublishingError,
)

NOTE = "todo/write"


@pytest.mark.spec("03-10")
async def test_an_observer_that_raises_does_not_stop_the_others(live):
    heard: list[int] = []

    def fail(_session: Session, _event: object) -> None:
        raise ValueError("broken observer")

    live.root.on(SESSION_EVENT, fail)
    live.root.on(SESSION_EVENT, lambda _session, event: heard.append(event.seq))
    log = live.log()
    assert log.begin_turn().seq == 0
    assert heard == [0]
    assert [line for line in live.errors() if "broken observer" in line] == live.errors()
    assert len(live.errors()) == 1


@pytest.mark.spec("03-11")
async def test_an_asynchronous_observer_that_fails_is_only_logged(live):
    async def fail(_session: Session, _event: object) -> None:
        raise ValueError("broken later")

    live.root.on(SESSION_EVENT, fail)
    log = live.log()
    log.begin_turn()
    await live.kernel.settle()
    assert log.session.seq == 1
    assert [line for line in live.errors() if "broken later" in line] == live.errors()
    assert len(live.errors()) == 1


@pytest.mark.spec("03-12")
async def test_an_observer_must_not_append_to_the_same_session(live):
    caught: list[RuntimeError] = []
    log = live.log()

    def append(session: Session, _event: object) -> None:
        try:
            session.append(NOTE, {})
        except RuntimeError as error:
            caught.append(error)
            raise

    live.root.on(SESSION_EVENT, append)
    log.begin_turn()
    assert [type(error) for error in caught] == [SessionPublishingError]
    assert [event.type for event in log.events] == [TURN_START]
    assert len(live.errors()) == 1


async def test_an_observer_may_append_to_another_session(live):
    other = live.log()
    other.begin_turn()
    log = live.log()

    def append(session: Session, _event: object) -> None:
        if session is log.session:
            other.note()

    live.root.on(SESSION_EVENT, append)
    log.begin_turn()
    assert other.session.seq == 2
    assert live.errors() == []


@pytest.mark.spec("03-13")
async def test_a_veto_changes_nothing_and_the_next_append_works(live):
    log = live.log()
    log.begin_turn()
    heard: list[str] = []

    def veto(_session: Session, event: object) -> None:
        raise HarnessError("no")

    off = live.root.on(SESSION_VALIDATE, veto)
    live.root.on(SESSION_VALIDATE, lambda _session, event: heard.append(event.type))
    before = (log.events, log.session.surface.nodes, log.session.derive_messages())
    published = list(live.heard)
    with pytest.raises(HarnessError, match="no"):
        log.user()
    assert heard == [USER_MESSAGE]
    assert (log.events, log.session.surface.nodes, log.session.derive_messages()) == before
    assert live.heard == published
    off()
    assert log.user().seq == 1
    assert live.heard[-1].seq == 1


async def test_several_vetoes_are_raised_together(live):
    log = live.log()

    def veto(_session: Session, _event: object) -> None:
        raise HarnessError("no")

    live.root.on(SESSION_VALIDATE, veto)
    live.root.on(SESSION_VALIDATE, veto)
    with pytest.raises(BaseExceptionGroup) as caught:
        log.begin_turn()
    assert len(caught.value.exceptions) == 2
    assert log.session.seq == 0


async def test_a_validating_listener_must_not_append(live):
    log = live.log()
    live.root.on(SESSION_VALIDATE, lambda session, _event: session.append(NOTE, {}))
    with pytest.raises(SessionPublishingError):
        log.begin_turn()
    assert log.session.seq == 0


async def test_a_wrong_event_is_refused_before_anybody_is_asked(live):
    log = live.log()
    heard: list[object] = []
    live.root.on(SESSION_VALIDATE, lambda _session, event: heard.append(event))
    with pytest.raises(SessionEventError):
        log.note()
    assert heard == []


@pytest.mark.spec("03-14")
async def test_a_session_outside_the_store_is_not_published(live):
    prepared = live.store.prepare("other")
    prepared.append(TURN_START, {"turn": 1})
    assert prepared.seq == 1
    detach = live.store.enter(prepared)
    prepared.append(NOTE, {})
    detach()
    prepared.append(NOTE, {})
    assert [event.seq for event in live.heard] == [1]


async def test_whoever_observes_dispatches_cannot_break_an_append(live):
    log = live.log()

    def fail(mode: str, name: str, *_: object) -> None:
        if name == "session/event":
            raise ValueError("broken tracer")

    live.root.on("internal/dispatch", fail)
    assert log.begin_turn().seq == 0
    assert [line for line in live.errors() if "broken tracer" in line] == live.errors()
