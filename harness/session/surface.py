"""Keep the surface: the ordered list of events that make up what a model sees."""

from collections.abc import Iterable
from typing import Any, NamedTuple, cast

from harness.session.errors import SurfaceError
from harness.session.event import Replace, SessionEvent
from harness.session.event_types import ASSISTANT_MESSAGE, SURFACE_TYPES, TOOL_RESULT
from harness.wire import json_equal


class Replacement(NamedTuple):
    """One replacement that a log made: its event, its bounds, and what it removed."""

    seq: int
    start: int
    end: int
    shadowed_seqs: tuple[int, ...]


class SurfacePlan(NamedTuple):
    """What one event will do to the surface: put itself at `at` in place of `n_removed` nodes."""

    at: int
    n_removed: int


class SessionSurface:
    """The seqs on the surface, in model order.

    `plan` decides about an event and changes nothing; `commit` carries the plan out.

    Invariants: `nodes` holds unique seqs of surface events; `replace_generation` counts the
    replacements so far, so that derived views know when to rebuild.
    """

    __slots__ = ("_events", "_nodes", "_offset", "_positions", "replace_generation")

    def __init__(self, events: "list[SessionEvent]", *, base_seq: int = 0) -> None:
        """Watch `events`, a log that the owner appends to; its first seq is `base_seq`."""
        self._events = events
        self._offset = base_seq
        self._nodes: list[int] = []
        # Position of each node, valid until the next replacement makes it stale (None).
        self._positions: dict[int, int] | None = {}
        self.replace_generation = 0

    @property
    def nodes(self) -> tuple[int, ...]:
        """The seqs on the surface, in model order."""
        return tuple(self._nodes)

    def __len__(self) -> int:
        return len(self._nodes)

    def after(self, count: int) -> list[int]:
        """Return the nodes behind the first `count`."""
        return self._nodes[count:]

    def apply(self, event: SessionEvent) -> tuple[int, ...]:
        """Append an event to the watched log, which nobody else appends to, and fold it in.

        Returns:
            The seqs that the event removed from the surface.

        Raises:
            SurfaceError: the event does not continue the log or does not fit the surface.
        """
        expected = self._offset + len(self._events)
        if event.seq != expected:
            raise SurfaceError(f"expected event {expected} next, found {event.seq}")
        plan = self.plan(event)
        self._events.append(event)
        return () if plan is None else self.commit(event, plan)

    def plan(self, event: SessionEvent) -> SurfacePlan | None:
        """Return what `event` does to the surface, `None` for a log-only event.

        Raises:
            SurfaceError: the marker or the sources do not fit the type or the surface.
        """
        op, sources = event.surface_op, event.source_event_seqs
        if event.type not in SURFACE_TYPES:
            if op is not None:
                raise SurfaceError(f"{event.type!r} is log-only and takes no surface operation")
            if sources is not None:
                raise SurfaceError(f"{event.type!r} is log-only and takes no source events")
            return None
        if op is None:
            raise SurfaceError(f"{event.type!r} is a surface type and needs a surface operation")
        if sources is not None:
            self._check_sources(event, sources)
        if op == "append":
            return SurfacePlan(len(self._nodes), 0)
        return self._plan_replacement(event, op, sources)

    def commit(self, event: SessionEvent, plan: SurfacePlan) -> tuple[int, ...]:
        """Carry a plan out and return the seqs it removed, in surface order."""
        if plan.n_removed == 0:
            if self._positions is not None:
                self._positions[event.seq] = len(self._nodes)
            self._nodes.append(event.seq)
            return ()
        end = plan.at + plan.n_removed
        shadowed = tuple(self._nodes[plan.at : end])
        self._nodes[plan.at : end] = [event.seq]
        self._positions = None
        self.replace_generation += 1
        return shadowed

    def _check_sources(self, event: SessionEvent, sources: tuple[int, ...]) -> None:
        if not sources and event.type != ASSISTANT_MESSAGE:
            raise SurfaceError(f"the source events of {event.type!r} must not be empty")
        for seq in sources:
            if type(seq) is not int or not 0 <= seq < event.seq:
                raise SurfaceError(f"source event {seq!r} is not earlier than event {event.seq}")
        if len(set(sources)) != len(sources):
            raise SurfaceError("source event seqs hold a seq twice")

    def _plan_replacement(
        self, event: SessionEvent, op: Replace, sources: tuple[int, ...] | None
    ) -> SurfacePlan:
        positions = self._positions
        if positions is None:
            positions = self._positions = {seq: at for at, seq in enumerate(self._nodes)}
        start, end = positions.get(op.start), positions.get(op.end)
        if start is None or end is None:
            missing = op.start if start is None else op.end
            raise SurfaceError(f"event {missing} is not on the surface and cannot be replaced")
        if start > end:
            raise SurfaceError(f"replacement starts at {op.start}, which is behind {op.end}")
        shadowed = self._nodes[start : end + 1]
        missing_sources = sorted(set(shadowed) - set(sources or ()))
        if missing_sources:
            raise SurfaceError(f"the sources of a replacement must include {missing_sources}")
        if event.type == TOOL_RESULT:
            self._check_rewrite(event, shadowed)
        return SurfacePlan(start, len(shadowed))

    def _check_rewrite(self, event: SessionEvent, shadowed: list[int]) -> None:
        target = self._events[shadowed[0] - self._offset]
        if len(shadowed) != 1 or target.type != TOOL_RESULT:
            raise SurfaceError("a tool/result may replace exactly one tool/result")
        if not json_equal(_without_content(event.data), _without_content(target.data)):
            raise SurfaceError("a tool/result may change only the content of the one it replaces")


def _without_content(data: dict[str, Any]) -> dict[str, Any]:
    message = cast("dict[str, Any]", data["message"])
    block = cast("dict[str, Any]", message["content"][0])
    return {**data, "message": {**message, "content": [{**block, "content": []}]}}


def fold_surface(
    events: Iterable[SessionEvent],
) -> tuple[tuple[int, ...], tuple[Replacement, ...]]:
    """Return the surface of a log and the replacements that led to it."""
    surface: SessionSurface | None = None
    replacements: list[Replacement] = []
    for event in events:
        if surface is None:
            surface = SessionSurface([], base_seq=event.seq)
        shadowed = surface.apply(event)
        if isinstance(event.surface_op, Replace):
            op = event.surface_op
            replacements.append(Replacement(event.seq, op.start, op.end, shadowed))
    return (() if surface is None else surface.nodes), tuple(replacements)


def is_surface_event(event: SessionEvent) -> bool:
    """Return whether an event is of a surface type."""
    return event.type in SURFACE_TYPES


def is_append_surface_event(event: SessionEvent) -> bool:
    """Return whether an event entered at the tail; people's transcripts use exactly these."""
    return event.surface_op == "append"


def is_replacement_surface_event(event: SessionEvent) -> bool:
    """Return whether an event replaced earlier surface nodes."""
    return isinstance(event.surface_op, Replace)
