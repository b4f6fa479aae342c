"""Run one call through its stages, so that it ends with exactly one result.

prepare   snapshot the arguments, `tools/pre-execute`, approval, guards
dispatch  `tools/execute` around the body
finalize  `tools/post-execute`, then finish
finish    `finalize_content`, freeze, `tools/result`

A caller that runs calls one at a time uses `execute`; a scheduler overlaps dispatches and keeps the
other stages in model order. No stage raises because of a tool, a listener or an abort; what leaves
one is host cancellation, or the veto of an `internal/dispatch` observer on the final notification.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import attrs

from harness.scope import UNSCOPED
from harness.tools.abort import CUT, Cut, aborted, aborted_before_dispatch, until_abort
from harness.tools.approval import ask_user
from harness.tools.content import as_content
from harness.tools.decisions import Accept, Allow, Ask, Deny, PostToolDecision, PreToolDecision
from harness.tools.describe import describe_error, error_code
from harness.tools.errors import (
    ABORTED,
    ToolArgsError,
    ToolError,
    ToolNotFoundError,
    ToolOutputError,
)
from harness.tools.events import EXECUTE, POST_EXECUTE, PRE_EXECUTE, RESULT
from harness.tools.execution import ToolExecution, ToolExecutionInput, assign_signal, run_of
from harness.tools.outcome import (
    apply_decision,
    canonical_result,
    foreign_error,
    wrong_decision,
)
from harness.tools.result import ToolExecutionResult, error_result
from harness.tools.run import CallRun
from harness.tools.visibility import ToolView
from harness.wire import NotJsonError, snapshot_json
from vendor_shims.cordis import AbortSignal, Context

_ALLOW = Allow()
_ACCEPT = Accept()


@attrs.frozen
class PreparedCall:
    """Say how a prepared call goes on.

    `dispatch` runs the body; `post-result` (a refused call) goes to `finalize` with `result`;
    `final-result` goes to `finish` with `result`.
    """

    execution: ToolExecution
    stage: Literal["dispatch", "post-result", "final-result"]
    result: ToolExecutionResult | None = None


class ToolPipeline:
    """Run calls for the registry that owns `ctx`; `view_of` tells what a scope sees."""

    def __init__(self, ctx: Context, view_of: Callable[[object | None], ToolView]) -> None:
        """Dispatch events and look up services through `ctx`."""
        self._ctx = ctx
        self._view_of = view_of

    async def execute(self, request: ToolExecutionInput) -> ToolExecutionResult:
        """Run all stages of one call."""
        prepared = await self.prepare(request)
        execution, result = prepared.execution, prepared.result
        if result is None:
            result = await self.dispatch(execution)
        if prepared.stage == "final-result":
            return self.finish(execution, result)
        return await self.finalize(execution, result)

    async def prepare(self, request: ToolExecutionInput) -> PreparedCall:
        """Create the execution and decide whether its body may run."""
        tool = self._view_of(request.agent).tools.get(request.name)
        run = CallRun(
            request.signal, tool, None if tool is None else tool.definition.finalize_content
        )
        try:
            arguments = snapshot_json(request.arguments, allow_surrogates=False)
        except NotJsonError as error:
            problem = f'"{error.path or "arguments"}" {error.reason}'
            execution = ToolExecution(request, None, run)
            return PreparedCall(execution, "final-result", error_result(ToolArgsError([problem])))
        execution = ToolExecution(request, arguments, run)
        if request.signal.aborted:
            return PreparedCall(execution, "final-result", aborted_before_dispatch())
        try:
            refusal = await self._decide(execution, run)
        except Exception as error:  # noqa: BLE001  # whatever a listener, guard or approval raises
            return PreparedCall(execution, "final-result", _failure(run, run.caller_signal, error))
        return PreparedCall(execution, "dispatch" if refusal is None else "post-result", refusal)

    async def dispatch(self, execution: ToolExecution) -> ToolExecutionResult:
        """Run the wrappers and the body of an allowed call."""
        run = run_of(execution)
        try:
            returned = await self._ctx.waterfall(
                EXECUTE, execution, inner=self._body, target=_target_of(execution)
            )
            result = self._recognise(execution, run, returned)
        except Exception as error:  # noqa: BLE001  # whatever a wrapper raises
            result = _failure(run, run.caller_signal, error)
        if run.caller_signal.aborted and not result.is_error:
            return aborted(had_finished=True)
        return result

    async def finalize(
        self, execution: ToolExecution, result: ToolExecutionResult
    ) -> ToolExecutionResult:
        """Let listeners decide about a result, then finish the call."""
        run = run_of(execution)
        try:
            target = _target_of(execution)
            is_heard = self._ctx.events.has_listeners(POST_EXECUTE, target)
            answer = self._ctx.waterfall(
                POST_EXECUTE, execution, result, inner=_accept, target=target
            )
            decision = await (until_abort(run.caller_signal, answer) if is_heard else answer)
            result = (
                result
                if isinstance(decision, Cut)
                else apply_decision(run.tool, execution, result, decision)
            )
        except Exception as error:  # noqa: BLE001  # whatever a listener raises
            failure = _failure(run, run.caller_signal, error, had_finished=True)
            return self.finish(execution, attrs.evolve(failure, additional_contexts=()))
        if run.caller_signal.aborted and not result.is_error:
            result = aborted(had_finished=True)
        return self.finish(execution, result)

    def finish(self, execution: ToolExecution, result: ToolExecutionResult) -> ToolExecutionResult:
        """Give the content its last form, freeze the call, tell the observers, return the result.

        Raises:
            ToolError: the call has ended before.
        """
        run = run_of(execution)
        if run.is_frozen:
            raise ToolError(f"the call {execution.call_id!r} already has its result")
        if run.finalizer is not None:
            try:
                content = run.finalizer(execution, result)
                if content is not None:
                    result = attrs.evolve(result, content=as_content(content))
            except Exception as error:  # noqa: BLE001  # whatever the tool raises
                problem = f'finalize_content of tool "{execution.name}" failed: '
                result = error_result(ToolOutputError(problem + describe_error(error)))
        concludes_turn = not result.is_error and (run.concludes_turn or result.concludes_turn)
        if concludes_turn is not result.concludes_turn:
            result = attrs.evolve(result, concludes_turn=concludes_turn)
        run.is_frozen = True
        self._ctx.emit(RESULT, execution, result, target=_target_of(execution))
        return result

    async def _decide(self, execution: ToolExecution, run: CallRun) -> ToolExecutionResult | None:
        """Return the result of a call that must not run, or `None` when it may."""
        signal = run.caller_signal
        target = _target_of(execution)
        is_heard = self._ctx.events.has_listeners(PRE_EXECUTE, target)
        answer = self._ctx.waterfall(PRE_EXECUTE, execution, inner=_allow, target=target)
        decision = await (until_abort(signal, answer) if is_heard else answer)
        if isinstance(decision, Ask):
            # The user is asked only about a call that can run.
            tool = run.tool
            check = None if tool is None else tool.definition.validate_args
            violations = () if check is None else check(execution.arguments)
            if violations:
                return error_result(ToolArgsError(violations))
            decision = (
                _ALLOW
                if tool is None
                else await until_abort(signal, ask_user(self._ctx, execution, decision))
            )
        if signal.aborted or isinstance(decision, Cut):
            return aborted_before_dispatch()
        refusal = _refusal(decision)
        if refusal is not None:
            return refusal
        for guard in self._view_of(execution.agent).guards:
            reason = guard(execution)
            if reason is not None:
                return error_result(Deny(reason).reason)
        return aborted_before_dispatch() if signal.aborted else None

    async def _body(self, execution: ToolExecution) -> ToolExecutionResult:
        """Run the tool once; called again when a wrapper retries. Never raises for the tool."""
        run = run_of(execution)
        visible = self._view_of(execution.agent).tools
        tool = visible.get(execution.name)
        if tool is None:
            return error_result(ToolNotFoundError(execution.name, visible))
        outer = execution.signal
        signal = outer
        if outer is not run.caller_signal:
            signal = AbortSignal.any((run.caller_signal, outer))
        if signal.aborted:
            return aborted_before_dispatch()
        run.begin(tool)
        assign_signal(execution, signal)
        try:
            work = tool.definition.execute(execution.arguments, execution)
            if tool.definition.cancel_mode == "cooperative":
                value = await work
            else:
                value = await until_abort(signal, work)
            if value is CUT:
                result = aborted(had_finished=False)
            else:
                contexts = tuple(run.contexts)
                result = canonical_result(tool, execution, value, contexts=contexts)
        except Exception as error:  # noqa: BLE001  # whatever the tool raises
            result = _failure(run, signal, error)
        finally:
            assign_signal(execution, outer)
        run.made.append(result)
        return result

    def _recognise(
        self, execution: ToolExecution, run: CallRun, result: object
    ) -> ToolExecutionResult:
        """Return a body's own result unchanged, and one that a wrapper made in canonical form."""
        if not isinstance(result, ToolExecutionResult):
            raise wrong_decision("tools/execute", "ToolExecutionResult", result)
        if any(result is own for own in run.made):
            return result
        if result.is_error:
            return foreign_error(result)
        if run.tool is None:
            raise ToolNotFoundError(execution.name)
        return canonical_result(
            run.tool,
            execution,
            result.value,
            contexts=result.additional_contexts,
            concludes_turn=result.concludes_turn,
        )


def _failure(
    run: CallRun, signal: AbortSignal, error: Exception, *, had_finished: bool = False
) -> ToolExecutionResult:
    """Make the result of a raised error; after an abort only a code of its own is more telling."""
    if signal.aborted and error_code(error) in (None, ABORTED):
        if not run.has_started:
            return aborted_before_dispatch()
        return aborted(had_finished=had_finished)
    return error_result(error, additional_contexts=tuple(run.contexts))


def _refusal(decision: object) -> ToolExecutionResult | None:
    """Return the result of a denial, or `None` for permission."""
    if isinstance(decision, Deny):
        return error_result(decision.reason)
    if not isinstance(decision, Allow):
        raise wrong_decision("tools/pre-execute", "Allow, Deny or Ask", decision)
    return None


def _target_of(execution: ToolExecution) -> object:
    return UNSCOPED if execution.agent is None else execution.agent


async def _allow(_execution: ToolExecution) -> PreToolDecision:
    return _ALLOW


async def _accept(_execution: ToolExecution, _result: ToolExecutionResult) -> PostToolDecision:
    return _ACCEPT
