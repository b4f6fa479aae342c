"""Every event lies in a turn; turns and steps are numbered without gaps."""

from __future__ import annotations

import contextlib

import pytest

from harness.errors import HarnessError
from harness.session import (
    SESSION_VALIDATE,
    EventTypeRegistry,
    Session,
    SessionEvent,
    TurnEnclosureError,
    is_conversational_turn,
)
from harness.wire import FrozenDict


@pytest.mark.spec("03-17", "03-18")
@pytest.mark.parametrize("act", ["user", "context", "note"])
def test_nothing_stands_outside_a_turn(log, act):
    with pytest.raises(TurnEnclosureError, match=r"outside a turn.*enclosed"):
        getattr(log, act)()
    log.turn()
    seq = log.session.seq
    with pytest.raises(TurnEnclosureError):
        getattr(log, act)()
    assert log.session.seq == seq


@pytest.mark.spec("03-18")
def test_enclosed_writes_a_one_shot_turn(log):
    trigger = {"kind": "annotation", "plugin": "p"}
    with log.session.enclosed(trigger) as turn:
        log.note()
    assert turn == 1
    assert [event.type for event in log.events] == ["turn/start", "todo/write", "turn/end"]
    assert log.events[0].data == {"turn": 1, "trigger": trigger}
    assert log.events[2].data == {"turn": 1, "reason": {"kind": "completed"}}
    assert log.session.open_turn is None


@pytest.mark.spec("03-19")
def test_enclosed_joins_an_open_turn(log):
    log.begin_turn()
    with log.session.enclosed({"kind": "annotation"}) as turn:
        log.note()
    assert turn == 1
    assert [event.type for event in log.events] == ["turn/start", "todo/write"]


def fail_inside(log, error):
    with log.session.enclosed({"kind": "annotation"}):
        log.note()
        raise error


@pytest.mark.spec("03-20")
@pytest.mark.parametrize(
    ("error", "message"),
    [(ValueError("bad"), "bad"), (KeyboardInterrupt(), "KeyboardInterrupt")],
)
def test_a_one_shot_turn_whose_block_raises_ends_with_the_error(log, error, message):
    with pytest.raises(type(error)) as caught:
        fail_inside(log, error)
    assert caught.value is error
    assert caught.value.__context__ is None
    reason = {"kind": "error", "step": 0, "message": message}
    assert log.events[-1].data == {"turn": 1, "reason": reason}
    assert log.session.open_turn is None


@pytest.mark.spec("03-20")
@pytest.mark.parametrize("is_failing", [True, False])
def test_a_one_shot_turn_closes_the_step_that_its_block_left_open(log, is_failing):
    with (
        contextlib.suppress(ValueError),
        log.session.enclosed({"kind": "maintenance"}),
    ):
        log.begin_step()
        if is_failing:
            raise ValueError("bad")
    assert [event.type for event in log.events[1:]] == ["step/start", "step/end", "turn/end"]


def test_a_block_may_end_its_one_shot_turn_itself(log):
    with log.session.enclosed({"kind": "maintenance"}):
        log.end_turn("aborted")
    assert log.events[-1].data["reason"] == {"kind": "aborted"}
    assert log.session.seq == 2


async def test_a_refused_one_shot_turn_leaves_nothing_behind(live):
    log = live.log()

    def veto(session, event):
        raise HarnessError("no")

    off = live.root.on(SESSION_VALIDATE, veto)
    with pytest.raises(HarnessError, match="no"), log.session.enclosed({"kind": "annotation"}):
        raise AssertionError("the block must not run")
    assert log.events == ()
    off()
    log.turn()
    assert log.session.last_turn == 1


def turn_start(turn: object, **more: object):
    return "turn/start", {"turn": turn, "trigger": {"kind": "message"}, **more}


@pytest.mark.spec("03-21")
@pytest.mark.parametrize("turn", [2, 0, -1, None, True, 1.0, "1"], ids=repr)
def test_the_first_turn_is_1(log, turn):
    with pytest.raises(TurnEnclosureError, match="expected 1"):
        log.session.append(*turn_start(turn))
    assert log.session.seq == 0


@pytest.mark.spec("03-21")
def test_turns_follow_one_another(log):
    log.begin_turn()
    with pytest.raises(TurnEnclosureError, match="inside the open turn 1"):
        log.session.append(*turn_start(2))
    log.end_turn()
    with pytest.raises(TurnEnclosureError, match="expected 2"):
        log.session.append(*turn_start(1))
    assert log.session.append(*turn_start(2)).seq == 2


@pytest.mark.parametrize("trigger", [None, "message", {}, {"kind": ""}, {"kind": 1}], ids=repr)
def test_a_trigger_has_a_kind(log, trigger):
    with pytest.raises(TurnEnclosureError, match="trigger"):
        log.session.append(*turn_start(1, trigger=trigger))


def test_a_turn_without_a_trigger_is_a_message_turn(log):
    event = log.session.append("turn/start", {"turn": 1})
    assert is_conversational_turn(event.data)


def test_only_declared_kinds_of_turns_are_conversational():
    registry = EventTypeRegistry()
    assert registry.is_conversational({"kind": "message"})
    assert not registry.is_conversational({"kind": "annotation"})
    registry.declare_conversational("goal")
    assert registry.is_conversational({"kind": "goal"})


