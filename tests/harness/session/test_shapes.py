"""What the data of messages, headers and calls must look like."""

from __future__ import annotations

import pytest

from harness.session import MessageShapeError

TEXT = {"type": "text", "text": "x"}
MODEL = {"kind": "model", "provider": "p", "model": "m"}
TOOL = {"kind": "tool", "callId": "c"}


@pytest.fixture
def append(log):
    """Append into an open step of turn 1, and see that a refused event changes nothing."""
    log.begin_turn()
    log.begin_step()

    def append(kind, data, **marker):
        before = log.events
        try:
            return log.session.append(kind, data, **marker)
        finally:
            if log.events is not before:
                assert len(log.events) == len(before) + 1

    return append


def message(**changes: object) -> dict[str, object]:
    made = {"id": "m", "role": "user", "content": [TEXT], "source": {"kind": "user"}}
    return {key: value for key, value in {**made, **changes}.items() if value != "absent"}


@pytest.mark.parametrize(
    "changes",
    [
        {"id": ""},
        {"id": "absent"},
        {"id": 1},
        {"role": "assistant"},
        {"role": "tool"},
        {"content": "x"},
        {"content": "absent"},
        {"content": [5]},
        {"content": [{}]},
        {"content": [{"type": ""}]},
        {"content": [{"type": "text"}]},
        {"content": [{"type": "text", "text": 5}]},
        {"source": "absent"},
        {"source": {"kind": ""}},
        {"source": []},
        {"source": {}},
    ],
    ids=repr,
)
@pytest.mark.parametrize("kind", ["user/message", "context/message", "steering/message"])
def test_a_user_message_is_identified_and_readable(append, kind, changes):
    with pytest.raises(MessageShapeError, match=kind):
        append(kind, message(**changes), surface_op="append")
    assert append(kind, message(), surface_op="append").type == kind


def test_an_unknown_envelope_is_refused(append):
    with pytest.raises(MessageShapeError, match="envelope"):
        append("context/message", message(envelope="xml"), surface_op="append")
    for envelope in ("raw", "context"):
        append("steering/message", message(envelope=envelope), surface_op="append")


@pytest.mark.spec("03-30")
@pytest.mark.parametrize(
    "changes",
    [
        {"id": ""},
        {"role": "user"},
        {"source": {"kind": "user"}},
        {"source": {"kind": "model", "model": "m"}},
        {"source": {"kind": "model", "provider": "", "model": "m"}},
        {"source": {"kind": "model", "provider": "p", "model": 1}},
        {"content": [{"type": "tool-call", "id": "c", "name": "n"}]},
    ],
    ids=repr,
)
def test_an_answer_names_its_model(append, changes):
    answer = message(role="assistant", source=MODEL)
    data = {"turn": 1, "step": 1}
    with pytest.raises(MessageShapeError, match="assistant/message"):
        append("assistant/message", {**data, "message": {**answer, **changes}}, surface_op="append")
    with pytest.raises(MessageShapeError, match="object 'message'"):
        append("assistant/message", data, surface_op="append")
    append("assistant/message", {**data, "message": answer}, surface_op="append")


BLOCK = {"type": "tool-result", "toolCallId": "c", "content": [TEXT]}


@pytest.mark.spec("03-31")
@pytest.mark.parametrize(
    "changes",
    [
        {"content": []},
        {"content": [BLOCK, BLOCK]},
        {"content": ["x"]},
        {"content": [TEXT]},
        {"content": [{**BLOCK, "toolCallId": "other"}]},
        {"content": [{**BLOCK, "content": "x"}]},
        {"content": [{**BLOCK, "content": [{"type": "text"}]}]},
        {"role": "assistant"},
        {"source": {"kind": "user"}},
        {"source": {"kind": "tool"}},
        {"source": {"kind": "tool", "callId": ""}},
        {"id": ""},
    ],
    ids=repr,
)
def test_a_tool_result_answers_exactly_one_call(append, changes):
    result = message(content=[BLOCK], source=TOOL)
    data = {"turn": 1, "step": 1}
    with pytest.raises(MessageShapeError, match="tool/result"):
        append("tool/result", {**data, "message": {**result, **changes}}, surface_op="append")
    append("tool/result", {**data, "message": result}, surface_op="append")


CONFIG = {"provider": "p", "model": "m"}


@pytest.mark.spec("03-32", "03-33")
@pytest.mark.parametrize(
    ("reason", "header"),
    [
        ("fallback", {"config": CONFIG}),
        (None, {"config": CONFIG}),
        ("initial", None),
        ("initial", {}),
        ("initial", {"config": {"model": "m"}}),
        ("initial", {"config": {"provider": "p", "model": ""}}),
        ("initial", {"config": {**CONFIG, "reasoningEffort": ""}}),
        ("initial", {"config": CONFIG, "adapterDefaults": {"maxTokens": True}}),
        ("initial", {"config": CONFIG, "adapterDefaults": {"x": True}}),
        ("initial", {"config": {**CONFIG, "maxTokens": 1}, "adapterDefaults": {"maxTokens": 1}}),
        ("initial", {"config": CONFIG, "adapterDefaults": []}),
    ],
    ids=repr,
)
def test_a_request_header_is_complete(append, log, reason, header):
    with pytest.raises(MessageShapeError, match="request/header"):
        append("request/header", {"reason": reason, "header": header})
    assert log.session.request_header() is None
    config = {**CONFIG, "maxTokens": 1, "reasoningEffort": "high"}
    defaults = {"maxTokens": True, "reasoningEffort": True}
    whole = {"config": config, "adapterDefaults": defaults}
    append("request/header", {"reason": "initial", "header": whole})
    assert log.session.request_header() == whole


@pytest.mark.spec("03-32")
def test_a_header_delta_is_refused_even_where_unknown_types_are_not(append):
    with pytest.raises(MessageShapeError, match="not written any more"):
        append("request/header-delta", {}, ignorable=True)


@pytest.mark.parametrize(
    "data",
    [
        {},
        {"provider": "p"},
        {"provider": "p", "model": ""},
        {**CONFIG, "contextWindow": None},
        {**CONFIG, "contextWindow": 0},
        {**CONFIG, "contextWindow": True},
    ],
    ids=repr,
)
def test_a_request_context_names_a_route(append, log, data):
    with pytest.raises(MessageShapeError, match="request/context"):
        append("request/context", data)
    assert log.session.request_context() is None
    append("request/context", {**CONFIG, "contextWindow": 10})
    assert log.session.request_context() == ("p", "m", 10)


@pytest.mark.parametrize(
    "changes", [{"callId": ""}, {"callId": 1}, {"name": None}, {"arguments": {}}], ids=repr
)
def test_a_tool_call_names_what_it_calls(append, changes):
    call = {"turn": 1, "step": 1, "callId": "c", "name": "n", "arguments": "{}"}
    with pytest.raises(MessageShapeError, match="tool/call"):
        append("tool/call", {**call, **changes})
    append("tool/call", call)


@pytest.mark.parametrize(
    "bounds",
    [None, [], {}, {"start": 2, "end": 1}, {"start": -1, "end": 1}, {"start": True, "end": 1}],
    ids=repr,
)
def test_the_chunk_range_of_an_attempt_is_two_seqs(append, bounds):
    attempt = {"turn": 1, "step": 1, "attempt": 1}
    with pytest.raises(MessageShapeError, match="chunkRange"):
        append("assistant/attempt", {**attempt, "chunkRange": bounds})
    append("assistant/attempt", attempt)
    append("assistant/attempt", {**attempt, "chunkRange": {"start": 0, "end": 1}})
