"""Hold the registrations of one scope layer, and merge those of a chain."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

import attrs

from harness.llm import ToolSchema
from harness.scope import AnonymousEntries, NamedEntries
from harness.system_prompt.errors import DuplicatePromptName, PromptConflict
from harness.system_prompt.types import (
    NamedText,
    PromptAssembly,
    SectionText,
    ToolContribution,
    ToolProvider,
    VariableProvider,
)


def _fixed_text(registration: Registration) -> NamedText | None:
    text = registration.text
    return NamedText(registration.name, text) if isinstance(text, str) else None


@attrs.frozen(eq=False)
class Registration:
    """Hold one section or context; the lowest `order` comes first.

    `fixed` is its text when that is no computed one, made once for every assembly.
    """

    name: str
    order: float
    text: SectionText
    is_complete: bool = False
    is_protocol: bool = False
    fixed: NamedText | None = attrs.field(
        default=attrs.Factory(_fixed_text, takes_self=True), init=False
    )


class PromptLayer:
    """Hold what is registered in one scope layer."""

    __slots__ = ("contexts", "sections", "suppressions", "tools", "variables")

    def __init__(self) -> None:
        """Start empty."""
        self.sections: NamedEntries[Registration] = NamedEntries(_duplicate("section"))
        self.contexts: NamedEntries[Registration] = NamedEntries(_duplicate("context"))
        self.variables: NamedEntries[VariableProvider] = NamedEntries(_duplicate("variable"))
        self.tools: AnonymousEntries[ToolProvider] = AnonymousEntries()
        self.suppressions: AnonymousEntries[None] = AnonymousEntries()

    def is_empty(self) -> bool:
        """Return whether the layer can go."""
        return not (
            self.sections or self.contexts or self.variables or self.tools or self.suppressions
        )


@attrs.define(eq=False)
class PromptPlan:
    """Hold the merged registrations of one scope, in the order of the prompt.

    Invariant: the members from `last` on are what this very plan took and gave most recently, so
    that an unchanged prompt is the same object again.
    """

    sections: tuple[Registration, ...]
    contexts: tuple[Registration, ...]
    variables: Mapping[str, VariableProvider]
    tools: tuple[ToolProvider, ...]
    complete: Registration | None
    is_suppressed: bool
    last: PromptAssembly | None = None
    last_contributions: tuple[ToolContribution, ...] | None = None
    last_tools: tuple[ToolSchema, ...] = ()


def merge_layers(layers: Iterable[PromptLayer], *, with_contexts: bool) -> PromptPlan:
    """Merge the layers of a chain, the global one first; the nearest registration of a name wins.

    Raises:
        PromptConflict: more than one section wants to be the whole prompt.
    """
    sections: dict[str, Registration] = {}
    contexts: dict[str, Registration] = {}
    variables: dict[str, VariableProvider] = {}
    tools: list[ToolProvider] = []
    for layer in layers:
        sections.update(layer.sections.as_dict())
        contexts.update(layer.contexts.as_dict())
        variables.update(layer.variables.as_dict())
        tools.extend(layer.tools)
        with_contexts = with_contexts and not layer.suppressions
    ordered = _in_order(sections)
    complete = [section for section in ordered if section.is_complete]
    if len(complete) > 1:
        names = ", ".join(repr(section.name) for section in complete)
        raise PromptConflict(f"only one section may be the complete prompt, found {names}")
    return PromptPlan(
        sections=ordered,
        contexts=_in_order(contexts) if with_contexts else (),
        variables=variables,
        tools=tuple(tools),
        complete=complete[0] if complete else None,
        is_suppressed=not with_contexts,
    )


def _in_order(registrations: Mapping[str, Registration]) -> tuple[Registration, ...]:
    return tuple(sorted(registrations.values(), key=lambda registration: registration.order))


def _duplicate(kind: str) -> Callable[[str], Exception]:
    def make(name: str) -> Exception:
        return DuplicatePromptName(
            f"a prompt {kind} named {name!r} is already registered here; to change it for one "
            "agent only, register it through agent.ctx"
        )

    return make
