"""Fold what a request consisted of besides its messages: header and context records."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from harness.session.event import SessionEvent
from harness.session.event_types import REQUEST_CONTEXT, REQUEST_HEADER
from harness.wire import FrozenDict, dumps, freeze_json, json_equal

EpochHeader = FrozenDict
"""`{"config", "adapterDefaults"?, "system"?, "tools"?}` in canonical form, frozen."""


class RequestContext(NamedTuple):
    """Where requests of a session go: the folded `request/context` record."""

    provider: str
    model: str
    context_window: int | None = None


def canonical_header(header: Mapping[str, Any]) -> EpochHeader:
    """Return the header without an empty system, empty tools, or defaults that are not true."""
    canonical = {"config": header["config"]}
    defaults = {key: True for key, value in header.get("adapterDefaults", {}).items() if value}
    if defaults:
        canonical["adapterDefaults"] = defaults
    if header.get("system"):
        canonical["system"] = header["system"]
    if header.get("tools"):
        canonical["tools"] = header["tools"]
    return freeze_json(canonical)


def header_equals(one: EpochHeader | None, other: EpochHeader | None) -> bool:
    """Compare canonical headers: tools by their text, everything else by value."""
    if one is other or one is None or other is None:
        return one is other
    return set(one) == set(other) and all(_same(key, one[key], other[key]) for key in one)


def _same(key: str, one: Any, other: Any) -> bool:
    if one is other:
        return True
    if key == "tools":
        return dumps(one) == dumps(other)
    return json_equal(one, other)


def fold_request_header(
    events: Iterable[SessionEvent], start: EpochHeader | None = None
) -> EpochHeader | None:
    """Return the last header of a log, or `start` when it has none."""
    for event in events:
        if event.type == REQUEST_HEADER:
            start = canonical_header(event.data["header"])
    return start


def read_request_context(data: Mapping[str, Any]) -> RequestContext:
    """Read the data of a `request/context` event."""
    return RequestContext(data["provider"], data["model"], data.get("contextWindow"))


class RequestFold:
    """The newest header and context of a log, folded forward event by event."""

    __slots__ = ("context", "header")

    def __init__(self) -> None:
        """Start before the first event."""
        self.header: EpochHeader | None = None
        self.context: RequestContext | None = None

    def commit(self, event: SessionEvent) -> None:
        """Take one event over."""
        if event.type == REQUEST_HEADER:
            self.header = canonical_header(event.data["header"])
        elif event.type == REQUEST_CONTEXT:
            self.context = read_request_context(event.data)
