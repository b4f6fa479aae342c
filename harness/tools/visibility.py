"""Decide which tools, guards and restrictions count for a scope."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from math import isfinite
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import attrs

from harness.llm import ToolSchema
from harness.scope import AnonymousEntries, NamedEntries
from harness.system_prompt import ToolContribution
from harness.tools.definition import ToolDefinition, ToolOutput
from harness.tools.errors import JsonSchemaError, ToolRegistrationError
from harness.tools.json_schema import assert_supported_json_schema
from harness.wire import FrozenDict, NotJsonError, snapshot_json
from vendor_shims.cordis import Context

if TYPE_CHECKING:
    from harness.tools.execution import ToolExecution

RESERVED_NAME: Final = "run_code"
"""Name that stands for the program tool; nobody may register, shadow or restrict it."""

Guard: TypeAlias = "Callable[[ToolExecution], str | None]"
"""Returns the reason why a call must not run, or `None`; no other guard can undo a reason."""


@attrs.frozen(eq=False)
class RegisteredTool:
    """Hold a registered definition with what was derived from it once.

    `owner` is the context that registered it: work that outlives a call belongs there.
    """

    definition: ToolDefinition
    owner: Context
    schema: ToolSchema
    output_schema: FrozenDict

    @property
    def name(self) -> str:
        """Return the model-facing name."""
        return self.definition.name


@attrs.frozen
class Restriction:
    """Admit the inherited names in `allow` (absent: all) that are not in `deny`."""

    allow: frozenset[str] | None
    deny: frozenset[str]

    def admits(self, name: str) -> bool:
        """Return whether an inherited tool of this name stays visible."""
        return name not in self.deny and (self.allow is None or name in self.allow)


class ToolLayer:
    """Hold what is registered in one scope layer."""

    __slots__ = ("guards", "restrictions", "tools")

    def __init__(self) -> None:
        """Start empty."""
        self.tools: NamedEntries[RegisteredTool] = NamedEntries(_duplicate)
        self.guards: AnonymousEntries[Guard] = AnonymousEntries()
        self.restrictions: AnonymousEntries[Restriction] = AnonymousEntries()

    def is_empty(self) -> bool:
        """Return whether the layer can go."""
        return not (self.tools or self.guards or self.restrictions)


@attrs.frozen(eq=False)
class ToolView:
    """Hold everything that one scope sees.

    `known` also has the names that a restriction hides. `contribution` is what the prompt gets.
    """

    tools: Mapping[str, RegisteredTool]
    known: frozenset[str]
    guards: tuple[Guard, ...]
    contribution: ToolContribution


def fold_layers(layers: Iterable[ToolLayer]) -> ToolView:
    """Derive the view of a scope from its layers, the global one first and the nearest last.

    A layer's restrictions filter what it inherits, never its own registrations.
    """
    visible: dict[str, RegisteredTool] = {}
    known: set[str] = set()
    guards: list[Guard] = []
    for layer in layers:
        for restriction in layer.restrictions:
            visible = {name: tool for name, tool in visible.items() if restriction.admits(name)}
        own = layer.tools.as_dict()
        visible.update(own)
        known.update(own)
        guards.extend(layer.guards)
    names = frozenset(known)
    schemas = tuple([tool.schema for tool in visible.values()])
    return ToolView(visible, names, tuple(guards), ToolContribution(schemas, names))


def check_definition(definition: ToolDefinition, owner: Context) -> RegisteredTool:
    """Validate a definition and derive what its calls need.

    Raises:
        TypeError: a member is missing or has the wrong form.
        JsonSchemaError: the output schema is outside the subset, or a schema is no JSON.
        ToolRegistrationError: the name is reserved.
    """
    if not isinstance(definition, ToolDefinition):  # pyright: ignore[reportUnnecessaryIsInstance]  # callers may be untyped
        raise TypeError(f"expected a ToolDefinition, got {type(definition).__name__}")
    _check_members(definition)
    if definition.name == RESERVED_NAME:
        raise ToolRegistrationError(f"the tool name {RESERVED_NAME!r} is reserved")
    assert_supported_json_schema(definition.output.schema, path="output.schema")
    schema = ToolSchema(
        definition.name,
        definition.description,
        _freeze(definition.parameters, "parameters"),
    )
    return RegisteredTool(
        definition, owner, schema, _freeze(definition.output.schema, "output.schema")
    )


def _check_members(definition: Any) -> None:  # noqa: ANN401  # nothing is known of it yet
    if not isinstance(definition.name, str) or not definition.name:
        raise TypeError(f"a tool needs a non-empty name, got {definition.name!r}")
    if not isinstance(definition.description, str):
        raise TypeError(f"the description of tool {definition.name!r} must be text")
    if not isinstance(definition.parameters, dict):
        raise TypeError(f"the parameters of tool {definition.name!r} must be a JSON schema object")
    if not isinstance(definition.output, ToolOutput) or not callable(definition.output.render):
        raise TypeError(f"tool {definition.name!r} needs an output: ToolOutput(schema=…, render=…)")
    timeout_s = definition.timeout_s
    if timeout_s is not None and not (
        type(timeout_s) in (int, float) and isfinite(timeout_s) and timeout_s > 0
    ):
        raise TypeError(
            f"timeout_s of tool {definition.name!r} must be a finite number of seconds above 0, "
            f"got {timeout_s!r}"
        )


def _freeze(schema: object, path: str) -> FrozenDict:
    try:
        return snapshot_json(schema)
    except NotJsonError as error:
        raise JsonSchemaError([f"{path} is no lossless JSON: {error}"]) from error


def _duplicate(name: str) -> Exception:
    return ToolRegistrationError(
        f"a tool named {name!r} is already registered here; to change it for one agent only, "
        "register it through agent.ctx"
    )
