"""A step: one answer of the model, with its retries, and the tool calls that it asks for."""

from typing import TYPE_CHECKING, NamedTuple

from harness.agent import (
    REQUEST_ERROR,
    STEP_RESULT,
    AssistantDraft,
    AttemptFailed,
    CancelCause,
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
from harness_plugins.agent_loop.errors import RequestFailedError, TurnCancelled
from harness_plugins.agent_loop.request import StepRequest
from harness_plugins.agent_loop.scheduler import ToolScheduler
from harness_plugins.agent_loop.steering import drain_steering
from harness_plugins.agent_loop.tool_calls import CallLog

if TYPE_CHECKING:
    from harness_plugins.agent_loop.agent import ReactLoopAgent
    from harness_plugins.agent_loop.signal import TurnSignal


class StepResult(NamedTuple):
    """What a step came to."""

    finish: FinishReason
    had_tool_calls: bool
    has_concluded: bool
    was_steered: bool


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
        self._place = FrozenDict(turn=turn, step=number)

    def open(self) -> None:
        """Append the beginning; `run` must follow."""
        self._agent.session.append(STEP_START, self._place)

    async def run(self, assembly: PromptAssembly) -> StepResult:
        """Ask the model, run its calls, append everything up to the end.

        Raises:
            TurnCancelled: the turn was stopped; the step is closed.
            Exception: the step failed; it is closed.
        """
        try:
            result = await self._work(assembly)
        except BaseException as error:
            self._close(error)
            raise
        self._close(None)
        return result

    async def _work(self, assembly: PromptAssembly) -> StepResult:
        agent = self._agent
        draft = await self._answer(assembly)
        calls = await self._run_calls(draft)
        self._signal.check()
        calls.append_contexts()
        agent.buffer.drain_contexts()
        was_steered = drain_steering(agent, turn=self._turn, step=self._number)
        return StepResult(draft.finish, bool(calls.calls), calls.has_concluded, was_steered)

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
            if finish.is_failure:
                attempt.commit_failure(_failure_of(finish))
                return None
            return await self._commit(attempt, finish)
        except Exception as error:
            if attempt.is_settled:
                raise
            if self._signal.aborted:
                attempt.commit_interrupted()
            else:
                attempt.commit_failure(normalize_llm_failure(error))
            raise
        except BaseException:
            attempt.commit_interrupted()
            raise

    async def _commit(self, attempt: Attempt, finish: FinishReason) -> AssistantDraft:
        streamed = AssistantDraft(
            content=tuple(attempt.assembler.blocks()), usage=attempt.assembler.usage, finish=finish
        )
        draft = streamed
        if not self._signal.aborted:  # else the answer was complete at that very moment
            draft = await ask(
                self._agent,
                STEP_RESULT,
                lambda: StepAnswered(
                    agent=self._agent, turn=self._turn, step=self._number, draft=streamed
                ),
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
        policy = None if request.prepared is None else request.prepared.retry_policy
        try:
            action = await ask(
                self._agent,
                REQUEST_ERROR,
                lambda: AttemptFailed(
                    agent=self._agent,
                    turn=self._turn,
                    step=self._number,
                    attempt=number,
                    provider=request.options.provider,
                    failure=failure,
                    retry_policy=policy,
                    signal=self._signal,
                ),
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

    async def _run_calls(self, draft: AssistantDraft) -> CallLog:
        agent = self._agent
        blocks = [block for block in draft.content if isinstance(block, ToolCallBlock)]
        calls = self._calls = CallLog(
            agent, blocks, turn=self._turn, step=self._number, signal=self._signal
        )
        if blocks and draft.finish.kind == "max-tokens":
            calls.skip_rest(TRUNCATED_RESPONSE)
        elif blocks:
            await ToolScheduler(agent, calls).run()
        return calls

    def _close(self, error: BaseException | None) -> None:
        """Settle unanswered calls and close the bracket, whatever `error` ended the step.

        A call whose answer is refused stays open, and with it step and turn: who takes the session
        up again closes them.

        Raises:
            Exception: closing failed; a group with `error` when that is one too.
        """
        agent = self._agent
        failures: list[Exception] = []
        for action in (
            self._settle_calls,
            agent.buffer.drain_contexts,
            lambda: agent.session.append(STEP_END, self._place),
        ):
            try:
                action()
            except Exception as failure:  # noqa: BLE001 - the bracket is closed whatever fails
                failures.append(failure)
            if self._calls is not None and self._calls.open:
                agent.mark_unbalanced(failures[-1])
                break
        if isinstance(error, Exception) and failures:
            failures.insert(0, error)
        if len(failures) > 1:
            raise ExceptionGroup("closing a step", failures)
        if failures:
            raise failures[0]

    def _settle_calls(self) -> None:
        if self._calls is not None:
            self._calls.settle_unanswered()
            self._calls.append_contexts()


def _failure_of(finish: FinishReason) -> LlmFailure:
    return finish.failure or LlmFailure("the request failed without saying why", "UNKNOWN")
