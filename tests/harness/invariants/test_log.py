"""The log oracle names each rule for a log in which exactly that rule is broken."""

from __future__ import annotations

from typing import Any

import pytest

from harness.invariants import LogChecker, check_log
from harness.llm import (
    BlockStart,
    Finish,
    FinishReason,
    TextBlock,
    TextDelta,
    pack_assistant_stream,
)
from harness.session import (
    ASSISTANT_ATTEMPT,
    ASSISTANT_MESSAGE,
    REQUEST_HEADER,
    TOOL_CALL,
    Session,
    SessionEvent,
)
from harness.session.testing import LogWriter
from harness.wire import FrozenDict, freeze_json, thaw

NOT_STARTED = {"name": "ToolNotStartedError", "code": "TOOL_NOT_STARTED"}


@pytest.fixture
def log() -> LogWriter:
    """Return a log in its first step."""
    log = LogWriter()
    log.begin_turn()
    log.user()
    log.begin_step()
    return log


def rules(log: LogWriter) -> list[tuple[str, str]]:
    """Finish the log and return the rules it breaks with the types of the events."""
    if log.session.open_step is not None:
        log.end_step()
    if log.session.open_turn is not None:
        log.end_turn()
    violations = check_log(log.events, is_complete=True)
    assert all(one.message for one in violations)
    return [(one.rule, log.events[one.seq].type) for one in violations]


def answer(log: LogWriter, *texts: str, **changes: Any) -> SessionEvent:
    """Append an answer that says `texts` whatever its chunks were."""
    message = {
        "id": "a",
        "role": "assistant",
        "content": [{"type": "text", "text": text} for text in texts],
        "source": {"kind": "model", "provider": "p", "model": "m"},
    }
    sources = changes.pop("sources", None)
    data = {"turn": 1, "step": log.session.open_step, "message": message, **changes}
    return log.session.append(
        ASSISTANT_MESSAGE, data, surface_op="append", source_event_seqs=sources
    )


def test_a_log_that_cannot_lie_breaks_nothing(log):
    log.header()
    log.attempt("oops")
    log.attempt()
    log.answer("look", ["c1", "c2", "c2"])
    log.note()
    log.result("c1", call_seq=log.call("c1").seq)
    log.result("c2", call_seq=log.call("c2").seq)
    log.result("c2", error=NOT_STARTED)
    log.prune(log.session.surface.nodes[-1])
    log.context()
    assert rules(log) == []
    assert check_log([]) == ()
    assert check_log(Session.create("s", log.events).events) == ()


def test_a_log_may_end_inside_a_turn_unless_it_is_complete(log):
    assert check_log(log.events) == ()
    (violation,) = check_log(log.events, is_complete=True)
    assert (violation.rule, violation.seq) == ("S3", len(log.events))


@pytest.mark.spec("03-202")
def test_a_breach_of_what_append_enforces_is_reported_with_its_place(log):
    log.answer("x")
    events = list(log.events)
    for index, wrong in (
        (3, events[3]._replace(seq=9)),
        (4, events[4]._replace(data=FrozenDict(turn=1, step=2, chunk=FrozenDict()))),
        (1, events[1]._replace(surface_op=None)),
        (0, events[0]._replace(type="todo/write", data=FrozenDict())),
    ):
        edited = [*events[:index], wrong, *events[index + 1 :]]
        (violation,) = check_log(edited)
        assert (violation.rule, violation.seq) == ("S1-S11", index)


def test_an_imported_log_is_checked_relaxed():
    title = SessionEvent("session/title", 0, 0, FrozenDict(title="t"))
    assert check_log([title], seed_dialect="upstream") == ()
    assert [one.seq for one in check_log([title])] == [0]


# -- S7, S14, S15, S16: calls and results ------------------------------------------------------


@pytest.mark.spec("03-197")
def test_s7_a_result_answers_a_call_that_began(log):
    log.answer(calls=["c"])
    log.result("c")
    assert rules(log) == [("S7", "tool/result")]


