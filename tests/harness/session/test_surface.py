"""The surface: appends, replacements, what they may replace, and windows of a log."""

from __future__ import annotations

import pytest

from harness.session import (
    Replace,
    Replacement,
    SessionSurface,
    SurfaceError,
    event_from_json,
    fold_surface,
    is_append_surface_event,
    is_replacement_surface_event,
    is_surface_event,
)
from harness.wire import thaw


@pytest.fixture
def three(log):
    """Return a log of three prompts at seqs 1, 2, 3 of an open turn."""
    log.begin_turn()
    for text in "abc":
        log.user(text)
    return log


def texts(log):
    return [message.text for message in log.session.derive_messages()]


def replace(log, op, sources, text="s"):
    source = {"kind": "user"}
    content = [{"type": "text", "text": text}]
    data = {"id": text, "role": "user", "content": content, "source": source}
    before = (log.events, log.session.surface.nodes, log.session.surface.replace_generation)
    try:
        return log.session.append("user/message", data, surface_op=op, source_event_seqs=sources)
    except SurfaceError:
        after = (log.events, log.session.surface.nodes, log.session.surface.replace_generation)
        assert after == before
        raise


@pytest.mark.spec("03-43")
def test_a_replacement_takes_the_place_of_the_first_two(three):
    assert texts(three) == ["a", "b", "c"]
    event = replace(three, {"op": "replace", "start": 1, "end": 2}, [1, 2])
    assert event.surface_op == Replace(1, 2)
    assert three.session.surface.nodes == (4, 3)
    assert three.session.surface.replace_generation == 1
    assert len(three.session.surface) == 2
    assert texts(three) == ["s", "c"]


@pytest.mark.spec("03-44")
def test_bounds_are_nodes_of_the_surface_in_order(three):
    replace(three, Replace(1, 2), [1, 2])
    for op, missing in ((Replace(1, 3), 1), (Replace(4, 2), 2), (Replace(0, 3), 0)):
        with pytest.raises(SurfaceError, match=f"event {missing} is not on the surface"):
            replace(three, op, [0, 1, 2, 3, 4])
    with pytest.raises(SurfaceError, match="starts at 3, which is behind 4"):
        replace(three, Replace(3, 4), [3, 4])


@pytest.mark.spec("03-45")
def test_sources_name_all_that_is_replaced_and_may_name_more(three):
    with pytest.raises(SurfaceError, match=r"must include \[2\]"):
        replace(three, Replace(1, 3), [1, 3])
    with pytest.raises(SurfaceError, match=r"must include \[1, 2\]"):
        replace(three, Replace(1, 2), None)
    assert replace(three, Replace(1, 2), [0, 2, 1]).source_event_seqs == (0, 2, 1)


@pytest.mark.spec("03-46")
@pytest.mark.parametrize(
    "sources",
    [[1, 1], [1, [0, 2]], [9], [4], [-1], [True], [1.0], ["1"], [[0, 9]], [[2, 1]], [[1]]],
    ids=repr,
)
def test_sources_are_unique_earlier_seqs(three, sources):
    with pytest.raises(SurfaceError):
        replace(three, "append", sources)
    stored = {"type": "user/message", "seq": 4, "time": 0, "data": {}, "surfaceOp": "append"}
    with pytest.raises(SurfaceError):
        event_from_json({**stored, "sourceEventSeqs": sources})


def test_sources_may_be_written_as_runs(three):
    assert replace(three, "append", [[0, 2], 3]).source_event_seqs == (0, 1, 2, 3)


def test_a_huge_list_of_sources_is_refused_before_it_is_expanded():
    stored = {"type": "user/message", "seq": 2**53 - 1, "time": 0, "data": {}}
    for sources in ([[0, 2**53 - 2]], [[0, 999_999]] * 5):
        with pytest.raises(SurfaceError, match="too many"):
            event_from_json({**stored, "surfaceOp": "append", "sourceEventSeqs": sources})


@pytest.mark.spec("03-47")
def test_only_an_answer_may_have_an_empty_list_of_sources(log):
    log.begin_turn()
    with pytest.raises(SurfaceError, match="must not be empty"):
        replace(log, "append", [])
    log.begin_step()
    message = log.answer(is_interrupted=True)
    assert (message.type, message.source_event_seqs) == ("assistant/message", ())


@pytest.mark.spec("03-48")
@pytest.mark.parametrize(
    "op",
    [
        {"op": "replace", "start": 1},
        {"op": "replace", "start": 1, "end": 2, "x": 1},
        {"op": "replace", "start": 1.0, "end": 2},
        {"op": "replace", "start": True, "end": 2},
        {"op": "replace", "start": -1, "end": 2},
        {"op": "remove", "start": 1, "end": 2},
        {"op": "replace", "start": 1, "endSeq": 2},
        {"start": 1, "end": 2},
        {},
        [],
        (1, 2),
        "replace",
        Replace(True, 2),
        Replace(1, 2.0),  # pyright: ignore[reportArgumentType] - wrong on purpose
    ],
    ids=repr,
)
def test_a_malformed_operation_is_refused(three, op):
    with pytest.raises(SurfaceError, match="malformed surface operation"):
        replace(three, op, [1, 2])


def test_the_bound_names_of_newer_logs_are_read(three):
    op = {"op": "replace", "startSeq": 1, "endSeq": 2}
    assert replace(three, op, [1, 2]).surface_op == Replace(1, 2)


@pytest.fixture
def answered(log):
    """Return a log whose surface is a prompt, an answer with two calls, and two results."""
    log.begin_turn()
    log.user()
    log.begin_step()
    log.answer(calls=["c1", "c2"])
    for call_id in ("c1", "c2"):
        log.result(call_id, "long", call_seq=log.call(call_id).seq, meta={"n": 1})
    return log


