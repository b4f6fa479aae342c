"""A step: one answer of the model, with its retries, and the tool calls that it asks for."""

from typing import TYPE_CHECKING, NamedTuple

from harness.agent import (
    REQUEST_ERROR,
    STEP_RESULT,
    AssistantDraft,
    AttemptFailed,
    CancelCause,
    ContextItem,
    Retry,
    StepAnswered,
)
from harness.llm import FinishReason, LlmFailure, ToolCallBlock, normalize_llm_failure
from harness.session import STEP_END, STEP_START
from harness.system_prompt import PromptAssembly
from harness.tools import TRUNCATED_RESPONSE
from harness.wire import FrozenDict
from harness_plugins.agent_loop.asking import ask
from harness_plugins.agent_loop.attempt import Attempt
from harness_plugins.agent_loop.buffer import InjectedContext
from harness_plugins.agent_loop.errors import RequestFailedError, TurnCancelled
from harness_plugins.agent_loop.request import StepRequest
from harness_plugins.agent_loop.scheduler import ToolScheduler
from harness_plugins.agent_loop.tool_calls import BatchOutcome, CallLog

if TYPE_CHECKING:
    from harness_plugins.agent_loop.agent import ReactLoopAgent
    from harness_plugins.agent_loop.signal import TurnSignal


class StepResult(NamedTuple):
    """What a step came to."""

    finish: FinishReason
    had_tool_calls: bool
    has_concluded: bool


class Step:
    """Run one step inside its brackets; whatever happens, the brackets and calls are closed."""

    def __init__(
        self, agent: "ReactLoopAgent", *, turn: int, number: int, signal: "TurnSignal"
    ) -> None:
        """Prepare step `number` of `turn`."""
        self._agent = agent
        self._turn = turn
        self._number = number
        self._signal = signal
        self._calls: CallLog | None = None

    async def run(self, assembly: PromptAssembly) -> StepResult:
        """Ask the model, run its calls, append everything.

        Raises:
            TurnCancelled: the turn was stopped; the step is closed.
            Exception: the step failed; it is closed.
        """
        session = self._agent.session
        session.append(STEP_START, FrozenDict(turn=self._turn, step=self._number))
        try:
            draft = await self._answer(assembly)
            batch = await self._run_calls(draft)
            self._append_contexts(batch)
        finally:
            self._close()
        had_calls = self._calls is not None and bool(self._calls.calls)
        return StepResult(draft.finish, had_calls, batch.has_concluded)

    # -- the answer --------------------------------------------------------------------------

    async def _answer(self, assembly: PromptAssembly) -> AssistantDraft:
        """Return the answer that was appended, after as many attempts as it took."""
        number = 0
        while True:
            number += 1
            request = await self._agent.requests.make(
                assembly, turn=self._turn, step=self._number, attempt=number, signal=self._signal
            )
            attempt = Attempt(
                self._agent, request, turn=self._turn, step=self._number, number=number
            )
            draft = await self._try(attempt)
            if draft is not None:
                return draft
            await self._recover(attempt, request, number)

    async def _try(self, attempt: Attempt) -> AssistantDraft | None:
        """Stream and commit one attempt; `None` when it failed and that was recorded."""
        try:
            await attempt.stream(self._signal)
            finish = attempt.assembler.finish
            if finish.kind in ("error", "aborted"):
                attempt.commit_failure(_failure_of(finish))
                return None
            return await self._commit(attempt, finish)
        except TurnCancelled:
            attempt.commit_interrupted()
            raise
        except Exception as error:
            if not attempt.is_settled:
                attempt.commit_failure(normalize_llm_failure(error))
            raise
        except BaseException:
            attempt.commit_interrupted()
            raise

    async def _commit(self, attempt: Attempt, finish: FinishReason) -> AssistantDraft:
        streamed = AssistantDraft(
            content=tuple(attempt.assembler.blocks()), usage=attempt.assembler.usage, finish=finish
        )
        payload = StepAnswered(
            agent=self._agent, turn=self._turn, step=self._number, draft=streamed
        )
        draft = await ask(
            self._agent,
            STEP_RESULT,
            payload,
            streamed,
            signal=self._signal,
            kinds=(AssistantDraft,),
        )
        attempt.commit_message(draft)
        return draft

    async def _recover(self, attempt: Attempt, request: StepRequest, number: int) -> None:
        """Return when the failed attempt is to be repeated, else raise its failure."""
        finish = attempt.assembler.finish
        failure = _failure_of(finish)
        error = RequestFailedError(failure)
        payload = AttemptFailed(
            agent=self._agent,
            turn=self._turn,
            step=self._number,
            attempt=number,
            provider=request.options.provider,
            failure=failure,
            retry_policy=None if request.prepared is None else request.prepared.retry_policy,
            signal=self._signal,
        )
        try:
            action = await ask(
                self._agent,
                REQUEST_ERROR,
                payload,
                None,
                signal=self._signal,
                kinds=(Retry, type(None)),
            )
        except Exception as failed:
            if not isinstance(failed, TurnCancelled):
                failed.__cause__ = failed.__cause__ or error
            raise
        if action is None:
            if finish.kind == "aborted":
                raise TurnCancelled(CancelCause("hook", "adapter")) from error
            raise error

    # -- the calls ---------------------------------------------------------------------------

    async def _run_calls(self, draft: AssistantDraft) -> BatchOutcome:
        calls = [block for block in draft.content if isinstance(block, ToolCallBlock)]
        log = self._calls = CallLog(
            self._agent, calls, turn=self._turn, step=self._number, signal=self._signal
        )
        if not calls:
            return log.outcome()
        if draft.finish.kind == "max-tokens":
            log.skip_rest(TRUNCATED_RESPONSE)
            return log.outcome()
        agent = self._agent
        scheduler = ToolScheduler(
            agent.tools, log, max_parallel=agent.config.max_parallel_tool_calls
        )
        try:
            return await scheduler.run()
        finally:
            if self._signal.aborted:
                self._append_contexts(log.outcome())

    def _append_contexts(self, batch: BatchOutcome) -> None:
        """Append what tools want to say behind the results, then what was injected meanwhile."""
        log = self._calls
        if log is None or log.open:
            return
        for message in batch.contexts:
            item = ContextItem(message)
            self._agent.buffer.append_context(
                InjectedContext(item.message, item.envelope, None, None)
            )
        log.contexts.clear()
        self._agent.buffer.drain_contexts()

    def _close(self) -> None:
        """Settle unanswered calls and close the bracket; errors of both are raised together."""
        agent = self._agent
        errors: list[Exception] = []
        for action in (
            self._settle_calls,
            agent.buffer.drain_contexts,
            lambda: agent.session.append(STEP_END, FrozenDict(turn=self._turn, step=self._number)),
        ):
            try:
                action()
            except Exception as error:  # noqa: BLE001 - the bracket is closed whatever fails
                errors.append(error)
        if errors:
            raise errors[0] if len(errors) == 1 else ExceptionGroup("closing a step", errors)

    def _settle_calls(self) -> None:
        if self._calls is not None:
            self._calls.settle_unanswered()


def _failure_of(finish: FinishReason) -> LlmFailure:
    return finish.failure or LlmFailure("the request failed without saying why", "UNKNOWN")
