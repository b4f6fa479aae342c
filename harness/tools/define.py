"""Make a tool definition that validates its own arguments."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any

import attrs

from harness.tools.arguments import explain_arguments
from harness.tools.cards import CallView, ResultView
from harness.tools.definition import (
    CancelMode,
    Rendering,
    SideEffect,
    ToolDefinition,
    ToolOutput,
)
from harness.tools.errors import ToolArgsError
from harness.tools.execution import ToolExecution
from harness.tools.json_value import validate_json_schema_value
from harness.tools.result import ToolExecutionResult
from harness.tools.schema_spec import ParameterSchemaSpec, compile_parameters, compile_value_spec


def define_tool(
    *,
    name: str,
    description: str,
    parameters: ParameterSchemaSpec,
    output: ToolOutput,
    execute: Callable[[Any, ToolExecution], Awaitable[Any]],
    finalize_content: Callable[[ToolExecution, ToolExecutionResult], Rendering | None]
    | None = None,
    timeout_s: float | None = None,
    is_concurrency_safe: Callable[[Any], bool] | None = None,
    effects: Iterable[SideEffect] | None = None,
    cancel_mode: CancelMode = "scope",
    present_call: Callable[[Any], CallView | None] | None = None,
    present_result: Callable[[Any, Mapping[str, Any]], ResultView | None] | None = None,
) -> ToolDefinition:
    """Define a tool whose parameters and output are written in the schema notation.

    `execute` only ever sees arguments that fit; others end the call with `INVALID_ARGS`. Presenters
    and the concurrency classifier are not asked about arguments that do not fit.

    Raises:
        JsonSchemaError: the parameters or the output schema are malformed.
    """
    schema = compile_parameters(parameters)

    def violations_of(args: object) -> list[str]:
        return validate_json_schema_value(schema, args, "")

    async def checked(args: object, execution: ToolExecution) -> object:
        violations = violations_of(args)
        if violations:
            raise ToolArgsError(violations, hint=_hint(args))
        return await execute(args, execution)

    return ToolDefinition(
        name=name,
        description=description,
        parameters=schema,
        output=attrs.evolve(output, schema=compile_value_spec(output.schema, path="output")),
        execute=checked,
        finalize_content=finalize_content,
        validate_args=violations_of,
        timeout_s=timeout_s,
        is_concurrency_safe=is_concurrency_safe
        and (lambda args: not violations_of(args) and is_concurrency_safe(args)),
        effects=None if effects is None else frozenset(effects),
        cancel_mode=cancel_mode,
        present_call=present_call
        and (lambda args: None if violations_of(args) else present_call(args)),
        present_result=present_result
        and (lambda args, result: None if violations_of(args) else present_result(args, result)),
    )


def _hint(args: object) -> str:
    """Say why the text of a model did not become an object, where that is what happened."""
    if not isinstance(args, str):
        return ""
    return f"; {explain_arguments(args) or 'the text is JSON'}. Send one JSON object"
