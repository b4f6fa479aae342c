"""Put the value of a command into the text that the model reads."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from harness.bash import format_exit_status
from harness.subprocess import ProcessExit
from harness.tools import Arguments


def render(_arguments: Arguments, value: Mapping[str, Any]) -> str:
    """Return output, notes and, always last, how the command ended."""
    stdout, stderr = value["stdout"], value["stderr"]
    parts = [stdout["text"]]
    if stderr["text"]:
        parts += ["[stderr]", stderr["text"]]
    elif not stdout["text"]:
        parts.append("(no output)")
    parts += [_truncation(name, value[name]) for name in ("stdout", "stderr")]
    if value["stillRunning"]:
        parts.append("[processes that this command started are still running]")
    if value["timedOut"]:
        parts.append(f"[timed out after {value['timeoutMs']:g}ms]")
    parts.append(format_exit_status(ProcessExit(value["exitCode"], value["signal"])))
    return _join(parts)


def _truncation(name: str, stream: Mapping[str, Any]) -> str:
    if not stream["truncated"]:
        return ""
    path = stream.get("spillPath")
    if path is None:
        return f"[{name} was truncated; the full output is unavailable]"
    return f"[{name} was truncated; the full output is in {path}, read it in parts or search it]"


def _join(parts: list[str]) -> str:
    """Join with newlines, adding none where a text ends with one already."""
    joined = ""
    for part in filter(None, parts):
        joined += part if not joined or joined.endswith("\n") else f"\n{part}"
    return joined