def test_s7_a_call_is_answered_once(log):
    log.answer(calls=["c"])
    call = log.call("c")
    log.result("c", call_seq=call.seq)
    log.result("c", call_seq=call.seq)
    assert rules(log) == [("S7", "tool/result"), ("S15", "step/end")]


@pytest.mark.parametrize(
    ("calls", "error"),
    [
        (["c"], {"name": "x", "code": "OTHER"}),
        ([], NOT_STARTED),
        (["other"], NOT_STARTED),
    ],
)
def test_s7_only_an_open_call_may_have_not_started(log, calls, error):
    log.answer("x", calls)
    log.result("c", error=error)
    assert ("S7", "tool/result") in rules(log)


def test_s14_calls_begin_as_the_message_asked(log):
    log.answer(calls=["a", "b"])
    for call_id in ("b", "a"):
        log.result(call_id, call_seq=log.call(call_id).seq)
    assert rules(log) == [("S14", "tool/call"), ("S14", "tool/call")]


@pytest.mark.parametrize("change", [{"name": "other"}, {"arguments": '{"x":1}'}])
def test_s14_a_call_is_what_the_message_asked(log, change):
    log.answer(calls=["c"])
    place = {"turn": 1, "step": 1, "callId": "c", "name": "echo", "arguments": "{}"}
    call = log.session.append(TOOL_CALL, {**place, **change})
    log.result("c", call_seq=call.seq)
    assert rules(log) == [("S14", "tool/call")]


def test_s14_nothing_is_called_that_nobody_asked_for(log):
    log.answer("x")
    call = log.call("c")
    log.result("c", call_seq=call.seq)
    assert rules(log) == [("S14", "tool/call"), ("S15", "step/end")]


def test_s15_a_step_ends_with_every_call_answered(log):
    log.answer(calls=["a", "b"])
    log.result("a", call_seq=log.call("a").seq)
    log.call("b")
    assert rules(log) == [("S15", "step/end")]


@pytest.mark.parametrize("act", ["context", "steering", "user"])
def test_s16_nothing_comes_between_a_call_and_its_result(log, act):
    log.answer(calls=["a", "b"])
    log.result("a", call_seq=log.call("a").seq)
    if act == "user":
        log.user()
    else:
        log.context("x", f"{act}/message")
    log.result("b", call_seq=log.call("b").seq)
    assert rules(log) == [("S16", f"{act}/message")]


def test_a_summary_of_earlier_messages_is_not_between_them(log):
    log.answer(calls=["a"])
    log.user("s", replacing=log.session.surface.nodes[:1])
    log.result("a", call_seq=log.call("a").seq)
    assert rules(log) == []


# -- S12, S13: chunks and what is made of them -------------------------------------------------


def test_s12_a_step_has_one_answer(log):
    log.answer("a")
    log.answer("b")
    assert rules(log) == [("S12", "assistant/message")]


@pytest.mark.parametrize("pick", [lambda s: s[1:], lambda s: s[::-1], lambda s: None])
def test_s12_an_answer_cites_exactly_its_chunks_in_order(log, pick):
    seqs = log.chunks(BlockStart(0, "text"), TextDelta(0, "x"), Finish(FinishReason.STOP))
    answer(log, "x", sources=pick(seqs))
    assert rules(log) == [("S12", "assistant/message")]


def test_s12_chunks_of_a_failed_attempt_belong_to_it(log):
    failed = log.attempt("oops")
    answer(log, sources=list(range(failed.data["chunkRange"]["start"], failed.seq)))
    assert rules(log) == [("S12", "assistant/message")]


@pytest.mark.parametrize("shift", [(1, 0), (0, 1), (-1, 0)])
def test_s12_the_range_of_an_attempt_covers_its_chunks(log, shift):
    seqs = log.chunks(BlockStart(0, "text"), TextDelta(0, "x"))
    bounds = {"start": seqs[0] + shift[0], "end": seqs[-1] + shift[1]}
    data = {"turn": 1, "step": 1, "attempt": 1}
    log.append(ASSISTANT_ATTEMPT, **data, chunkRange=bounds)
    assert rules(log) == [("S12", "assistant/attempt")]


