"""Render file tool results so that neither names nor contents can pass for the envelope."""

from collections.abc import Mapping, Sequence
from typing import Any

from harness_plugins.tool_fs.window import MAX_LINES, MAX_WINDOW_BYTES

_ESCAPES = str.maketrans({"<": "\\x3c", ">": "\\x3e"})


def render_read(arguments: Mapping[str, Any], value: Mapping[str, Any]) -> str:
    """Render a window: every line of content starts with its number, the footer never does."""
    lines: Sequence[Mapping[str, Any]] = value["lines"]
    numbered = "".join(f"{line['number']}: {line['text']}\n" for line in lines)
    return (
        f"<path>{_safe(value['path'])}</path>\n<type>file</type>\n"
        f"<content>\n{numbered}</content>\n{_footer(arguments, value)}"
    )


def render_write(_arguments: Mapping[str, Any], value: Mapping[str, Any]) -> str:
    """Say whether a file was created or updated."""
    return _changed(value, "created" if value["operation"] == "create" else "updated")


def render_edit(arguments: Mapping[str, Any], value: Mapping[str, Any]) -> str:
    """Say how much of a file was replaced."""
    if not arguments.get("replace_all", False):
        return _changed(value, "updated")
    count = value["replacements"]
    occurrences = "the only occurrence" if count == 1 else f"all {count} occurrences"
    return _changed(value, f"updated, {occurrences} replaced")


def _changed(value: Mapping[str, Any], status: str) -> str:
    note = ""
    if value["brokeHardLink"]:
        note = "\nThe file had other hard links; those still hold the old content."
    return f"<path>{_safe(value['path'])}</path>\n<status>{status}</status>{note}"


def _footer(arguments: Mapping[str, Any], value: Mapping[str, Any]) -> str:
    lines, total = value["lines"], value["totalLines"]
    last = lines[-1]["number"] if lines else 0
    if last >= total:
        return f"(End of file - {total} {'line' if total == 1 else 'lines'} in total)"
    window = f"Showing lines {value['offset']}-{last} of {total}. Use offset={last + 1} to go on."
    if len(lines) < int(arguments.get("limit", MAX_LINES)):
        return f"(Output capped at {MAX_WINDOW_BYTES // 1024} KiB. {window})"
    return f"({window})"


def _safe(path: str) -> str:
    return path.translate(_ESCAPES)