def rewrite(log, seq: int, change, end: int | None = None):
    data = thaw(log.session.event(seq).data)
    change(data, data["message"]["content"][0])
    nodes = log.session.surface.nodes
    end = seq if end is None else end
    return log.session.append(
        "tool/result",
        data,
        surface_op=Replace(seq, end),
        source_event_seqs=[one for one in nodes if seq <= one <= end],
    )


@pytest.mark.spec("03-49")
def test_a_result_may_be_replaced_by_one_with_other_content(answered):
    user, answer, first, second = answered.session.surface.nodes
    event = rewrite(answered, first, lambda _data, block: block.update(content=[]))
    assert answered.session.surface.nodes == (user, answer, event.seq, second)
    again = rewrite(answered, event.seq, lambda _data, block: block.update(content=[]))
    assert answered.session.surface.nodes == (user, answer, again.seq, second)
    answered.end_step()
    answered.begin_step(2)
    later = rewrite(answered, second, lambda _data, block: block.update(content=[]))
    assert later.data["step"] == 1


@pytest.mark.spec("03-49")
@pytest.mark.parametrize(
    "change",
    [
        lambda data, block: block.update(isError=True),
        lambda data, block: data.update(meta={"n": 2}),
        lambda data, block: data.pop("meta"),
        lambda data, block: data.update(error={"name": "x", "code": "X"}),
        lambda data, block: data.update(turn=2),
        lambda data, block: data.update(step=2),
        lambda data, block: data["message"].update(id="other"),
        lambda data, block: (
            data["message"]["source"].update(callId="c2"),
            block.update(toolCallId="c2"),
        ),
    ],
)
def test_a_rewritten_result_changes_nothing_else(answered, change):
    before = answered.events
    result = answered.session.surface.nodes[2]
    with pytest.raises(SurfaceError, match="may change only the content"):
        rewrite(answered, result, change)
    assert answered.events == before


@pytest.mark.spec("03-49")
def test_a_result_replaces_exactly_one_result(answered):
    user, answer, first, second = answered.session.surface.nodes
    for start, end in ((first, second), (answer, answer), (user, user)):
        data = answered.session.event(first).data
        nodes = [one for one in answered.session.surface.nodes if start <= one <= end]
        with pytest.raises(SurfaceError, match="exactly one tool/result"):
            answered.session.append(
                "tool/result", data, surface_op=Replace(start, end), source_event_seqs=nodes
            )


@pytest.mark.spec("03-50")
def test_a_replacement_may_be_replaced(three):
    replace(three, Replace(1, 2), [1, 2])
    replace(three, Replace(4, 4), [4], "t")
    assert three.session.surface.nodes == (5, 3)
    three.user("d")
    replace(three, Replace(5, 6), [5, 3, 6], "u")
    assert three.session.surface.nodes == (7,)
    assert three.session.surface.replace_generation == 3
    assert texts(three) == ["u"]


@pytest.mark.spec("03-51")
def test_a_fold_gives_the_surface_and_what_each_replacement_removed(three):
    replace(three, Replace(1, 2), [2, 1])
    replace(three, Replace(4, 3), [3, 4], "t")
    nodes, replacements = fold_surface(three.events)
    assert nodes == three.session.surface.nodes == (5,)
    assert replacements == (Replacement(4, 1, 2, (1, 2)), Replacement(5, 4, 3, (4, 3)))
    assert fold_surface([]) == ((), ())


@pytest.mark.spec("03-52")
def test_a_window_begins_anywhere(three):
    event = replace(three, Replace(1, 2), [1, 2])
    shifted = [
        one._replace(
            seq=one.seq + 100,
            surface_op=Replace(101, 102) if one is event else one.surface_op,
            source_event_seqs=(101, 102) if one is event else one.source_event_seqs,
        )
        for one in three.events
    ]
    window = SessionSurface([], base_seq=100)
    removed = [window.apply(one) for one in shifted]
    assert removed == [(), (), (), (), (101, 102)]
    assert window.nodes == (104, 103)
    assert fold_surface(shifted)[0] == (104, 103)
    for wrong in (shifted[0], shifted[4]._replace(seq=106)):
        with pytest.raises(SurfaceError, match="expected event 105"):
            window.apply(wrong)


def test_a_window_checks_what_nobody_has_read(three):
    window = SessionSurface([])
    for event in three.events:
        window.apply(event)
    for seqs in ((9,), (True,), (-1,), (1, 1)):
        wrong = three.events[1]._replace(seq=4, source_event_seqs=seqs)
        with pytest.raises(SurfaceError):
            window.apply(wrong)
    assert window.nodes == (1, 2, 3)


@pytest.mark.spec("03-53")
def test_people_still_see_what_was_compacted(three):
    event = replace(three, Replace(1, 3), [1, 2, 3])
    shown = [one.seq for one in three.events if is_append_surface_event(one)]
    assert shown == [1, 2, 3]
    assert is_replacement_surface_event(event)
    assert [one.seq for one in three.events if is_surface_event(one)] == [1, 2, 3, 4]
    assert [one for one in three.events if is_replacement_surface_event(one)] == [event]


def test_an_answer_may_take_the_place_of_a_run(answered):
    answered.end_step()
    answered.begin_step(2)
    nodes = answered.session.surface.nodes
    data = thaw(answered.session.event(nodes[1]).data) | {"step": 2}
    data["message"]["content"] = [{"type": "text", "text": "short"}]
    event = answered.session.append(
        "assistant/message",
        data,
        surface_op=Replace(nodes[1], nodes[3]),
        source_event_seqs=nodes[1:],
    )
    assert answered.session.surface.nodes == (nodes[0], event.seq)
    assert texts(answered) == ["hi", "short"]