@pytest.mark.spec("03-22")
def test_a_turn_ends_by_its_number_and_without_an_open_step(log):
    with pytest.raises(TurnEnclosureError, match="open turn is None"):
        log.session.append("turn/end", {"turn": 1, "reason": {"kind": "completed"}})
    log.begin_turn()
    for turn in (2, True, None):
        with pytest.raises(TurnEnclosureError, match="open turn is 1"):
            log.session.append("turn/end", {"turn": turn, "reason": {"kind": "completed"}})
    for reason in (None, {}, {"kind": ""}):
        with pytest.raises(TurnEnclosureError, match="reason"):
            log.session.append("turn/end", {"turn": 1, "reason": reason})
    log.begin_step()
    with pytest.raises(TurnEnclosureError, match="step 1 is open"):
        log.end_turn()
    log.end_step()
    assert log.end_turn().seq == 3


@pytest.mark.spec("03-23")
def test_steps_are_numbered_within_their_turn(log):
    with pytest.raises(TurnEnclosureError, match="open turn is None"):
        log.session.append("step/start", {"turn": 1, "step": 1})
    log.begin_turn()
    for turn, step in ((1, 2), (1, True), (2, 1)):
        with pytest.raises(TurnEnclosureError):
            log.session.append("step/start", {"turn": turn, "step": step})
    log.begin_step(1)
    with pytest.raises(TurnEnclosureError, match="step 1 is open"):
        log.begin_step(2)
    for turn, step in ((1, 2), (2, 1), (1, 1.0)):
        with pytest.raises(TurnEnclosureError):
            log.session.append("step/end", {"turn": turn, "step": step})
    log.end_step()
    with pytest.raises(TurnEnclosureError):
        log.session.append("step/end", {"turn": 1, "step": 1})
    log.begin_step(2)
    log.end_step()
    log.end_turn()
    log.begin_turn()
    assert log.begin_step(1).data == {"turn": 2, "step": 1}
    assert (log.session.open_turn, log.session.open_step) == (2, 1)


@pytest.mark.spec("03-24")
@pytest.mark.parametrize(
    ("turn", "step"), [(1, 2), (2, 1), (None, 1), (1, None), (True, 1), (1, 1.0)], ids=repr
)
def test_what_happens_in_a_step_names_it(log, turn, step):
    log.begin_turn()
    with pytest.raises(TurnEnclosureError, match="outside a step"):
        log.session.append("assistant/chunk", {"turn": 1, "step": 1, "chunk": {}})
    log.begin_step()
    call = {"callId": "c", "name": "n", "arguments": ""}
    for kind, data in (
        ("assistant/chunk", {"chunk": {}}),
        ("tool/call", call),
        ("assistant/attempt", {"attempt": 1}),
        ("request/override", {"messages": []}),
    ):
        with pytest.raises(TurnEnclosureError, match="turn 1 step 1 is open"):
            log.session.append(kind, {"turn": turn, "step": step, **data})
        log.session.append(kind, {"turn": 1, "step": 1, **data})


@pytest.mark.spec("03-25")
def test_nobody_but_the_session_writes_its_seed_marker(log):
    for _ in range(2):
        with pytest.raises(TurnEnclosureError, match="session itself"):
            log.session.append("session/end-seed", {})
        log.begin_turn()
        log.end_turn()


def imported() -> list[SessionEvent]:
    """Return a log as others write it: facts, context and prompts stand between turns."""
    source = {"kind": "user"}
    prompt = FrozenDict(id="u", role="user", content=(), source=FrozenDict(source))
    return [
        SessionEvent("session/title", 0, 1, FrozenDict(title="t")),
        SessionEvent("user/message", 1, 1, prompt, "append"),
        SessionEvent("turn/start", 2, 1, FrozenDict(turn=1)),
        SessionEvent("turn/end", 3, 1, FrozenDict(turn=1, reason=FrozenDict(kind="completed"))),
        SessionEvent("context/message", 4, 1, prompt, "append"),
    ]


@pytest.mark.spec("03-29")
def test_an_imported_seed_is_relaxed_and_what_follows_is_strict():
    session = Session.create("s", imported(), seed_dialect="upstream")
    assert session.first_live_seq == 5
    with pytest.raises(TurnEnclosureError):
        session.append("session/title", {"title": "x"})
    session.append("turn/start", {"turn": 2})
    with pytest.raises(TurnEnclosureError, match="seed event 0: 'session/title'") as caught:
        Session.create("s", imported())
    assert caught.value.index == 0


@pytest.mark.spec("03-29")
def test_an_imported_seed_executes_only_inside_turns(log):
    log.begin_turn()
    log.step(calls=["c"])
    result = log.events[-2]
    assert result.type == "tool/result"
    log.prune(result.seq)
    log.end_turn()
    events = list(log.events)
    assert Session.create("s", events, seed_dialect="upstream").seq == len(events) + 1
    events[-2:] = [
        events[-1]._replace(seq=events[-2].seq),
        events[-2]._replace(seq=events[-1].seq),
    ]
    with pytest.raises(TurnEnclosureError, match="tool/result"):
        Session.create("s", events, seed_dialect="upstream")
