"""The session: an append-only log of immutable events, and the views folded from it."""

import gc
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from harness.errors import error_chain
from harness.llm import Message, StreamChunk, chunk_from_json, expand_assistant_stream
from harness.session import event_types as types
from harness.session.enclosure import TurnTracker
from harness.session.errors import (
    MessageShapeError,
    SessionEventError,
    SessionHeaderError,
    SessionPublishingError,
    TurnEnclosureError,
)
from harness.session.event import (
    Replace,
    SessionEvent,
    SurfaceOp,
    check_planted,
    freeze_data,
    make_event,
    read_sources,
    read_surface_op,
)
from harness.session.event_types import ASSISTANT_CHUNK, EVENT_TYPES, SeedDialect, TurnTrigger
from harness.session.header import SessionHeader, validate_header
from harness.session.ids import SessionId
from harness.session.projection import DerivedHistory, read_message
from harness.session.publication import Deferred, Publisher
from harness.session.request_header import EpochHeader, RequestContext, RequestFold
from harness.session.shapes import check_shape
from harness.session.surface import SessionSurface, SurfacePlan
from harness.wire import FrozenDict

# What a surface event does: its place, and its message (None when it shows nothing to a model).
_Plan = tuple[SurfacePlan, Message | None] | None


class Session:
    """An append-only log with `seq == index`, and what follows from it.

    Everything is synchronous. Nothing that was appended ever changes; every view (surface,
    history, request header, open turn) is folded forward with each append.

    Invariants: a failed append changes nothing; every event but `session/end-seed` lies inside a
    turn (imported seeds excepted); `events` snapshots never grow.
    """

    def __init__(
        self,
        session_id: str,
        header: SessionHeader | None = None,
        *,
        seed_dialect: SeedDialect = "native",
        now_ms: Callable[[], int] | None = None,
    ) -> None:
        """Make an empty session; `create` and `from_restore` are the ways to seed one.

        Args:
            session_id: the id; equals the header's.
            header: by default one with only the id and the time.
            seed_dialect: how strictly a seed's enclosure is checked.
            now_ms: wall clock in milliseconds, injectable for tests and replay.
        """
        self._now_ms = now_ms or _wall_clock_ms
        self.header = header or SessionHeader(id=SessionId(session_id), created_at=self._now_ms())
        validate_header(self.header)
        if self.header.id != session_id:
            raise SessionHeaderError(
                f"the header belongs to {self.header.id!r}, not to session {session_id!r}"
            )
        self.id = self.header.id
        self.first_live_seq = 0
        self._log: list[SessionEvent] = []
        self._snapshot: tuple[SessionEvent, ...] | None = ()
        self._tracker = TurnTracker(strict=seed_dialect == "native")
        self.surface = SessionSurface(self._log)
        self._history = DerivedHistory(self._log, self.surface)
        self._requests = RequestFold()
        self._publisher: Publisher | None = None
        # Who is told of an event at this moment; None when nothing is being published.
        self._publishing: Publisher | None = None
        self._deferred: Deferred | None = None
        # Asked for each listener of a dispatch about this session; None admits all.
        self.__event_filter__: Callable[[Any], bool] | None = None

    @classmethod
    def create(
        cls,
        session_id: str,
        seed: Iterable[SessionEvent] | None = None,
        header: SessionHeader | None = None,
        *,
        seed_dialect: SeedDialect = "native",
        allow_open_turn: bool = False,
        now_ms: Callable[[], int] | None = None,
    ) -> "Session":
        """Make a session, with a copy of `seed` as its beginning.

        A seed, also an empty one, ends with a `session/end-seed` marker, which is added when the
        seed does not have it already.

        Raises:
            SessionEventError: a seed event is malformed or out of order; names its index.
        """
        session = cls(session_id, header, seed_dialect=seed_dialect, now_ms=now_ms)
        if seed is not None:
            session._plant(seed, allow_open_turn=allow_open_turn)
        return session

    @classmethod
    def from_restore(
        cls,
        session_id: str,
        seed: Iterable[SessionEvent],
        header: SessionHeader,
        *,
        seed_dialect: SeedDialect = "native",
        now_ms: Callable[[], int] | None = None,
    ) -> "Session":
        """Make a session from events that storage has just read; validates like `create`."""
        return cls.create(session_id, seed, header, seed_dialect=seed_dialect, now_ms=now_ms)

    # -- reading -----------------------------------------------------------------------------

    @property
    def seq(self) -> int:
        """The seq of the next event, which is the length of the log."""
        return len(self._log)

    @property
    def events(self) -> tuple[SessionEvent, ...]:
        """All events; the same tuple until the next append."""
        if self._snapshot is None:
            self._snapshot = tuple(self._log)
        return self._snapshot

    def event(self, seq: int) -> SessionEvent:
        """Return one event without a snapshot of all; raises `IndexError` beyond the log."""
        return self._log[seq]

    def events_from(self, seq: int) -> list[SessionEvent]:
        """Return the events from `seq` on, as a fresh list."""
        return self._log[seq:]

    @property
    def open_turn(self) -> int | None:
        """The number of the open turn."""
        return self._tracker.open_turn

    @property
    def open_step(self) -> int | None:
        """The number of the open step."""
        return self._tracker.open_step

    @property
    def last_turn(self) -> int:
        """The number of the newest turn, 0 before the first."""
        return self._tracker.last_turn

    def derive_messages(self) -> list[Message]:
        """Return what a model sees now: a fresh list of shared messages, oldest first."""
        return self._history.messages()

    def derive_event_message(self, event: SessionEvent) -> Message | None:
        """Return the message of one event of this session; the same object each time."""
        return self._history.message(event)

    def request_header(self) -> EpochHeader | None:
        """Return the newest request header, canonical and frozen."""
        return self._requests.header

    def request_context(self) -> RequestContext | None:
        """Return where the newest request went."""
        return self._requests.context

    def attempt_stream(self, event: SessionEvent) -> Iterator[tuple[int, StreamChunk]]:
        """Yield the timed chunks of an `assistant/message` or `assistant/attempt` event.

        They come from the event's embedded records, else from the chunk events it cites.
        """
        stream = event.data.get("stream")
        if stream:
            yield from expand_assistant_stream(stream)
            return
        cited: Iterable[SessionEvent] = [self._log[seq] for seq in event.source_event_seqs or ()]
        if event.type == types.ASSISTANT_ATTEMPT and "chunkRange" in event.data:
            bounds = event.data["chunkRange"]
            cited = self._log[bounds["start"] : bounds["end"] + 1]
        for chunk in cited:
            if chunk.type == ASSISTANT_CHUNK:
                yield chunk.time, chunk_from_json(chunk.data["chunk"])

    # -- writing -----------------------------------------------------------------------------

    def append(
        self,
        type: str,
        data: Mapping[str, Any],
        *,
        surface_op: SurfaceOp | Mapping[str, Any] | None = None,
        source_event_seqs: Iterable[int] | None = None,
        ignorable: bool = False,
        message: Message | None = None,
    ) -> SessionEvent:
        """Append one event, or raise and change nothing.

        Args:
            type: the event type.
            data: JSON object; copied and frozen, unless it is a `FrozenDict` already.
            surface_op: how a surface event enters the surface.
            source_event_seqs: earlier events that a surface event was made from.
            ignorable: whether a reader that does not know the type may skip the event.
            message: the message that `data` holds verbatim, when the caller has it, so that the
                projection need not read it again.

        Raises:
            SessionPublishingError: called while an event of this session is being published.
            SessionEventError: the event is malformed, or does not fit the turn or the surface.
            Exception: a `session/validate` listener refused it.
        """
        # All that may run foreign code comes first, so that the seq cannot be stale.
        frozen = data if isinstance(data, FrozenDict) else freeze_data(type, data)
        op = None if surface_op is None else read_surface_op(surface_op)
        sources = None if source_event_seqs is None else tuple(source_event_seqs)
        now_ms = self._now_ms()
        if self._publishing is not None:
            raise SessionPublishingError(
                f"{type!r} was appended while an event of {self.id} is being published; use"
                " session.after_publication"
            )
        if type == types.END_SEED:
            raise TurnEnclosureError("session/end-seed is written by the session itself only")
        seq = len(self._log)
        if sources is not None:
            sources = read_sources(sources, seq)
        event = make_event((type, seq, now_ms, frozen, op, sources, ignorable))
        plan = None
        if type == ASSISTANT_CHUNK and op is None and sources is None:
            self._check_chunk(frozen)
        else:
            plan = self._check(event, message)
        publisher = self._publisher
        if publisher is None:
            self._commit(event, plan)
            return event
        self._publishing = publisher
        try:
            publisher.validate(self, event)
            self._commit(event, plan)
            publisher.publish(self, event)
        finally:
            self._publishing = None
            if self._deferred is not None and self._deferred.queue:
                self._deferred.run()
        return event

    @contextmanager
    def enclosed(self, trigger: TurnTrigger) -> Generator[int]:
        """Append inside the open turn, or inside a one-shot turn opened for this block.

        Yields:
            The number of the turn. A one-shot turn ends `completed`, or `error` when the block
            raises. The block must not suspend; what listeners defer waits for its end.
        """
        if self.open_turn is not None:
            yield self.open_turn
            return
        turn = self.last_turn + 1
        with self._waiting().held():
            self.append(types.TURN_START, {"turn": turn, "trigger": trigger})
            try:
                yield turn
            except BaseException as error:
                message = error_chain(error)
                self._close(turn, {"kind": "error", "step": 0, "message": message})
                raise
            self._close(turn, {"kind": "completed"})

    def _close(self, turn: int, reason: dict[str, Any]) -> None:
        """End a one-shot turn, unless its block did; also the step that a block left open."""
        if self.open_turn != turn:
            return
        if self.open_step is not None:
            self.append(types.STEP_END, {"turn": turn, "step": self.open_step})
        self.append(types.TURN_END, {"turn": turn, "reason": reason})

    @property
    def is_publishing(self) -> bool:
        """Whether an event of this session is being published, so that an append would raise."""
        return self._publishing is not None

    def after_publication(self, callback: Callable[[], object]) -> None:
        """Call `callback()` now, or right after the current publication has unwound.

        A callback that was deferred must not fail: nobody is left to take its error, which is
        only reported.
        """
        if self._publishing is None:
            callback()
        else:
            self._waiting().add(callback, self._publishing)

    def _waiting(self) -> Deferred:
        """Return what waits for a publication to end; most sessions never need it."""
        self._deferred = self._deferred or Deferred(self)
        return self._deferred

    @property
    def is_attached(self) -> bool:
        """Whether somebody is told of appends: the session is in a store."""
        return self._publisher is not None

    def attach(
        self, publisher: Publisher | None, admits: Callable[[Any], bool] | None = None
    ) -> None:
        """Report appends to `publisher` from now on; `None` detaches. For stores.

        Args:
            publisher: who tells others.
            admits: tells of a context whether listeners there hear of this session; by default
                all do.
        """
        self._publisher = publisher
        self.__event_filter__ = admits

    def _check(self, event: SessionEvent, message: Message | None = None) -> _Plan:
        """Decide about the next event without changing anything."""
        kind, data = event.type, event.data
        if kind == ASSISTANT_CHUNK:
            self._check_chunk(data)
            if event.surface_op is None and event.source_event_seqs is None:
                return None
        else:
            EVENT_TYPES.require(kind, seq=event.seq, is_ignorable=event.ignorable)
            check_shape(kind, data)
            self._tracker.check(kind, data, is_rewrite=isinstance(event.surface_op, Replace))
        place = self.surface.plan(event)
        return None if place is None else (place, read_message(event, message))

    def _check_chunk(self, data: FrozenDict) -> None:
        self._tracker.check_in_step(ASSISTANT_CHUNK, data)
        if not isinstance(data.get("chunk"), dict):
            raise MessageShapeError(f"{ASSISTANT_CHUNK!r} must carry a chunk object")

    def _commit(self, event: SessionEvent, plan: _Plan) -> None:
        self._log.append(event)
        self._snapshot = None
        if plan is not None:
            place, message = plan
            self.surface.commit(event, place)
            self._history.remember(event.seq, message)
        elif event.type == ASSISTANT_CHUNK:
            return
        self._tracker.commit(event.type, event.data)
        self._requests.commit(event)

    # -- seeding -----------------------------------------------------------------------------

    def _plant(self, seed: Iterable[SessionEvent], *, allow_open_turn: bool) -> None:
        last: SessionEvent | None = None
        was_collecting = gc.isenabled()
        gc.disable()  # no cycle is made here, and walking a large log again and again takes longest
        try:
            for index, event in enumerate(seed):
                last = event
                try:
                    planted = check_planted(event, index)
                    if planted.type == types.END_SEED and self.open_turn is not None:
                        raise TurnEnclosureError("session/end-seed inside a turn")
                    self._commit(planted, self._check(planted))
                except SessionEventError as error:
                    refused = error.__class__(f"seed event {index}: {error}")
                    refused.index = index
                    raise refused from error
        finally:
            if was_collecting:
                gc.enable()
        if self.open_turn is not None and not allow_open_turn:
            raise TurnEnclosureError(
                f"the seed ends inside turn {self.open_turn}; repair it with"
                " interrupted_turn_closers first"
            )
        self._tracker.strict = True
        if last is None or last.type != types.END_SEED:
            self.first_live_seq = len(self._log)
            marker = SessionEvent(types.END_SEED, len(self._log), self._now_ms(), FrozenDict())
            self._commit(marker, None)
        else:
            self.first_live_seq = len(self._log) - 1


def _wall_clock_ms() -> int:
    return time.time_ns() // 1_000_000
