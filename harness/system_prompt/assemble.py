"""Compute an assembly from merged registrations, reusing the last one when nothing changed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from operator import is_
from typing import cast

import attrs

from harness.llm import ToolSchema
from harness.system_prompt.errors import PromptConflict
from harness.system_prompt.layer import PromptPlan, Registration
from harness.system_prompt.tool_order import order_tools
from harness.system_prompt.types import (
    AssembleContext,
    NamedText,
    PromptAssembly,
)


def compute(
    plan: PromptPlan, context: AssembleContext, tool_order: Sequence[str] | None
) -> PromptAssembly:
    """Ask every provider once and return the assembly, the last one if nothing changed.

    Raises:
        ToolOrderError: the configured order cannot be applied.
        PromptConflict: two providers offer a tool of one name.
        Exception: whatever a computed text or provider raises.
    """
    last = plan.last
    variables = {name: provider(context) for name, provider in plan.variables.items()}
    sections = _texts(plan.sections, context, () if last is None else last.sections)
    contexts = _texts(plan.contexts, context, () if last is None else last.contexts)
    tools = _tools(plan, context, tool_order)
    if (
        last is not None
        and last.sections is sections
        and last.contexts is contexts
        and last.tools is tools
        and last.variables == variables
    ):
        return last
    plan.last = PromptAssembly(sections, contexts, tools, variables)
    return plan.last


def seal(plan: PromptPlan, computed: PromptAssembly, returned: PromptAssembly) -> PromptAssembly:
    """Enforce on what the listeners returned what no listener may change.

    A complete section replaces every other one but the protocol sections, with its own computed
    text; a scope without contexts stays without.
    """
    has_forbidden_contexts = plan.is_suppressed and bool(returned.contexts)
    if plan.complete is None and not has_forbidden_contexts:
        return returned
    sections = returned.sections
    if plan.complete is not None:
        own = {section.name: section for section in returned.sections}
        own[plan.complete.name] = next(
            section for section in computed.sections if section.name == plan.complete.name
        )
        kept = [one.name for one in plan.sections if one.is_protocol or one.is_complete]
        sections = tuple([own[name] for name in kept if name in own])
    contexts = () if has_forbidden_contexts else returned.contexts
    return attrs.evolve(returned, sections=sections, contexts=contexts)


def _texts(
    registrations: Iterable[Registration],
    context: AssembleContext,
    last: tuple[NamedText, ...],
) -> tuple[NamedText, ...]:
    """Compute the texts of registrations; equal ones are the same object as last time."""
    texts = tuple([one.fixed or _computed_text(one, context) for one in registrations])
    return last if texts == last else texts


def _computed_text(registration: Registration, context: AssembleContext) -> NamedText:
    compute_text = cast("Callable[[AssembleContext], object]", registration.text)
    text = compute_text(context)
    if not isinstance(text, str):
        raise TypeError(
            f"prompt text {registration.name!r} must be a string, got {type(text).__name__}"
        )
    return NamedText(registration.name, text)


def _tools(
    plan: PromptPlan, context: AssembleContext, order: Sequence[str] | None
) -> tuple[ToolSchema, ...]:
    """Collect and order the offered tools; unchanged contributions are not looked at again."""
    contributions = tuple([provider(context) for provider in plan.tools])
    known = plan.last_contributions
    if known is not None and all(map(is_, known, contributions)):
        return plan.last_tools
    offered: list[ToolSchema] = []
    for contribution in contributions:
        offered.extend(contribution.schemas)
    _refuse_duplicates(offered)
    names = frozenset[str]().union(*[one.known_names for one in contributions])
    ordered = order_tools(offered, names, order)
    plan.last_contributions = contributions
    if ordered != plan.last_tools:
        plan.last_tools = ordered
    return plan.last_tools


def _refuse_duplicates(tools: Sequence[ToolSchema]) -> None:
    counts = Counter([tool.name for tool in tools])
    twice = sorted(name for name, count in counts.items() if count > 1)
    if twice:
        raise PromptConflict(f"several providers offer tools named {', '.join(map(repr, twice))}")