def test_s12_an_attempt_names_the_chunks_it_has_and_no_others(log):
    data = {"turn": 1, "step": 1, "attempt": 1}
    log.append(ASSISTANT_ATTEMPT, **data, chunkRange={"start": 1, "end": 1})
    log.chunks(BlockStart(0, "text"))
    log.append(ASSISTANT_ATTEMPT, **data)
    assert rules(log) == [("S12", "assistant/attempt")] * 2


def test_s13_an_answer_says_what_its_chunks_say(log):
    seqs = log.chunks(BlockStart(0, "text"), TextDelta(0, "x"), Finish(FinishReason.STOP))
    answer(log, "y", sources=seqs)
    assert rules(log) == [("S13", "assistant/message")]


def test_s13_an_interrupted_answer_says_what_was_seen(log):
    seqs = log.chunks(BlockStart(0, "text"), TextDelta(0, "x"), BlockStart(1, "tool-call"))
    answer(log, "y", sources=seqs, interrupted=True)
    log.end_step()
    log.begin_step(2)
    seqs = log.chunks(BlockStart(0, "text"), TextDelta(0, "x"), BlockStart(1, "tool-call"))
    answer(log, "x", sources=seqs, interrupted=True)
    assert rules(log) == [("S13", "assistant/message")]


def test_s13_chunks_that_cannot_be_assembled_are_reported(log):
    seqs = log.chunks(BlockStart(0, "hologram"))
    answer(log, "x", sources=seqs)
    log.end_step()
    log.begin_step(2)
    broken = log.append("assistant/chunk", turn=1, step=2, chunk={"type": "hologram"})
    answer(log, "x", sources=[broken.seq])
    assert rules(log) == [("S13", "assistant/message")] * 2


def test_s13_a_rewritten_answer_may_say_anything(log):
    seqs = log.chunks(BlockStart(0, "text"), TextDelta(0, "x"), Finish(FinishReason.STOP))
    answer(log, "y", sources=seqs, rewritten=True)
    assert rules(log) == []


def test_s13_an_answer_without_chunks_is_compared_with_its_records(log):
    answer(log, "made by hand")
    log.end_step()
    timed = [(1, BlockStart(0, "text")), (2, TextDelta(0, "x"))]
    for step, text in ((2, "x"), (3, "y")):
        log.begin_step(step)
        answer(log, text, stream=pack_assistant_stream(timed))
        log.end_step()
    log.begin_step(4)
    answer(log, "x", sources=[])
    assert rules(log) == [("S13", "assistant/message")] * 2


def test_an_answer_in_place_of_earlier_messages_is_no_second_answer(log):
    first = log.answer("a")
    data = thaw(first.data)
    data["message"]["content"] = [TextBlock("short").to_json()]
    log.session.append(
        ASSISTANT_MESSAGE,
        data,
        surface_op={"op": "replace", "start": first.seq, "end": first.seq},
        source_event_seqs=[first.seq],
    )
    assert rules(log) == []


# -- S18: headers ------------------------------------------------------------------------------

CONFIG = {"provider": "p", "model": "m"}


@pytest.mark.parametrize(
    "extra", [{"system": ""}, {"tools": []}, {"adapterDefaults": {}}, {"future": 1}], ids=repr
)
def test_s18_a_header_is_canonical(log, extra):
    log.append(REQUEST_HEADER, reason="initial", header={"config": CONFIG, **extra})
    assert rules(log) == [("S18", "request/header")]


def test_s18_a_change_changes_something(log):
    log.header()
    log.header("m", "resume")
    log.header("n", "change")
    log.header("m", "change")
    assert rules(log) == []
    log.begin_turn()
    log.header("m", "change")
    assert rules(log) == [("S18", "request/header")]


# -- the checker by itself ---------------------------------------------------------------------


def test_a_check_changes_nothing(log):
    log.answer(calls=["c"])
    checker = LogChecker()
    for event in log.events:
        for _ in range(2):
            assert checker.check(event) is None
        checker.commit(event)
    stray = log.call("x")
    assert checker.check(stray) == checker.check(stray)
    assert freeze_json(dict(stray.data)) == stray.data
