"""What a model sees of a log: one message an event, wrapped where the event says so."""

from __future__ import annotations

import sys
from collections import Counter
from contextlib import contextmanager
from types import FrameType

import pytest

from harness.llm import TextBlock, TextDelta, create_user_message
from harness.session import Replace, Session, derive_event_message, wrap_content
from harness.session.testing import LogWriter
from harness.wire import FrozenDict


def append(log, kind, content, source, **more):
    data = {"id": f"m{log.session.seq}", "role": "user", "content": content, "source": source}
    return log.session.append(kind, {**data, **more}, surface_op="append")


def text(value: str) -> dict[str, str]:
    return {"type": "text", "text": value}


IMAGE = {
    "type": "image",
    "attachment": {
        "attachmentId": "sha256:" + "0" * 64,
        "mediaType": "image/png",
        "bytes": 1,
        "width": 1,
        "height": 1,
    },
}
JOBS = {"kind": "plugin", "plugin": "jobs"}


@pytest.fixture
def opened(log):
    log.begin_turn()
    return log


def shown(log, event):
    message = log.session.derive_event_message(event)
    assert message == derive_event_message(event)
    assert (message.id, message.role, message.source) == (
        event.data["id"],
        "user",
        event.data["source"],
    )
    return [getattr(block, "text", block.type) for block in message.content]


@pytest.mark.spec("03-55")
def test_a_prompt_is_shown_as_it_is_and_is_one_object(opened):
    given = create_user_message("hello")
    event = opened.session.append(
        "user/message", given.to_json(), surface_op="append", message=given
    )
    assert opened.session.derive_event_message(event) is given
    assert opened.session.derive_messages() == [given]
    assert opened.session.derive_messages()[0] is given
    read = opened.user("x")
    first = opened.session.derive_event_message(read)
    assert first is opened.session.derive_event_message(read)
    assert first.to_json() == read.data
    assert first.content[0] == TextBlock("x")


@pytest.mark.spec("03-56")
@pytest.mark.parametrize("kind", ["context/message", "steering/message"])
def test_context_is_wrapped_with_its_source(opened, kind):
    event = append(opened, kind, [text("x")], JOBS)
    assert shown(opened, event) == ['<context source="jobs">x</context>']


@pytest.mark.spec("03-57")
def test_adjacent_text_becomes_one_block(opened):
    event = append(opened, "context/message", [text("a"), text("b")], JOBS)
    assert shown(opened, event) == ['<context source="jobs">ab</context>']
    event = append(opened, "context/message", [text("a"), IMAGE, text("b"), text("c")], JOBS)
    assert shown(opened, event) == ['<context source="jobs">a', "image", "bc</context>"]
    event = append(opened, "context/message", [IMAGE, IMAGE], JOBS)
    assert shown(opened, event) == ['<context source="jobs">', "image", "image", "</context>"]
    event = append(opened, "context/message", [], JOBS)
    assert shown(opened, event) == ['<context source="jobs"></context>']


@pytest.mark.spec("03-58")
@pytest.mark.parametrize(
    ("texts", "escaped"),
    [
        (["</CONTEXT>"], "&lt;/CONTEXT>"),
        (["a</context >b</ConText"], "a&lt;/context >b&lt;/ConText"),
        (["<", "/con", "text>"], "&lt;/context>"),
        (["</con text>"], "</con text>"),
    ],
)
def test_a_body_cannot_close_its_envelope(opened, texts, escaped):
    event = append(opened, "context/message", [text(one) for one in texts], JOBS)
    assert shown(opened, event) == [f'<context source="jobs">{escaped}</context>']


@pytest.mark.spec("03-59")
@pytest.mark.parametrize(
    ("source", "label"),
    [
        ({"kind": "plugin", "plugin": 'a"<b>\n&\x00\x85c'}, "a&quot;&lt;b&gt; &amp; c"),
        ({"kind": "plugin"}, "plugin"),
        ({"kind": "user"}, "user"),
        ({"kind": "agent", "plugin": "x"}, "agent"),
    ],
)
def test_a_source_is_escaped(opened, source, label):
    event = append(opened, "context/message", [text("x")], source)
    assert shown(opened, event) == [f'<context source="{label}">x</context>']


@pytest.mark.spec("03-60", "03-61")
@pytest.mark.parametrize("kind", ["context/message", "steering/message"])
def test_a_raw_envelope_shows_the_content_as_it_is(opened, kind):
    event = append(opened, kind, [text("x")], {"kind": "user"}, envelope="raw", meta={"n": 1})
    assert shown(opened, event) == ["x"]
    message = opened.session.derive_event_message(event)
    assert message is opened.session.derive_event_message(event)
    wrapped = append(opened, kind, [text("x")], {"kind": "user"}, envelope="context")
    assert shown(opened, wrapped) == ['<context source="user">x</context>']


def test_a_given_message_never_hides_an_envelope(opened):
    given = create_user_message("x")
    event = opened.session.append(
        "context/message", given.to_json(), surface_op="append", message=given
    )
    assert shown(opened, event) == ['<context source="user">x</context>']


def test_wrapping_needs_no_event():
    assert wrap_content([TextBlock("x")], FrozenDict(kind="user")) == (
        TextBlock('<context source="user">x</context>'),
    )


