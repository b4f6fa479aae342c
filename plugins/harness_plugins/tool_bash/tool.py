"""Declare the tool `bash`: what the model sends and what it gets back."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from harness.tools import Arguments, ToolDefinition, ToolExecution, ToolOutput, define_tool
from harness_plugins.tool_bash.cards import present_call, present_result, presentation_meta
from harness_plugins.tool_bash.render import render

_PARAMETERS: dict[str, dict[str, Any]] = {
    "command": {
        "type": "string",
        "required": True,
        "description": "The bash command to run.",
    },
    "description": {
        "type": "string",
        "required": True,
        "description": "What the command does, in five to ten words, for the person watching.",
    },
    "timeoutMs": {
        "type": "number",
        "description": "Time limit in milliseconds; a longer one than allowed is shortened.",
    },
    "workdir": {
        "type": "string",
        "description": "Directory to run in; relative paths start at the session's directory.",
    },
}
_STREAM: dict[str, Any] = {
    "type": "object",
    "additionalProperties": False,
    "required": True,
    "properties": {
        "text": {"type": "string", "required": True},
        "truncated": {"type": "boolean", "required": True},
        "spillPath": {"type": "string"},
    },
}
_VALUE: dict[str, Any] = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "kind": {"type": "string", "const": "foreground", "required": True},
        "exitCode": {"oneOf": [{"type": "integer"}, {"type": "null"}], "required": True},
        "signal": {"oneOf": [{"type": "string"}, {"type": "null"}], "required": True},
        "timedOut": {"type": "boolean", "required": True},
        "aborted": {"type": "boolean", "required": True},
        "timeoutMs": {"type": "number", "required": True},
        "cwd": {"type": "string", "required": True},
        "stillRunning": {"type": "boolean", "required": True},
        "stdout": _STREAM,
        "stderr": _STREAM,
    },
}


def bash_tool(
    run: Callable[[Arguments, ToolExecution], Awaitable[Mapping[str, Any]]], *, description: str
) -> ToolDefinition:
    """Return the definition of `bash`; `run` executes a call and returns its JSON value.

    Aborts are cooperative: `run` ends the command itself, so that nothing of it is left.
    """
    return define_tool(
        name="bash",
        description=description,
        parameters=_PARAMETERS,
        output=ToolOutput(schema=_VALUE, render=render, presentation_meta=presentation_meta),
        execute=run,
        effects=frozenset({"execute"}),
        cancel_mode="cooperative",
        present_call=present_call,
        present_result=present_result,
    )
