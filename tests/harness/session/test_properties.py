"""Properties of whole logs: replay, noise, repair of any prefix, detection of any edit."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from harness.invariants import check_log
from harness.session import (
    END_SEED,
    SURFACE_TYPES,
    Replace,
    Session,
    SessionEvent,
    derive_event_message,
    fold_surface,
    interrupted_turn_closers,
    repair_tool_adjacency,
)
from harness.session.testing import LogWriter, balanced_logs
from harness.wire import FrozenDict, freeze_json, thaw

logs = balanced_logs()


@st.composite
def log_prefixes(draw: st.DrawFn) -> tuple[SessionEvent, ...]:
    events = draw(logs).events
    return events[: draw(st.integers(0, len(events)))]


@given(logs)
def test_what_the_writer_writes_breaks_no_rule(log):
    assert check_log(log.events, is_complete=True) == ()


@pytest.mark.spec("03-P2", "03-202")
@given(log_prefixes())
def test_any_prefix_is_balanced_by_its_closers(prefix):
    closers = interrupted_turn_closers(prefix)
    whole = (*prefix, *closers)
    assert interrupted_turn_closers(whole) == []
    assert check_log(whole, is_complete=True) == ()
    session = Session.create("s", whole)
    if fold_surface(prefix)[1] == ():
        history = session.derive_messages()
        assert repair_tool_adjacency(history) is history
    LogWriter(session).turn()


@pytest.mark.spec("03-P3", "03-202")
@given(logs, st.lists(st.booleans(), min_size=60, max_size=60))
def test_the_history_is_the_fold_of_the_surface_whenever_it_was_read(log, reads):
    session = Session("s", now_ms=lambda: 0)
    for event, is_read in zip(log.events, reads, strict=False):
        session.append(
            event.type,
            event.data,
            surface_op=event.surface_op,
            source_event_seqs=event.source_event_seqs,
        )
        if is_read:
            session.derive_messages()
    nodes, _ = fold_surface(session.events)
    derived = [derive_event_message(session.event(seq)) for seq in nodes]
    assert session.derive_messages() == [one for one in derived if one is not None]


@pytest.mark.spec("03-P4", "03-202")
@given(logs)
def test_a_replay_derives_the_same(log):
    source = log.session
    replayed = Session.create("replayed", log.events)
    assert replayed.events[:-1] == log.events
    assert replayed.derive_messages() == source.derive_messages()
    assert replayed.surface.nodes == source.surface.nodes
    assert replayed.request_header() == source.request_header()
    assert replayed.request_context() == source.request_context()
    again = Session.create("again", replayed.events)
    assert again.events == replayed.events
    assert [event.type for event in again.events].count(END_SEED) == 1


@pytest.mark.spec("03-P5", "03-202")
@given(logs, st.data())
def test_log_only_noise_changes_no_history(log, data):
    before = log.session.derive_messages()
    noisy: list[SessionEvent] = []
    moved: dict[int, int] = {}
    for event in log.events:
        noisy.append(remapped(event, moved)._replace(seq=len(noisy)))
        moved[event.seq] = noisy[-1].seq
        is_open = Session.create("s", noisy, allow_open_turn=True).open_turn is not None
        if is_open and data.draw(st.booleans()):
            noisy.append(SessionEvent("todo/write", len(noisy), 0, FrozenDict(todos=())))
        if is_open and data.draw(st.integers(0, 5)) == 0:
            unknown = SessionEvent("future/type", len(noisy), 0, FrozenDict(), ignorable=True)
            noisy.append(unknown)
    assert Session.create("s", noisy).derive_messages() == before


def remapped(event: SessionEvent, moved: dict[int, int]) -> SessionEvent:
    """Return the event with its references moved."""
    op, sources = event.surface_op, event.source_event_seqs
    if isinstance(op, Replace):
        op = Replace(moved.get(op.start, -1), moved.get(op.end, -1))
    if sources is not None:
        sources = tuple(moved[one] for one in sources if one in moved)
    data = event.data
    if "chunkRange" in data:
        bounds = {key: moved.get(one, 0) for key, one in data["chunkRange"].items()}
        data = freeze_json({**data, "chunkRange": bounds})
    return event._replace(surface_op=op, source_event_seqs=sources, data=data)


# -- frozen ------------------------------------------------------------------------------------


def reachable(roots: list[Any]) -> list[Any]:
    found: dict[int, Any] = {}
    pending = list(roots)
    while pending:
        one = pending.pop()
        if id(one) in found or isinstance(one, (type, str, int, float, bool, type(None))):
            continue
        found[id(one)] = one
        if isinstance(one, dict):
            pending += list(one.values())
        elif isinstance(one, tuple):
            pending += list(one)
        elif hasattr(one, "__attrs_attrs__"):
            pending += [
                getattr(one, field.name)
                for field in one.__attrs_attrs__
                if not field.name.startswith("_")
            ]
    return list(found.values())


@pytest.mark.spec("03-6", "03-P10", "03-202")
@given(logs)
def test_nothing_reachable_from_a_log_can_be_changed(log):
    session = log.session
    roots: list[Any] = [*session.events, *session.derive_messages(), session.request_header()]
    for one in reachable(roots):
        if isinstance(one, dict):
            assert type(one) is FrozenDict
            with pytest.raises(TypeError):
                one["x"] = 1
        elif isinstance(one, tuple):
            with pytest.raises(TypeError):
                one[0:0] = [1]  # pyright: ignore[reportIndexIssue] - must fail
            with pytest.raises(AttributeError):
                object.__setattr__(one, "seq", 1)
        else:
            with pytest.raises(AttributeError):
                one.id = "x"


# -- observers ---------------------------------------------------------------------------------


@pytest.mark.spec("03-P9", "03-202")
@given(logs, st.data())
def test_raising_observers_change_no_log(log, data):
    class Loud:
        """Publishes to an observer that fails whenever it likes, as the store contains it."""

        n_failures = 0

        def validate(self, session, event):
            pass

        def publish(self, session, event):
            try:
                if data.draw(st.booleans()):
                    raise ValueError("observer")
            except ValueError:
                session.after_publication(lambda: 1 / 0)

        def fail(self, session, error):
            assert isinstance(error, ZeroDivisionError)
            self.n_failures += 1

    session = Session("s", now_ms=lambda: 0)
    session.attach(Loud())
    quiet = Session("s", now_ms=lambda: 0)
    for event in log.events:
        for one in (session, quiet):
            one.append(
                event.type,
                event.data,
                surface_op=event.surface_op,
                source_event_seqs=event.source_event_seqs,
            )
    assert session.events == quiet.events
    assert session.derive_messages() == quiet.derive_messages()


# -- edits -------------------------------------------------------------------------------------

Edit = Any


def renumbered(events: list[SessionEvent], dropped: int) -> list[SessionEvent]:
    """Return the events without one, with seqs and references as if it had never been."""
    moved = {
        event.seq: event.seq - (event.seq > dropped) for event in events if event.seq != dropped
    }
    rest = [event for event in events if event.seq != dropped]
    return [remapped(event, moved)._replace(seq=moved[event.seq]) for event in rest]


def altered(event: SessionEvent, change: Any) -> SessionEvent:
    data = thaw(event.data)
    change(data)
    return event._replace(data=freeze_json(data))


BRACKETS = {"turn/start", "turn/end", "step/start", "step/end"}
IN_STEP = {"assistant/chunk", "assistant/message", "assistant/attempt", "tool/call", "tool/result"}


def illegal_edits(events: tuple[SessionEvent, ...], draw: Any) -> list[SessionEvent]:
    """Make one edit after which the log must not be accepted."""
    log = list(events)
    at = draw(st.integers(0, len(log) - 1))
    event = log[at]
    kind = draw(
        st.sampled_from(
            ["drop", "swap", "duplicate", "cut out", "renumber", "retarget", "strip", "mark"]
        )
    )
    if kind == "drop":
        assume(at < len(log) - 1)
        del log[at]
    elif kind == "swap":
        assume(at < len(log) - 1)
        log[at : at + 2] = log[at + 1], event
    elif kind == "duplicate":
        log.insert(at, event)
    elif kind == "cut out":
        is_call = event.type in ("tool/call", "tool/result", "assistant/message")
        assume(event.type in BRACKETS or (is_call and event.surface_op in (None, "append")))
        assume(event.type != "assistant/message" or event.source_event_seqs)
        if event.type == "assistant/message":
            asked = [b for b in event.data["message"]["content"] if b["type"] == "tool-call"]
            assume(asked)
        log = renumbered(log, at)
    elif kind == "renumber":
        assume(event.type in BRACKETS | IN_STEP and not isinstance(event.surface_op, Replace))
        member = draw(st.sampled_from([one for one in ("turn", "step") if one in event.data]))
        number = draw(st.sampled_from([0, event.data[member] + 1, True, "1", None]))
        log[at] = altered(event, lambda data: data.update({member: number}))
    elif kind == "retarget":
        assume(event.type in SURFACE_TYPES)
        sources = (*(event.source_event_seqs or ()), draw(st.sampled_from([at, at + 1, -1])))
        log[at] = event._replace(source_event_seqs=sources)
    elif kind == "strip":
        assume(event.type in SURFACE_TYPES)
        log[at] = event._replace(surface_op=None)
    else:
        assume(event.type not in SURFACE_TYPES)
        log[at] = event._replace(surface_op=draw(st.sampled_from(["append", Replace(1, 1)])))
    return log


@pytest.mark.spec("03-P26", "03-202")
@given(logs, st.data())
def test_no_single_illegal_edit_goes_unnoticed(log, data):
    assume(log.events)
    edited = illegal_edits(log.events, data.draw)
    assert check_log(edited, is_complete=True) != ()
