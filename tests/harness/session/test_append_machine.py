"""Any program of appends, legal and illegal: an append happens whole or not at all."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from harness.errors import HarnessError
from harness.invariants import check_log
from harness.session import (
    END_SEED,
    SURFACE_TYPES,
    Replace,
    Session,
    SessionError,
    SessionEvent,
    SessionPublishingError,
    derive_event_message,
    fold_request_header,
    fold_surface,
    interrupted_turn_closers,
)

KINDS = st.sampled_from(
    [
        "turn/start",
        "turn/end",
        "step/start",
        "step/end",
        "user/message",
        "context/message",
        "assistant/message",
        "assistant/chunk",
        "assistant/attempt",
        "tool/call",
        "tool/result",
        "request/header",
        "request/context",
        "todo/write",
        "session/end-seed",
        "nobody/knows",
        "",
    ]
)
NUMBERS = st.sampled_from([None, True, 0, 1, 2, 3, 1.0, "1"])
SEQS = st.integers(-1, 25)
MARKERS = st.sampled_from([None, "append"]) | st.builds(Replace, SEQS, SEQS)
SOURCES = st.none() | st.lists(SEQS, max_size=4)


class Vetoed(HarnessError):
    """What a validating listener raises."""


class Machine(RuleBasedStateMachine):
    """Drive a session with a publisher whose listeners veto, raise, append and defer at will."""

    def __init__(self) -> None:
        super().__init__()
        self.session = Session("s", now_ms=lambda: 0)
        self.nodes: list[int] = []
        self.n_replacements = 0
        self.published: list[SessionEvent] = []
        self.snapshots: list[tuple[SessionEvent, ...]] = []
        self.failures: list[Exception] = []
        self.n_deferred = 0
        self.n_expected_deferred = 0
        self.behaviour = "quiet"
        self.is_attached = False

    # -- the publisher: stands where the store does, without a loop --------------------------

    def validate(self, session: Session, event: SessionEvent) -> None:
        assert event.seq == session.seq
        self._refuse_appends(session)
        if self.behaviour == "veto":
            raise Vetoed("no")

    def publish(self, session: Session, event: SessionEvent) -> None:
        assert session.event(event.seq) is event
        self._refuse_appends(session)
        self.published.append(event)
        if self.behaviour == "defer":
            self.n_expected_deferred += 1
            session.after_publication(self._deferred)
        elif self.behaviour == "defer a failure":
            self.n_expected_deferred += 1
            session.after_publication(self._failing)
        elif self.behaviour == "detach":
            session.after_publication(self._detach)

    def fail(self, session: Session, error: Exception) -> None:
        assert not session.is_publishing
        self.failures.append(error)

    def _refuse_appends(self, session: Session) -> None:
        with pytest.raises(SessionPublishingError):
            session.append("todo/write", {})

    def _deferred(self) -> None:
        assert not self.session.is_publishing
        self.n_deferred += 1

    def _detach(self) -> None:
        self.session.attach(None)
        self.is_attached = False

    def _failing(self) -> None:
        self._deferred()
        raise ValueError("deferred")

    # -- state -------------------------------------------------------------------------------

    def state(self) -> tuple[Any, ...]:
        session = self.session
        return (
            session.events,
            session.surface.nodes,
            session.surface.replace_generation,
            session.open_turn,
            session.open_step,
            session.last_turn,
            session.derive_messages(),
            session.request_header(),
            session.request_context(),
            list(self.published),
        )

    def append(self, kind: Any, data: Any, **marker: Any) -> SessionEvent | None:
        before = self.state()
        try:
            event = self.session.append(kind, data, **marker)
        except (SessionError, Vetoed) as error:
            refusal = error
        else:
            assert self.session.event(len(before[0])) is event
            self._follow(event)
            return event
        assert self.state() == before
        assert self._vetoes() or not isinstance(refusal, Vetoed)
        return None

    def _follow(self, event: SessionEvent) -> None:
        """Do to the naive list what the event does to the surface."""
        if event.type not in SURFACE_TYPES:
            return
        if isinstance(event.surface_op, Replace):
            start = self.nodes.index(event.surface_op.start)
            end = self.nodes.index(event.surface_op.end)
            removed = self.nodes[start : end + 1]
            assert set(removed) <= set(event.source_event_seqs or ())
            self.nodes[start : end + 1] = [event.seq]
            self.n_replacements += 1
        else:
            self.nodes.append(event.seq)

    # -- rules -------------------------------------------------------------------------------

    @initialize(is_live=st.booleans())
    def begin(self, is_live: bool) -> None:
        if is_live:
            self._attach()

    def _attach(self) -> None:
        self.session.attach(self)
        self.is_attached = True

    @rule(
        behaviour=st.sampled_from(["quiet", "veto", "defer", "defer a failure", "detach", "attach"])
    )
    def behave(self, behaviour: str) -> None:
        self.behaviour = behaviour
        if behaviour == "attach":
            self._attach()

    @rule(kind=KINDS, turn=NUMBERS, step=NUMBERS, marker=MARKERS, sources=SOURCES)
    def anything(self, kind: str, turn: Any, step: Any, marker: Any, sources: Any) -> None:
        data = {**self.plausible(kind), "turn": turn, "step": step}
        self.append(kind, data, surface_op=marker, source_event_seqs=sources)

    @rule(kind=KINDS, drop=st.booleans(), data=st.data())
    def almost_right(self, kind: str, drop: bool, data: st.DataObject) -> None:
        members = self.plausible(kind)
        if drop and members:
            del members[data.draw(st.sampled_from(sorted(members)))]
        marker = "append" if kind in SURFACE_TYPES else None
        self.append(kind, members, surface_op=marker)

    @rule(kind=KINDS, data=st.sampled_from([float("nan"), -0.0, b"", {1}, 2**60, {1: 2}, object()]))
    def no_json(self, kind: str, data: object) -> None:
        marker = "append" if kind in SURFACE_TYPES else None
        members = {**self.plausible(kind), "x": [data]}
        assert self.append(kind, members, surface_op=marker) is None

    @rule(kind=st.sampled_from(["turn/start", "turn/end", "step/start", "step/end"]))
    def bracket(self, kind: str) -> None:
        self.append(kind, self.plausible(kind))

    @precondition(lambda self: self.session.open_turn is not None and self.nodes)
    @rule(data=st.data(), extra=st.lists(SEQS, max_size=2))
    def replace(self, data: st.DataObject, extra: list[int]) -> None:
        start = data.draw(st.integers(0, len(self.nodes) - 1))
        end = data.draw(st.integers(start, len(self.nodes) - 1))
        sources = [*self.nodes[start : end + 1], *extra]
        event = self.append(
            "user/message",
            self.plausible("user/message"),
            surface_op=Replace(self.nodes[start], self.nodes[end]),
            source_event_seqs=sources,
        )
        is_legal = len(set(sources)) == len(sources) and all(
            0 <= one < (self.session.seq if event is None else event.seq) for one in sources
        )
        assert (event is not None) == (is_legal and not self._vetoes())

    def _vetoes(self) -> bool:
        return self.behaviour == "veto" and self.is_attached

    @rule(
        plan=st.lists(st.sampled_from(["note", "raise", "illegal", "step", "end"]), max_size=3),
    )
    def enclosed(self, plan: list[str]) -> None:
        was_open = self.session.open_turn
        before = self.state()
        seq = self.session.seq
        try:
            with self.session.enclosed({"kind": "annotation"}) as turn:
                assert self.session.open_turn == turn
                for act in plan:
                    self._act(act, turn)
        except ZeroDivisionError:
            assert "raise" in plan
        except Vetoed:
            # A veto of the end may leave the one-shot turn open; one of its start leaves nothing.
            assert self._vetoes()
            assert was_open is not None or self.state() == before
            return
        if was_open is None:
            assert self.session.open_turn is None
            assert self.session.event(seq).type == "turn/start"

    def _act(self, act: str, turn: int) -> None:
        if act == "note":
            self.append("todo/write", {})
        elif act == "raise":
            raise ZeroDivisionError
        elif act == "illegal":
            self.append("turn/start", {"turn": turn + 2})
        elif act == "step":
            self.append("step/start", {"turn": turn, "step": 1})
        else:
            self.append("turn/end", {"turn": turn, "reason": {"kind": "completed"}})

    def plausible(self, kind: str) -> dict[str, Any]:
        """Return data that would be right for the next event of `kind`, if it may come now."""
        session = self.session
        place = {"turn": session.open_turn, "step": session.open_step}
        text = {"type": "text", "text": "x"}
        prompt = {"id": f"m{session.seq}", "role": "user", "content": [text]}
        model = {"kind": "model", "provider": "p", "model": "m"}
        answer = {**prompt, "role": "assistant", "source": model}
        block = {"type": "tool-result", "toolCallId": "c", "content": [text]}
        result = {**prompt, "content": [block], "source": {"kind": "tool", "callId": "c"}}
        config = {"provider": "p", "model": f"m{session.seq % 3}"}
        made: dict[str, dict[str, Any]] = {
            "turn/start": {"turn": session.last_turn + 1, "trigger": {"kind": "message"}},
            "turn/end": {"turn": session.open_turn, "reason": {"kind": "completed"}},
            "step/start": {"turn": session.open_turn, "step": self.next_step()},
            "step/end": place,
            "user/message": {**prompt, "source": {"kind": "user"}},
            "context/message": {**prompt, "source": {"kind": "user"}},
            "assistant/message": {**place, "message": answer},
            "assistant/chunk": {**place, "chunk": {"type": "text-delta", "index": 0, "text": "x"}},
            "tool/call": {**place, "callId": "c", "name": "n", "arguments": ""},
            "tool/result": {**place, "message": result},
            "request/header": {"reason": "change", "header": {"config": config}},
        }
        return made.get(kind, {**place, **config})

    def next_step(self) -> int:
        steps = 0
        for event in self.session.events:
            steps = 0 if event.type == "turn/start" else steps + (event.type == "step/start")
        return steps + 1

    # -- what always holds -------------------------------------------------------------------

    @invariant()
    def the_log_is_enclosed(self) -> None:
        events = self.session.events
        assert [event.seq for event in events] == list(range(len(events)))
        assert END_SEED not in {event.type for event in events}
        structural = [one for one in check_log(events) if one.rule == "S1-S11"]
        assert structural == []

    @invariant()
    def old_snapshots_are_prefixes(self) -> None:
        for snapshot in self.snapshots[-3:]:
            assert self.session.events[: len(snapshot)] == snapshot
        self.snapshots.append(self.session.events)

    @invariant()
    def the_surface_is_the_naive_list(self) -> None:
        surface = self.session.surface
        nodes, replacements = fold_surface(self.session.events)
        assert surface.nodes == nodes == tuple(self.nodes)
        assert surface.replace_generation == len(replacements) == self.n_replacements

    @invariant()
    def the_views_are_folds_of_the_log(self) -> None:
        session = self.session
        messages = [derive_event_message(session.event(seq)) for seq in session.surface.nodes]
        assert session.derive_messages() == [one for one in messages if one is not None]
        assert session.request_header() == fold_request_header(session.events)

    @invariant()
    def what_was_deferred_has_run(self) -> None:
        assert not self.session.is_publishing
        assert self.n_deferred == self.n_expected_deferred
        assert all(isinstance(error, ValueError) for error in self.failures)

    @invariant()
    def the_log_can_be_closed_and_planted(self) -> None:
        events = self.session.events
        whole = [*events, *interrupted_turn_closers(events)]
        planted = Session.create("planted", whole)
        assert planted.open_turn is None
        assert planted.events[: len(events)] == events


TestAppendMachine = pytest.mark.spec("03-P8", "03-P12", "03-202")(Machine.TestCase)
