"""Provide `ctx.system_prompt`: register what belongs into prompts, and assemble them."""

from __future__ import annotations

from math import isfinite

from harness.scope import UNSCOPED, LayerFold, ScopedLayers, ScopeTarget
from harness.system_prompt.assemble import compute, seal
from harness.system_prompt.config import SystemPromptConfig
from harness.system_prompt.events import ASSEMBLE, CHANGE
from harness.system_prompt.interpolate import VARIABLE_NAME
from harness.system_prompt.layer import PromptLayer, PromptPlan, Registration, merge_layers
from harness.system_prompt.tool_order import check_tool_order
from harness.system_prompt.types import (
    AssembleContext,
    PromptAssembly,
    SectionText,
    ToolProvider,
    VariableProvider,
)
from vendor_shims.cordis import Context, Effect, Service

IDENTITY_SECTION = "harness:identity"
IDENTITY_ORDER = -100
PERSONA_SECTION = "deployment:persona"
PERSONA_ORDER = 0
_IDENTITY = "You are an agent running in dsh, an agent harness in which everything is a plugin."


class SystemPrompt(Service):
    """Hold the registrations of every scope and assemble prompts from them.

    Registrations belong to the calling context: they are undone with it, and inside a scope (such
    as `agent.ctx`) they count for that scope and those below it only, where they shadow those of
    the same name from outside.
    """

    key = "system_prompt"
    Config = SystemPromptConfig

    def __init__(self, ctx: Context, config: SystemPromptConfig) -> None:
        """Provide the service with its built-in sections.

        Raises:
            ToolOrderError: the configured tool order is malformed.
        """
        if config.tool_order is not None:
            check_tool_order(config.tool_order)
        super().__init__(ctx)
        self.config = config
        self._layers = ScopedLayers(PromptLayer, self._announce)
        self._plans = LayerFold(self._layers, self._merge)
        if config.include_harness_identity:
            self.section(IDENTITY_SECTION, IDENTITY_ORDER, _IDENTITY)
        self.section(PERSONA_SECTION, PERSONA_ORDER, config.persona)

    def section(
        self,
        name: str,
        order: float,
        text: SectionText,
        *,
        complete: bool = False,
        protocol: bool = False,
    ) -> Effect:
        """Add a section; lower orders come first, equal ones in order of registration.

        A `complete` section replaces every other one except `protocol` sections, which hold text
        that tools need to work.

        Raises:
            TypeError: the order is not finite, or the text is neither a string nor callable.
            DuplicatePromptName: this scope has a section of that name.
        """
        registration = Registration(
            name, _checked_order(name, order), _checked_text(name, text), complete, protocol
        )
        return self._layers.effect(
            self.caller,
            lambda layer: layer.sections.add(name, registration),
            f'ctx.system_prompt.section("{name}")',
        )

    def context(self, name: str, order: float, text: SectionText) -> Effect:
        """Add a piece of runtime context, which reaches the model as a message when it changes.

        Raises:
            TypeError: as `section`.
            DuplicatePromptName: this scope has a context of that name.
        """
        registration = Registration(name, _checked_order(name, order), _checked_text(name, text))
        return self._layers.effect(
            self.caller,
            lambda layer: layer.contexts.add(name, registration),
            f'ctx.system_prompt.context("{name}")',
        )

    def suppress_runtime_context(self) -> Effect:
        """Keep every runtime context out of the prompts of the caller's scope."""
        return self._layers.effect(
            self.caller,
            lambda layer: layer.suppressions.add(None),
            "ctx.system_prompt.suppress_runtime_context()",
        )

    def tools(self, provider: ToolProvider) -> Effect:
        """Offer tools to the prompts of the caller's scope, asked once per assembly."""
        return self._layers.effect(
            self.caller, lambda layer: layer.tools.add(provider), "ctx.system_prompt.tools()"
        )

    def variable(self, name: str, provider: VariableProvider) -> Effect:
        """Give `{{name}}` a value, computed once per assembly.

        Raises:
            ValueError: the name is not lower-case letters, digits and underscores.
            DuplicatePromptName: this scope has a variable of that name.
        """
        if not VARIABLE_NAME.fullmatch(name):
            raise ValueError(
                f"variable name {name!r} must be lower-case letters, digits and underscores, "
                "starting with a letter"
            )
        return self._layers.effect(
            self.caller,
            lambda layer: layer.variables.add(name, provider),
            f'ctx.system_prompt.variable("{name}")',
        )

    async def assemble(self, context: AssembleContext | None = None) -> PromptAssembly:
        """Assemble the prompt of a scope; the same object as before when nothing changed.

        Raises:
            PromptError: registrations exclude each other, or the tool order cannot be applied.
            TypeError: a computed text or a listener returned something else than it must.
            Exception: whatever a computed text, provider or listener raises.
        """
        context = context or AssembleContext()
        plan = self._plans.of(context.scope)
        computed = compute(plan, context, self.config.tool_order)
        target = UNSCOPED if context.scope is None else ScopeTarget(None, context.scope)
        returned = await self.ctx.waterfall(ASSEMBLE, computed, context, inner=_same, target=target)
        return seal(plan, computed, _checked_assembly(returned))

    def _merge(self, layers: list[PromptLayer]) -> PromptPlan:
        return merge_layers(layers, with_contexts=self.config.include_runtime_context)

    def _announce(self) -> None:
        self.ctx.emit(CHANGE)


async def _same(assembly: PromptAssembly, _context: AssembleContext) -> PromptAssembly:
    return assembly


def _checked_assembly(returned: object) -> PromptAssembly:
    if not isinstance(returned, PromptAssembly):
        raise TypeError(
            "a listener of system-prompt/assemble must return a PromptAssembly, got "
            f"{type(returned).__name__}"
        )
    return returned


def _checked_order(name: str, order: object) -> float:
    if isinstance(order, bool) or not isinstance(order, int | float) or not isfinite(order):
        raise TypeError(f"the order of prompt text {name!r} must be a finite number, got {order!r}")
    return order


def _checked_text(name: str, text: SectionText) -> SectionText:
    if not isinstance(text, str) and not callable(text):
        raise TypeError(f"prompt text {name!r} must be a string or callable, got {text!r}")
    return text
