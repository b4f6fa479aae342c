"""Make a tool of a typed asynchronous function."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, TypeAlias, overload

import attrs

from harness.tools.definition import (
    CancelMode,
    Rendering,
    SideEffect,
    ToolDefinition,
    ToolOutput,
)
from harness.tools.docstring import read_docstring
from harness.tools.execution import ToolExecution
from harness.tools.signature import output_schema_of, read_signature
from harness.wire import dumps_text
from vendor_shims.schema import unstructure

_Function: TypeAlias = Callable[..., Awaitable[Any]]


@attrs.frozen(kw_only=True)
class FunctionTool(ToolDefinition):
    """Be a tool definition that can still be called as the function it was made of."""

    function: _Function

    def __call__(self, *args: Any, **kwargs: Any) -> Awaitable[Any]:
        """Call the function itself, without schema or pipeline."""
        return self.function(*args, **kwargs)


@overload
def tool(function: _Function, /) -> FunctionTool: ...


@overload
def tool(
    *,
    name: str | None = None,
    description: str | None = None,
    render: Callable[[Any, Any], Rendering] | None = None,
    timeout_s: float | None = None,
    is_concurrency_safe: bool = False,
    effects: Iterable[SideEffect] | None = None,
    cancel_mode: CancelMode = "scope",
) -> Callable[[_Function], FunctionTool]: ...


def tool(
    function: _Function | None = None,
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    render: Callable[[Any, Any], Rendering] | None = None,
    timeout_s: float | None = None,
    is_concurrency_safe: bool = False,
    effects: Iterable[SideEffect] | None = None,
    cancel_mode: CancelMode = "scope",
) -> FunctionTool | Callable[[_Function], FunctionTool]:
    """Make a tool of an asynchronous function: its name, docstring and annotations say the rest.

    The text before the first section of the docstring is the description, the `Args:` section
    describes the parameters. Arguments are converted to the annotated types, configuration classes
    and bounds such as `Annotated[int, Ge(1)]` included. A parameter annotated `ToolExecution` gets
    the execution and is not offered to the model.

    Args:
        function: The function, when used without parentheses.
        name: Model-facing name instead of the function's.
        description: Model-facing text instead of the docstring's.
        render: Makes content of arguments and value; by default text as it is, other values as
            JSON.
        timeout_s: As in `ToolDefinition`.
        is_concurrency_safe: Whether every valid call may overlap others.
        effects: As in `ToolDefinition`.
        cancel_mode: As in `ToolDefinition`.

    Raises:
        TypeError: the function is not asynchronous, has no description, or has a parameter that
            JSON cannot fill.
    """

    def make(target: _Function) -> FunctionTool:
        if not inspect.iscoroutinefunction(target):
            raise TypeError(f"a tool function must be `async def`, got {target!r}")
        docs = read_docstring(target)
        text = docs.description if description is None else description
        if not text:
            raise TypeError(f"tool function {target.__qualname__} needs a docstring")
        signature = read_signature(target, docs.parameters)

        async def execute(args: object, execution: ToolExecution) -> object:
            return unstructure(await target(**signature.bind(args, execution)))

        return FunctionTool(
            name=name or target.__name__,
            description=text,
            parameters=signature.schema,
            output=ToolOutput(output_schema_of(signature.returns), render or _render),
            execute=execute,
            validate_args=signature.violations,
            timeout_s=timeout_s,
            is_concurrency_safe=(
                (lambda args: not signature.violations(args)) if is_concurrency_safe else None
            ),
            effects=None if effects is None else frozenset(effects),
            cancel_mode=cancel_mode,
            function=target,
        )

    return make if function is None else make(function)


def _render(_args: object, value: object) -> Rendering:
    return value if isinstance(value, str) else dumps_text(value)
