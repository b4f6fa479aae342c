"""Define what goes into a prompt and what an assembly returns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

import attrs

from harness.llm import ToolSchema
from vendor_shims.cordis import AbortSignal

if TYPE_CHECKING:
    from harness.agent import Agent


def _agent_of(context: AssembleContext) -> object | None:
    return context.agent


@attrs.frozen(kw_only=True)
class AssembleContext:
    """Say for whom a prompt is assembled; computed texts and providers receive it.

    `scope` is the key whose registrations count; it defaults to `agent`.
    """

    agent: Agent | None = None
    scope: object | None = attrs.field(default=attrs.Factory(_agent_of, takes_self=True))
    signal: AbortSignal | None = None


SectionText: TypeAlias = str | Callable[[AssembleContext], str]
"""Text of a section or context; a callable is asked once per assembly and may raise."""

VariableProvider: TypeAlias = Callable[[AssembleContext], str | None]
"""Value of a `{{name}}`; `None` is an error only when the name is used."""


@attrs.frozen
class NamedText:
    """Pair the name of a section or context with its text."""

    name: str
    text: str


def _freeze_schemas(
    schemas: Iterable[ToolSchema | Mapping[str, Any]],
) -> tuple[ToolSchema, ...]:
    return tuple(
        [
            schema if isinstance(schema, ToolSchema) else ToolSchema.from_json(schema)
            for schema in schemas
        ]
    )


def _names_of(contribution: ToolContribution) -> frozenset[str]:
    return frozenset([schema.name for schema in contribution.schemas])


@attrs.frozen
class ToolContribution:
    """Offer tools to the prompt; an immutable copy of what it is made from.

    `schemas` may be given as JSON objects with `name`, `description` and `parameters`.
    `known_names` are the names that a configured order may mention without being offered, such as
    restricted tools; it defaults to the offered names.
    """

    schemas: tuple[ToolSchema, ...] = attrs.field(converter=_freeze_schemas)
    known_names: frozenset[str] = attrs.field(default=attrs.Factory(_names_of, takes_self=True))


ToolProvider: TypeAlias = Callable[[AssembleContext], ToolContribution]
"""Offers tools once per assembly; returning the same object again costs nothing."""


@attrs.frozen
class PromptAssembly:
    """Hold everything a request says before its messages.

    An assembly whose inputs did not change is the same object as the one before, so identity tells
    whether anything has to be looked at again. Listeners change it with `attrs.evolve`.
    """

    sections: tuple[NamedText, ...] = ()
    contexts: tuple[NamedText, ...] = ()
    tools: tuple[ToolSchema, ...] = ()
    variables: Mapping[str, str | None] = attrs.field(factory=dict[str, "str | None"])
    _rendered: str | None = attrs.field(default=None, init=False, eq=False, repr=False)
