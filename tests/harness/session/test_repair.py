"""How a log is closed whose writer died, and that closing it again adds nothing."""

from __future__ import annotations

import pytest

from harness.session import (
    Session,
    interrupted_turn_closers,
    repair_tool_adjacency,
    unanswered_result,
)
from harness.session.testing import LogWriter


@pytest.fixture
def asked(log):
    """Return a log that has just asked for two calls."""
    log.begin_turn()
    log.user()
    log.begin_step()
    log.answer(calls=["c1", "c2"])
    return log


def closed(log):
    closers = interrupted_turn_closers(log.events)
    whole = [*log.events, *closers]
    assert interrupted_turn_closers(whole) == []
    assert [event.seq for event in whole] == list(range(len(whole)))
    assert {event.time for event in closers} <= {log.events[-1].time}
    assert interrupted_turn_closers(log.events) == closers
    session = Session.create("repaired", whole)
    assert session.open_turn is None
    history = session.derive_messages()
    assert repair_tool_adjacency(history) is history
    return closers


def results(closers):
    return [
        (
            event.data["message"]["source"]["callId"],
            event.data["error"]["code"],
            event.source_event_seqs,
        )
        for event in closers
        if event.type == "tool/result"
    ]


@pytest.mark.spec("03-96")
def test_a_call_that_had_started_has_an_unknown_outcome(log):
    log.begin_turn()
    log.begin_step()
    log.answer(calls=["c"])
    call = log.call("c")
    result, step_end, turn_end = closed(log)
    assert results([result]) == [("c", "TOOL_OUTCOME_UNKNOWN", (call.seq,))]
    assert result.data["error"]["name"] == "ToolOutcomeUnknownError"
    (block,) = result.data["message"]["content"]
    assert block["isError"] is True
    assert "unknown" in block["content"][0]["text"]
    assert "read-only or idempotent" in block["content"][0]["text"]
    assert result.data["message"]["id"] == f"interrupted-tool-result-c-{result.seq}"
    assert result.surface_op == "append"
    assert (step_end.type, step_end.data) == ("step/end", {"turn": 1, "step": 1})
    assert (turn_end.type, turn_end.data["reason"]) == ("turn/end", {"kind": "interrupted"})


def test_only_the_calls_of_an_answer_are_closed(log):
    log.begin_turn()
    log.begin_step()
    log.answer("let me look", ["c"])
    assert [one[0] for one in results(closed(log))] == ["c"]


@pytest.mark.spec("03-97")
def test_calls_are_closed_in_the_order_of_their_message(asked):
    call = asked.call("c1")
    closers = closed(asked)
    assert results(closers) == [
        ("c1", "TOOL_OUTCOME_UNKNOWN", (call.seq,)),
        ("c2", "TOOL_NOT_STARTED", None),
    ]
    never = closers[1]
    assert never.data["error"]["name"] == "ToolNotStartedError"
    assert "never ran" in never.data["message"]["content"][0]["content"][0]["text"]
    assert len(closers) == 4


def test_calls_that_ran_side_by_side_are_all_closed(asked):
    seqs = [asked.call(one).seq for one in ("c1", "c2")]
    assert results(closed(asked)) == [
        ("c1", "TOOL_OUTCOME_UNKNOWN", (seqs[0],)),
        ("c2", "TOOL_OUTCOME_UNKNOWN", (seqs[1],)),
    ]


def test_an_answered_call_is_not_closed_again(asked):
    asked.result("c1", call_seq=asked.call("c1").seq)
    assert [one[0] for one in results(closed(asked))] == ["c2"]
    asked.prune(asked.session.surface.nodes[-1])
    assert [one[0] for one in results(closed(asked))] == ["c2"]


def test_calls_that_share_an_id_are_closed_one_by_one(log):
    log.begin_turn()
    log.begin_step()
    log.answer(calls=["c", "c", "c"])
    assert len(results(closed(log))) == 3
    first = log.call("c")
    assert results(closed(log)) == [
        ("c", "TOOL_OUTCOME_UNKNOWN", (first.seq,)),
        ("c", "TOOL_NOT_STARTED", None),
        ("c", "TOOL_NOT_STARTED", None),
    ]
    log.result("c", call_seq=first.seq)
    second = log.call("c")
    assert results(closed(log)) == [
        ("c", "TOOL_OUTCOME_UNKNOWN", (second.seq,)),
        ("c", "TOOL_NOT_STARTED", None),
    ]


def test_a_result_without_a_start_closes_the_call(asked):
    error = {"name": "ToolNotStartedError", "code": "TOOL_NOT_STARTED"}
    asked.result("c1", error=error)
    assert [one[0] for one in results(closed(asked))] == ["c2"]


def test_a_call_that_no_message_asks_for_is_closed_too(log):
    log.begin_turn()
    log.begin_step()
    call = log.call("stray")
    log.result("other")
    closers = interrupted_turn_closers(log.events)
    assert results(closers) == [("stray", "TOOL_OUTCOME_UNKNOWN", (call.seq,))]


@pytest.mark.spec("03-98")
def test_a_turn_without_an_open_step_is_only_ended(log):
    log.begin_turn()
    assert [event.type for event in closed(log)] == ["turn/end"]
    log.begin_step()
    assert [event.type for event in closed(log)] == ["step/end", "turn/end"]
    log.answer("x")
    log.end_step()
    assert [event.type for event in closed(log)] == ["turn/end"]


@pytest.mark.spec("03-99", "03-100")
def test_a_balanced_log_needs_nothing(log):
    assert interrupted_turn_closers([]) == []
    log.turn()
    assert interrupted_turn_closers(log.events) == []
    assert interrupted_turn_closers(Session.create("s", log.events).events) == []


@pytest.mark.spec("03-101")
def test_the_next_turn_of_a_repaired_session_goes_on(asked):
    asked.call("c1")
    whole = [*asked.events, *interrupted_turn_closers(asked.events)]
    session = Session.create("repaired", whole)
    LogWriter(session).turn("go on", "yes")
    assert session.last_turn == 2
    history = session.derive_messages()
    assert repair_tool_adjacency(history) is history
    assert [message.role for message in history] == [
        "user",
        "assistant",
        "user",
        "user",
        "user",
        "assistant",
    ]


@pytest.mark.parametrize("cause", ["interrupted", "forked"])
@pytest.mark.parametrize("call_seq", [None, 4])
def test_each_cause_has_its_own_words(cause, call_seq):
    data = unanswered_result("c", turn=1, step=2, seq=9, call_seq=call_seq, cause=cause)
    text = data["message"]["content"][0]["content"][0]["text"]
    assert text.startswith("Error: ")
    assert ("forked" in text) == (cause == "forked")
    assert ("never ran" in text) == (call_seq is None)
    assert (data["turn"], data["step"]) == (1, 2)


def test_a_cause_reaches_every_closer(asked):
    closers = interrupted_turn_closers(asked.events, "forked")
    texts = [
        event.data["message"]["content"][0]["content"][0]["text"]
        for event in closers
        if event.type == "tool/result"
    ]
    assert len(texts) == 2
    assert all("forked" in text for text in texts)
