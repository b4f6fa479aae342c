"""Each call is followed by its one result, and a cut never comes between them."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from harness.llm import (
    ToolCallBlock,
    create_assistant_message,
    create_tool_result_message,
    create_user_message,
)
from harness.session import repair_tool_adjacency, safe_cut_points
from harness.session.testing import balanced_logs


def asks(*ids: str):
    blocks = [ToolCallBlock(one, "n", "{}") for one in ids]
    return create_assistant_message(blocks, provider="p", model="m")


def answers(call_id: str):
    return create_tool_result_message(call_id, "done")


def says(text: str = "x"):
    return create_user_message(text)


def shape(messages):
    """Spell a history: `?c` asks, `=c` answers, `!c` is an invented answer, `.` is the rest."""
    words: list[str] = []
    for message in messages:
        block = message.content[0]
        if message.role == "assistant":
            words.append("?" + "".join(one.id for one in message.content))
        elif block.type == "tool-result":
            invented = message.id.startswith("missing-tool-result-")
            assert bool(block.is_error) == invented
            words.append(("!" if invented else "=") + block.tool_call_id)
        else:
            words.append(".")
    return " ".join(words)


@pytest.mark.spec("03-69")
@pytest.mark.parametrize(
    ("history", "expected"),
    [
        ([says(), asks("c"), says(), answers("c")], ". ?c =c ."),
        ([says(), answers("c")], "."),
        ([answers("c"), asks("c")], "?c !c"),
        ([asks("a", "b"), answers("b"), says()], "?ab !a =b ."),
        ([asks("a", "b"), answers("b"), answers("a")], "?ab =a =b"),
        ([asks("a"), answers("a"), says(), answers("a")], "?a =a ."),
        ([asks("a"), asks("a"), answers("a")], "?a !a ?a =a"),
        ([asks("a", "a"), answers("a")], "?aa =a !a"),
        ([asks("a"), asks("b"), answers("a"), answers("b")], "?a =a ?b =b"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_history_is_repaired(history, expected):
    before = list(history)
    repaired = repair_tool_adjacency(history)
    assert shape(repaired) == expected
    assert history == before
    assert repair_tool_adjacency(repaired) is repaired


@pytest.mark.spec("03-69")
@pytest.mark.parametrize(
    "history",
    [
        [],
        [says()],
        [says(), asks("a", "b"), answers("a"), answers("b"), says()],
        [asks("a"), answers("a"), asks("a"), answers("a")],
        [asks("a", "a"), answers("a"), answers("a")],
    ],
    ids=shape,
)
def test_a_history_that_conforms_is_returned_as_it_is(history):
    assert repair_tool_adjacency(history) is history


ids = st.sampled_from("abc")
histories = st.lists(
    st.lists(ids, min_size=1, max_size=3).map(lambda some: asks(*some))
    | ids.map(answers)
    | st.just(1).map(lambda _: says()),
    max_size=12,
)


@pytest.mark.spec("03-69")
@given(histories)
def test_any_history_conforms_after_one_repair(history):
    repaired = repair_tool_adjacency(history)
    assert repair_tool_adjacency(repaired) is repaired
    rest = [message for message in repaired if message.content[0].type != "tool-result"]
    assert rest == [message for message in history if message.content[0].type != "tool-result"]
    words = shape(repaired).split()
    while words:
        word = words.pop(0)
        if word.startswith("?"):
            following = [words.pop(0) for _ in word[1:]]
            assert [one[1:] for one in following] == list(word[1:])
        else:
            assert word == "."


@pytest.mark.spec("03-54")
def test_a_cut_never_comes_between_a_call_and_its_results(log):
    log.begin_turn()
    log.user()
    log.step(calls=["c1", "c2"])
    log.user()
    assert len(log.session.surface) == 5
    assert safe_cut_points(log.session) == (0, 1, 4, 5)
    log.session.append("todo/write", {})
    assert safe_cut_points(log.session) == (0, 1, 4, 5)


@pytest.mark.spec("03-54")
def test_results_still_to_come_count_as_behind_a_cut(log):
    assert safe_cut_points(log.session) == (0,)
    log.begin_turn()
    log.user()
    log.begin_step()
    log.answer(calls=["c", "c"])
    assert safe_cut_points(log.session) == (0, 1)
    log.result("c", call_seq=log.call("c").seq)
    assert safe_cut_points(log.session) == (0, 1)
    log.result("c", call_seq=log.call("c").seq)
    assert safe_cut_points(log.session) == (0, 1, 4)


def test_a_call_that_can_have_no_result_any_more_prevents_no_cut(log):
    log.begin_turn()
    log.begin_step()
    log.answer(calls=["c"])
    log.end_step()
    log.begin_step(2)
    log.answer("x")
    assert safe_cut_points(log.session) == (0, 1, 2)


def test_an_answer_that_is_not_shown_prevents_no_cut(log):
    log.begin_turn()
    log.begin_step()
    log.answer(is_interrupted=True)
    log.end_step()
    log.begin_step(2)
    log.answer("x")
    assert safe_cut_points(log.session) == (0, 1, 2)


@given(balanced_logs())
def test_a_cut_is_safe_exactly_when_both_its_parts_conform(log):
    session = log.session
    nodes = [
        (position, message)
        for position, seq in enumerate(session.surface.nodes)
        if (message := session.derive_event_message(session.event(seq))) is not None
    ]
    history = [message for _, message in nodes]
    assume(repair_tool_adjacency(history) is history)
    safe = safe_cut_points(session)
    for point in range(len(session.surface) + 1):
        parts = (
            [message for position, message in nodes if position < point],
            [message for position, message in nodes if position >= point],
        )
        assert (point in safe) == all(repair_tool_adjacency(part) is part for part in parts)
