"""Define the `read` tool."""

from collections.abc import Mapping
from contextlib import aclosing
from functools import partial
from typing import Any

from harness.fs import Absent, FsError, FsInfo, FsTarget, Present
from harness.tools import (
    Arguments,
    ReadResult,
    ToolArgsError,
    ToolDefinition,
    ToolExecution,
    ToolOutput,
    define_tool,
)
from harness_plugins.tool_fs.access import FileAccess
from harness_plugins.tool_fs.envelope import render_read
from harness_plugins.tool_fs.languages import language_of
from harness_plugins.tool_fs.prose import description_of
from harness_plugins.tool_fs.window import MAX_LINES, LineWindow, Window

_LINE = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "number": {"type": "integer", "required": True},
        "text": {"type": "string", "required": True},
    },
}
_VALUE = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "path": {"type": "string", "required": True},
        "offset": {"type": "integer", "required": True},
        "lines": {"type": "array", "items": _LINE, "required": True},
        "totalLines": {"type": "integer", "required": True},
    },
}


def read_tool(access: FileAccess) -> ToolDefinition:
    """Return the tool that shows a window of a text file with line numbers."""
    return define_tool(
        name="read",
        description=description_of("read"),
        parameters={
            "file_path": {
                "type": "string",
                "required": True,
                "description": "Path of the file; relative paths start at the working directory.",
            },
            "offset": {
                "type": "integer",
                "description": "Number of the first line to show, counted from 1. Default 1.",
            },
            "limit": {
                "type": "integer",
                "description": f"How many lines to show at most. Default and maximum {MAX_LINES}.",
            },
        },
        output=ToolOutput(schema=_VALUE, render=render_read, presentation_meta=_meta),
        execute=partial(_read, access),
        is_concurrency_safe=lambda _arguments: True,
        effects=frozenset({"read"}),
        present_result=_card,
    )


async def _read(
    access: FileAccess, arguments: Arguments, execution: ToolExecution
) -> dict[str, Any]:
    offset, limit = _window_of(arguments)
    target = await access.find(execution)
    info = await access.fs.stat(target, execution.signal)
    if info is None:
        access.observe(target, Absent(), execution)
        raise FsError(f"'{target.display_path}' does not exist.", code="FS_NOT_FOUND")
    _require_file(target, info)
    window = await _scan(access, target, execution, LineWindow(offset, limit))
    if offset > max(window.total_lines, 1):
        lines = "line" if window.total_lines == 1 else "lines"
        raise FsError(
            f"offset {offset} is beyond the end of '{target.display_path}', "
            f"which has {window.total_lines} {lines}.",
            code="FS_NOT_FOUND",
        )
    # The version from before reading: a change made meanwhile must not count as seen.
    access.observe(target, Present(info.version), execution)
    return {
        "path": target.display_path,
        "offset": offset,
        "lines": [
            {"number": number, "text": text}
            for number, text in enumerate(window.lines, start=offset)
        ],
        "totalLines": window.total_lines,
    }


async def _scan(
    access: FileAccess, target: FsTarget, execution: ToolExecution, lines: LineWindow
) -> Window:
    async with aclosing(access.fs.stream_text(target, execution.signal)) as chunks:
        async for chunk in chunks:
            lines.feed(chunk)
    return lines.finish()


def _window_of(arguments: Arguments) -> tuple[int, int]:
    offset, limit = int(arguments.get("offset", 1)), int(arguments.get("limit", MAX_LINES))
    violations: list[str] = []
    if offset < 1:
        violations.append('"offset" must be at least 1')
    if not 1 <= limit <= MAX_LINES:
        violations.append(f'"limit" must be between 1 and {MAX_LINES}')
    if violations:
        raise ToolArgsError(violations)
    return offset, limit


def _require_file(target: FsTarget, info: FsInfo) -> None:
    if info.type == "directory":
        raise FsError(
            f"'{target.display_path}' is a directory; list it with glob or bash.",
            code="FS_NOT_REGULAR_FILE",
        )
    if info.type != "file":
        raise FsError(
            f"'{target.display_path}' is not a regular file and cannot be read.",
            code="FS_NOT_REGULAR_FILE",
        )


def _meta(_arguments: Arguments, value: Mapping[str, Any]) -> dict[str, Any]:
    language = language_of(value["path"])
    return {**value, "lang": language} if language else dict(value)


def _card(_arguments: Arguments, result: Mapping[str, Any]) -> ReadResult | None:
    if result["isError"]:
        return None
    meta: Mapping[str, Any] = result["meta"]
    card: ReadResult = {
        "card": "read",
        "path": meta["path"],
        "offset": meta["offset"],
        "lines": meta["lines"],
        "totalLines": meta["totalLines"],
    }
    return {**card, "lang": meta["lang"]} if "lang" in meta else card