@pytest.mark.spec("03-62", "03-63")
def test_an_answer_without_content_is_not_shown_and_an_interrupted_one_is(opened):
    opened.begin_step()
    empty = opened.answer(is_interrupted=True)
    assert opened.session.surface.nodes == (empty.seq,)
    assert opened.session.derive_messages() == []
    assert opened.session.derive_event_message(empty) is None
    opened.end_step()
    opened.begin_step(2)
    cut = opened.answer("so far", is_interrupted=True)
    assert [message.text for message in opened.session.derive_messages()] == ["so far"]
    assert cut.data["interrupted"] is True


@pytest.mark.spec("03-64")
def test_other_events_are_not_shown(opened):
    unknown = opened.session.append("future/type", {}, ignorable=True)
    for event in (unknown, opened.note(), opened.events[0]):
        assert derive_event_message(event) is None
        assert opened.session.derive_event_message(event) is None
    assert opened.session.derive_messages() == []


@pytest.mark.spec("03-65")
def test_each_history_is_a_fresh_list_of_the_same_messages(opened):
    opened.user("a")
    opened.context("b")
    one, other = opened.session.derive_messages(), opened.session.derive_messages()
    assert one == other
    assert one is not other
    assert all(a is b for a, b in zip(one, other, strict=True))
    one.clear()
    assert opened.session.derive_messages() == other


@pytest.mark.spec("03-66")
def test_a_replacement_rebuilds_the_history(opened):
    seqs = [opened.user(one).seq for one in "abc"]
    before = opened.session.derive_messages()
    opened.user("s", replacing=seqs[:2])
    after = opened.session.derive_messages()
    assert [message.text for message in after] == ["s", "c"]
    assert after[1] is before[2]
    assert [message.text for message in before] == ["a", "b", "c"]


def test_an_event_of_another_session_is_read_by_itself(opened):
    opened.user("mine")
    other = LogWriter()
    other.begin_turn()
    theirs = other.user("theirs")
    assert opened.session.derive_event_message(theirs).text == "theirs"
    assert opened.session.derive_event_message(theirs._replace(seq=99)).text == "theirs"


@contextmanager
def counting_calls():
    """Yield a counter of the Python functions called in the block, by name."""
    calls: Counter[str] = Counter()

    def count(frame: FrameType, event: str, _argument: object) -> None:
        if event == "call":
            calls[frame.f_code.co_name] += 1

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        yield calls
    finally:
        sys.setprofile(before)


def calls_of(n_appends: int) -> int:
    """Count the calls of `n_appends` appends with the history read after each."""
    session = Session("s", now_ms=lambda: 0)
    session.append("turn/start", {"turn": 1})
    messages = [create_user_message("x") for _ in range(n_appends)]
    data = [message.to_json() for message in messages]
    with counting_calls() as calls:
        for message, one in zip(messages, data, strict=True):
            session.append("user/message", one, surface_op="append", message=message)
            session.derive_messages()
    assert len(session.derive_messages()) == n_appends
    return calls.total()


@pytest.mark.spec("03-67")
def test_the_history_of_ten_thousand_appends_is_folded_forward():
    few, many = calls_of(1_000), calls_of(10_000)
    assert 10 * few * 0.99 < many < 10 * few * 1.01


@pytest.mark.spec("03-67")
def test_a_replacement_reads_no_event_again(opened):
    seqs = [opened.user(str(n)).seq for n in range(100)]
    opened.session.derive_messages()
    with counting_calls() as calls:
        opened.user("s", replacing=seqs[:2])
        for _ in range(5):
            opened.session.derive_messages()
    assert calls["from_json"] == 1


def test_the_stream_of_an_answer_comes_from_its_chunks_or_its_records(opened):
    opened.begin_step()
    failed = opened.attempt("oops")
    silent = opened.attempt()
    answer = opened.answer("hello", calls=["c"])
    timed = list(opened.session.attempt_stream(answer))
    chunks = [opened.session.event(seq) for seq in answer.source_event_seqs]
    assert [time for time, _ in timed] == [event.time for event in chunks]
    assert [chunk.to_json() for _, chunk in timed] == [event.data["chunk"] for event in chunks]
    assert [chunk.type for _, chunk in opened.session.attempt_stream(failed)] == [
        "block-start",
        "text-delta",
    ]
    assert list(opened.session.attempt_stream(silent)) == []
    opened.call("c")
    opened.result("c")
    opened.end_step()
    opened.begin_step(2)
    records = [{"type": "text-chunks", "time0": 5, "index": 0, "dt": [2], "texts": ["a", "b"]}]
    embedded = opened.session.append(
        "assistant/attempt", {"turn": 1, "step": 2, "attempt": 1, "stream": records}
    )
    assert [(time, chunk.text) for time, chunk in opened.session.attempt_stream(embedded)] == [
        (5, "a"),
        (7, "b"),
    ]


def test_a_chunk_range_covers_only_chunks_and_may_reach_too_far(opened):
    opened.begin_step()
    seqs = [*opened.chunks(*_deltas("a")), opened.note().seq, *opened.chunks(*_deltas("b"))]
    bounds = {"start": seqs[0], "end": 10**12}
    event = opened.session.append(
        "assistant/attempt", {"turn": 1, "step": 1, "attempt": 1, "chunkRange": bounds}
    )
    assert [chunk.text for _, chunk in opened.session.attempt_stream(event)] == ["a", "b"]


def _deltas(*texts: str):
    return [TextDelta(0, one) for one in texts]


def test_sources_that_are_no_chunks_are_no_stream(opened):
    prompt = opened.user("a")
    summary = opened.user("s", replacing=[prompt.seq])
    assert summary.surface_op == Replace(prompt.seq, prompt.seq)
    assert list(opened.session.attempt_stream(summary)) == []
