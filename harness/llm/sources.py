"""Build the `source` of a message: who produced it and what kind of information it is.

A source is a frozen JSON object keyed by `kind`, an open sum type. Unknown kinds are kept without
loss. `form` is semantic only; unknown or absent means opaque content.
"""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, TypeAlias

from harness.wire import FrozenDict, Json, freeze_json

MessageSource: TypeAlias = FrozenDict
MAX_SUMMARY_CHARS = 120

USER_SOURCE: MessageSource = FrozenDict({"kind": "user"})


def make_source(value: Mapping[str, Any]) -> MessageSource:
    """Freeze a source object; a missing `kind` or an incomplete form raises `ValueError`."""
    kind = value.get("kind")
    if not isinstance(kind, str) or not kind:
        raise ValueError(f"a message source needs a non-empty kind, got {kind!r}")
    form = value.get("form")
    if form == "snapshot" and not isinstance(value.get("sections"), (list, tuple)):
        raise ValueError("a source of form 'snapshot' needs its list of sections")
    if form == "notice" and isinstance(value.get("summary"), str):
        value = {**value, "summary": bound_context_summary(value["summary"])}
    return freeze_json(value)


def plugin_source(plugin: str, form: str | None = None, **facts: Json) -> MessageSource:
    """Name the plugin that produced a message, with the form and its facts."""
    head = {"kind": "plugin", "plugin": plugin}
    return make_source({**head, **({} if form is None else {"form": form}), **facts})


def model_source(provider: str, model: str, replay_state: Json = None) -> MessageSource:
    """Name the route and model that answered, with the state its adapter wants back."""
    head = _model_source(provider, model)
    return head if replay_state is None else freeze_json({**head, "replayState": replay_state})


@lru_cache(maxsize=64)
def _model_source(provider: str, model: str) -> MessageSource:
    """Return one object for all answers of a model, since every message of a log holds one."""
    return FrozenDict({"kind": "model", "provider": provider, "model": model})


def tool_source(call_id: str) -> MessageSource:
    """Name the tool call that a result answers."""
    return FrozenDict({"kind": "tool", "callId": call_id})


def snapshot_source(plugin: str, sections: Sequence[Mapping[str, str]]) -> MessageSource:
    """Describe a full snapshot of named sections, as `{"name", "text"}` objects."""
    return plugin_source(plugin, "snapshot", sections=list(sections))


def bound_context_summary(summary: str) -> str:
    """Cut a notice summary to 120 characters, ending in an ellipsis when text was lost."""
    if len(summary) <= MAX_SUMMARY_CHARS:
        return summary
    return summary[: MAX_SUMMARY_CHARS - 1].rstrip() + "…"
