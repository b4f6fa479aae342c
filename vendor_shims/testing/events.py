"""Recording what a tree dispatches."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

from vendor_shims.cordis import Context, Emit, declared_events

_DISPATCH = "internal/dispatch"


class RecordedEvent(NamedTuple):
    """One dispatch: its mode, the event's name, its arguments, and its target or `None`."""

    mode: str
    name: str
    args: tuple[Any, ...]
    target: object


class EventLog:
    """The dispatches recorded so far, oldest first; works as a sequence."""

    def __init__(self) -> None:
        self.events: list[RecordedEvent] = []

    @property
    def names(self) -> list[str]:
        """The names of the recorded events."""
        return [event.name for event in self.events]

    def of(self, name: str) -> list[RecordedEvent]:
        """Return the recorded dispatches of one event."""
        return [event for event in self.events if event.name == name]

    def clear(self) -> None:
        """Forget everything recorded so far."""
        self.events.clear()

    def __len__(self) -> int:
        return len(self.events)

    def __iter__(self) -> Iterator[RecordedEvent]:
        return iter(self.events)

    def __getitem__(self, index: int) -> RecordedEvent:
        return self.events[index]


def record_events(ctx: Context, *patterns: str) -> EventLog:
    """Record every dispatch whose name matches one of `patterns`, for the life of the fiber.

    Args:
        ctx: any context of the tree, usually the root.
        patterns: names, or shell patterns such as `tools/*`; none means all public events. The
            kernel's own notifications are recorded only by patterns that begin with `internal/`.
    """
    log = EventLog()
    wanted = patterns or ("*",)

    def record(mode: str, name: str, args: tuple[Any, ...], target: object) -> None:
        if any(fnmatchcase(name, pattern) for pattern in wanted):
            log.events.append(RecordedEvent(mode, name, args, target))

    ctx.on(_DISPATCH, record, unfiltered=True)
    for event in declared_events():
        name = str(event)
        is_wanted = any(one.startswith("internal/") and fnmatchcase(name, one) for one in wanted)
        if isinstance(event, Emit) and name != _DISPATCH and is_wanted:
            ctx.on(name, _notification(log, name), unfiltered=True)
    return log


def _notification(log: EventLog, name: str) -> Callable[..., None]:
    return lambda *args: log.events.append(RecordedEvent("emit", name, args, None))
