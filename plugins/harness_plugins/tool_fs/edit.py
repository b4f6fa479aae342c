"""Define the `edit` tool."""

from functools import partial
from typing import Any

from harness.fs import Present, TextEdit
from harness.tools import (
    Arguments,
    DiffCall,
    ToolArgsError,
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
from harness_plugins.tool_fs.envelope import render_edit
from harness_plugins.tool_fs.prose import description_of

_VALUE: dict[str, Any] = {
    "type": "object",
    "additionalProperties": False,
    "properties": {**CHANGE_PROPERTIES, "replacements": {"type": "integer", "required": True}},
}


def edit_tool(access: FileAccess) -> ToolDefinition:
    """Return the tool that replaces literal text in a file."""
    return define_tool(
        name="edit",
        description=description_of("edit"),
        parameters={
            "file_path": {
                "type": "string",
                "required": True,
                "description": "Path of the file; relative paths start at the working directory.",
            },
            "old_string": {
                "type": "string",
                "required": True,
                "description": "Text to replace, exactly as it stands in the file.",
            },
            "new_string": {
                "type": "string",
                "required": True,
                "description": "Text to put in its place; it must differ.",
            },
            "replace_all": {
                "type": "boolean",
                "description": "Replace every occurrence. Default false.",
            },
        },
        output=ToolOutput(schema=_VALUE, render=render_edit, presentation_meta=change_meta),
        execute=partial(_edit, access),
        effects=frozenset({"write"}),
        present_call=_pending_card,
        present_result=change_card,
    )


async def _edit(
    access: FileAccess, arguments: Arguments, execution: ToolExecution
) -> dict[str, Any]:
    edit = _requested(arguments)
    target = await access.find(execution)
    with access.explained():
        expected = await access.edit_intent(target, execution)
        outcome = await access.fs.edit_text(
            target, edit, expected=expected, signal=execution.signal
        )
    access.observe(target, Present(outcome.version), execution)
    value = await change_value(
        target.display_path,
        outcome.before,
        outcome.after,
        broke_hard_link=outcome.broke_hard_link,
    )
    return {**value, "replacements": outcome.replacements}


def _requested(arguments: Arguments) -> TextEdit:
    old, new = arguments["old_string"], arguments["new_string"]
    if not old:
        raise ToolArgsError(['"old_string" must not be empty; use write to create a file'])
    if old == new:
        raise ToolArgsError(['"new_string" must differ from "old_string"'])
    return TextEdit(old=old, new=new, replace_all=arguments.get("replace_all", False))


def _pending_card(arguments: Arguments) -> DiffCall:
    path: str = arguments["file_path"]
    return {
        "card": "diff",
        "title": f"Edit {path}",
        "diffs": [pending_diff(path, arguments["old_string"], arguments["new_string"])],
        "locations": [{"path": path}],
    }
