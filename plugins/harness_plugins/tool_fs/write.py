"""Define the `write` tool."""

from functools import partial
from typing import Any

from harness.fs import Present
from harness.tools import (
    Arguments,
    DiffCall,
    ToolDefinition,
    ToolExecution,
    ToolOutput,
    define_tool,
)
from harness_plugins.tool_fs.access import FileAccess
from harness_plugins.tool_fs.changed import (
    CHANGE_PROPERTIES,
    change_card,
    change_meta,
    change_value,
    pending_diff,
)
from harness_plugins.tool_fs.envelope import render_write
from harness_plugins.tool_fs.prose import description_of

_VALUE: dict[str, Any] = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        **CHANGE_PROPERTIES,
        "operation": {"type": "string", "enum": ["create", "update"], "required": True},
    },
}


def write_tool(access: FileAccess) -> ToolDefinition:
    """Return the tool that creates a file or replaces its whole content."""
    return define_tool(
        name="write",
        description=description_of("write"),
        parameters={
            "file_path": {
                "type": "string",
                "required": True,
                "description": "Path of the file; relative paths start at the working directory.",
            },
            "content": {
                "type": "string",
                "required": True,
                "description": "The whole new content, stored exactly as given.",
            },
        },
        output=ToolOutput(schema=_VALUE, render=render_write, presentation_meta=change_meta),
        execute=partial(_write, access),
        effects=frozenset({"write"}),
        present_call=_pending_card,
        present_result=change_card,
    )


async def _write(
    access: FileAccess, arguments: Arguments, execution: ToolExecution
) -> dict[str, Any]:
    target = await access.find(execution)
    with access.explained():
        expected = await access.write_intent(target, execution)
        outcome = await access.fs.write_text(
            target, arguments["content"], expected=expected, signal=execution.signal
        )
    access.observe(target, Present(outcome.version), execution)
    value = await change_value(
        target.display_path,
        outcome.before,
        outcome.after,
        broke_hard_link=outcome.broke_hard_link,
    )
    return {**value, "operation": outcome.operation}


def _pending_card(arguments: Arguments) -> DiffCall:
    path: str = arguments["file_path"]
    return {
        "card": "diff",
        "title": f"Write {path}",
        "diffs": [pending_diff(path, None, arguments["content"])],
        "locations": [{"path": path}],
    }
