"""Describe what a tool did to a file, for programs, for the log and for people."""

from collections.abc import Mapping
from typing import Any

from anyio import to_thread

from harness.tools import Arguments, DiffResult, FileDiff
from harness_plugins.tool_fs.hunks import MAX_HUNK_CHARS, change_between

_MAX_VALUE_CHARS = 10 * 1024 * 1024

_DIFF = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "path": {"type": "string", "required": True},
        "oldText": {"oneOf": [{"type": "string"}, {"type": "null"}], "required": True},
        "newText": {"type": "string", "required": True},
    },
}

CHANGE_PROPERTIES: dict[str, Any] = {
    "path": {"type": "string", "required": True},
    "before": {"oneOf": [{"type": "string"}, {"type": "null"}], "required": True},
    "after": {"oneOf": [{"type": "string"}, {"type": "null"}], "required": True},
    "brokeHardLink": {"type": "boolean", "required": True},
    "diffs": {"type": "array", "items": _DIFF, "required": True},
    "added": {"type": "integer", "required": True},
    "removed": {"type": "integer", "required": True},
    "truncated": {"type": "boolean", "required": True},
}
"""Schema of what `change_value` returns; texts beyond ten million characters are null."""

_META = ("diffs", "added", "removed", "truncated", "brokeHardLink")


async def change_value(
    path: str, before: str | None, after: str, *, broke_hard_link: bool
) -> dict[str, Any]:
    """Return the part of a tool value that `CHANGE_PROPERTIES` describes; compares off the loop."""
    change = await to_thread.run_sync(change_between, before, after)
    return {
        "path": path,
        "before": _bounded(before),
        "after": _bounded(after),
        "brokeHardLink": broke_hard_link,
        "diffs": [
            {"path": path, "oldText": hunk.old, "newText": hunk.new} for hunk in change.hunks
        ],
        "added": change.added,
        "removed": change.removed,
        "truncated": change.is_truncated,
    }


def change_meta(_arguments: Arguments, value: Mapping[str, Any]) -> dict[str, Any]:
    """Return the bounded facts that the log keeps: hunks with context, and counts."""
    return {"path": value["path"], **{name: value[name] for name in _META}}


def change_card(_arguments: Arguments, result: Mapping[str, Any]) -> DiffResult | None:
    """Return the card of a finished change, or None for a failed one."""
    if result["isError"]:
        return None
    meta = result["meta"]
    title = f"{meta['path']} (+{meta['added']} -{meta['removed']})"
    return {"card": "diff", "title": title, "diffs": list(meta["diffs"])}


def pending_diff(path: str, old: str | None, new: str) -> FileDiff:
    """Return the diff of a change that is only asked for, cut to what a card may hold."""
    room = MAX_HUNK_CHARS // 2
    return {"path": path, "oldText": None if old is None else old[:room], "newText": new[:room]}


def _bounded(text: str | None) -> str | None:
    return text if text is not None and len(text) <= _MAX_VALUE_CHARS else None
