"""Provide `ctx.tools`: register tools, decide what is visible, run calls."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from harness.llm import ToolSchema
from harness.scope import LayerFold, ScopedLayers, scope_of, scope_parent_of
from harness.system_prompt import AssembleContext, SystemPrompt, ToolContribution
from harness.tools.definition import ToolDefinition
from harness.tools.errors import ToolRestrictionError
from harness.tools.events import CHANGE
from harness.tools.execution import ToolExecution, ToolExecutionInput
from harness.tools.pipeline import PreparedCall, ToolPipeline
from harness.tools.result import ToolExecutionResult
from harness.tools.visibility import (
    RESERVED_NAME,
    Guard,
    RegisteredTool,
    Restriction,
    ToolLayer,
    check_definition,
    fold_layers,
)
from vendor_shims.cordis import Context, Dep, Effect, Service


class ToolRegistry(Service):
    """Hold the tools of every scope and run their calls.

    Registrations belong to the calling context: they are undone with it, and inside a scope (such
    as `agent.ctx`) they count for that scope and those below it only.

    Invariants: what a model is offered, what `get` finds and what a call reaches agree for every
    scope; every call that enters `execute` ends with exactly one `tools/result`.
    """

    key = "tools"
    system_prompt = Dep(SystemPrompt)

    def __init__(self, ctx: Context) -> None:
        """Provide the registry."""
        super().__init__(ctx)
        self._layers = ScopedLayers(ToolLayer, self._announce)
        self._views = LayerFold(self._layers, fold_layers)
        self._pipeline = ToolPipeline(ctx, self._views.of)

    def start(self) -> None:
        """Offer the visible tools to every prompt."""
        self.system_prompt.tools(self._contribute)

    def register(self, definition: ToolDefinition) -> Effect:
        """Make a tool visible in the scope of the caller; replace it by disposing and registering.

        Raises:
            TypeError: a member of the definition has the wrong form.
            JsonSchemaError: its output schema is outside the supported subset.
            ToolRegistrationError: its name is reserved, or taken in this scope.
        """
        tool = check_definition(definition, self.caller)
        return self._layers.effect(
            self.caller,
            lambda layer: layer.tools.add(tool.name, tool),
            f'ctx.tools.register("{tool.name}")',
        )

    def guard(self, check: Guard) -> Effect:
        """Deny calls for which `check(execution)` returns a reason; nobody can undo a denial.

        Guards run after the listeners have allowed a call, synchronously, the global ones first. A
        raising guard ends the call with an error.
        """
        return self._layers.effect(
            self.caller,
            lambda layer: layer.guards.add(check),
            "ctx.tools.guard()",
            notify=False,
        )

    def restrict(
        self, *, allow: Iterable[str] | None = None, deny: Iterable[str] | None = None
    ) -> Effect:
        """Hide inherited tools from the caller's scope; its own registrations stay visible.

        Several restrictions intersect.

        Raises:
            ToolRestrictionError: outside a scope, without a filter, for a name that the scope does
                not inherit, or for the reserved name.
        """
        scope = scope_of(self.caller)
        if scope is None:
            raise ToolRestrictionError("restrict() needs a scoped context, such as agent.ctx")
        if allow is None and deny is None:
            raise ToolRestrictionError("restrict() needs names to allow or to deny")
        restriction = Restriction(
            None if allow is None else frozenset(allow), frozenset(deny or ())
        )
        self._check_names(restriction, scope)
        return self._layers.effect(
            self.caller,
            lambda layer: layer.restrictions.add(restriction),
            "ctx.tools.restrict()",
        )

    def get(self, name: str, scope: object | None = None) -> ToolDefinition | None:
        """Return the definition that a scope sees under a name, or `None`."""
        tool = self.registration(name, scope)
        return None if tool is None else tool.definition

    def registration(self, name: str, scope: object | None = None) -> RegisteredTool | None:
        """Return the visible definition with the context that owns it, or `None`."""
        return self._views.of(scope).tools.get(name)

    def schemas(self, scope: object | None = None) -> tuple[ToolSchema, ...]:
        """Return the frozen schemas of the visible tools, in registration order."""
        return tuple([tool.schema for tool in self._views.of(scope).tools.values()])

    def execution_mode(
        self, call: ToolExecutionInput | ToolExecution
    ) -> Literal["parallel", "exclusive"]:
        """Return `parallel` iff the visible tool classifies this very call as safe to overlap."""
        definition = self.get(call.name, call.agent)
        if definition is None or definition.is_concurrency_safe is None:
            return "exclusive"
        try:
            is_safe = definition.is_concurrency_safe(call.arguments)
        except Exception:  # noqa: BLE001  # a classifier is foreign code; a failing one makes no promise
            return "exclusive"
        return "parallel" if is_safe is True else "exclusive"

    async def execute(self, request: ToolExecutionInput) -> ToolExecutionResult:
        """Run one call and return its one result, the object that `tools/result` observers got.

        A failure of any kind is an error result. Cancelling the awaiting task cancels the body and
        leaves no result; to abort a call and get one, abort its signal.
        """
        return await self._pipeline.execute(request)

    async def prepare(self, request: ToolExecutionInput) -> PreparedCall:
        """Do the stages before the body, for schedulers; see `harness.tools.pipeline`."""
        return await self._pipeline.prepare(request)

    async def dispatch(self, execution: ToolExecution) -> ToolExecutionResult:
        """Run the body of a prepared call, for schedulers; several may overlap."""
        return await self._pipeline.dispatch(execution)

    async def finalize(
        self, execution: ToolExecution, result: ToolExecutionResult
    ) -> ToolExecutionResult:
        """Do the stages after the body, for schedulers, in model order."""
        return await self._pipeline.finalize(execution, result)

    def finish(self, execution: ToolExecution, result: ToolExecutionResult) -> ToolExecutionResult:
        """End a call whose result is final, for schedulers."""
        return self._pipeline.finish(execution, result)

    def _check_names(self, restriction: Restriction, scope: object) -> None:
        names = (restriction.allow or frozenset()) | restriction.deny
        if RESERVED_NAME in names:
            raise ToolRestrictionError(f"the tool name {RESERVED_NAME!r} cannot be restricted")
        known = self._views.of(scope_parent_of(scope)).known
        unknown = sorted(names - known)
        if unknown:
            raise ToolRestrictionError(
                f"this scope inherits no tool named {', '.join(map(repr, unknown))}; it inherits "
                f"{', '.join(sorted(known)) or 'none'}"
            )

    def _contribute(self, context: AssembleContext) -> ToolContribution:
        return self._views.of(context.scope).contribution

    def _announce(self) -> None:
        self.ctx.emit(CHANGE)
