"""A turn: intake of prompts, steps until nothing asks for more, and exactly one end."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from anyio.lowlevel import checkpoint

from harness.agent import (
    PRE_STEP,
    PROMPT_SUBMIT,
    TURN_CONTINUATION,
    TURN_STOPPING,
    Allow,
    Block,
    Content,
    Continue,
    Enter,
    InboxTarget,
    PromptSubmitted,
    Reject,
    StepEnded,
    StepPending,
    Stop,
    TurnStopping,
)
from harness.llm import Message, TextBlock, create_user_message
from harness.session import (
    MESSAGE_TRIGGER,
    SURFACE_TYPES,
    TURN_END,
    TURN_START,
    USER_MESSAGE,
)
from harness.system_prompt import AssembleContext, PromptAssembly
from harness.wire import FrozenDict, freeze_json
from harness_plugins.agent_loop.asking import ask
from harness_plugins.agent_loop.errors import MaxStepsError, TurnCancelled
from harness_plugins.agent_loop.inbox import InboxEntry, settling
from harness_plugins.agent_loop.outcome import TurnOutcome
from harness_plugins.agent_loop.steering import drain_steering
from harness_plugins.agent_loop.step import Step, StepResult

if TYPE_CHECKING:
    from harness.agent import ContextItem
    from harness_plugins.agent_loop.agent import ReactLoopAgent
    from harness_plugins.agent_loop.signal import TurnSignal

_ALLOW, _ENTER, _CONTINUE, _STOP = Allow(), Enter(), Continue(), Stop()


class Turn:
    """Run one conversational turn.

    Invariants: once `turn/start` is appended, exactly one `turn/end` follows whatever fails,
    unless appending that fails itself; no await stands between deciding to stop and `turn/end`.
    """

    def __init__(self, agent: "ReactLoopAgent", signal: "TurnSignal") -> None:
        """Prepare the next turn of `agent`."""
        self._agent = agent
        self._signal = signal
        self.number = agent.session.last_turn + 1
        self.outcome = TurnOutcome()
        self.has_claimed = False

    async def run(self) -> None:
        """Run from `turn/start` to `turn/end`; raises only when `turn/start` was refused."""
        agent = self._agent
        agent.session.append(TURN_START, FrozenDict(turn=self.number, trigger=MESSAGE_TRIGGER))
        try:
            if await self._intake():
                await self._run_steps()
        except TurnCancelled as cancelled:
            self.outcome.cancel(cancelled.cause)
        except Exception as error:  # noqa: BLE001 - a turn contains whatever fails in it
            if self._signal.cause is not None:
                self.outcome.cancel(self._signal.cause)
            else:
                self.outcome.fail(error)
                agent.report(error, where="turn", step=self.outcome.n_steps)
        except BaseException:
            self.outcome.dispose()
            raise
        finally:
            self._close()

    # -- intake ------------------------------------------------------------------------------

    async def _intake(self) -> bool:
        """Take the prompts up; returns whether there is something for the model."""
        agent = self._agent
        self._signal.check()
        limit = None if agent.config.intake == "batch" else 1
        claimed: list[InboxEntry] = []
        n_allowed = 0
        with settling(claimed):
            claimed.extend(agent.inbox.claim(InboxTarget.NEXT_STEP, self.number))
            claimed.extend(agent.inbox.claim(InboxTarget.NEXT_TURN, self.number, limit=limit))
            self.has_claimed = True
            agent.inbox.settle_debt()
            agent.buffer.drain_facts()
            for entry in claimed:
                n_allowed += await self._submit(entry)
        self._signal.check()
        agent.buffer.drain_contexts()
        return n_allowed > 0

    async def _submit(self, entry: InboxEntry) -> bool:
        """Ask about one prompt and append it; returns whether it entered."""
        agent = self._agent
        decision = await ask(
            agent,
            PROMPT_SUBMIT,
            lambda: PromptSubmitted(
                agent=agent, turn=self.number, message=entry.message, signal=self._signal
            ),
            _ALLOW,
            signal=self._signal,
            kinds=(Allow, Block),
        )
        if isinstance(decision, Block):
            self.outcome.reject(decision.reason)
            if entry.receipt is not None:
                entry.receipt.reject(decision.reason)
            return False
        message = _with_content(entry.message, decision.content)
        event = agent.session.append(
            USER_MESSAGE, freeze_json(message.to_json()), surface_op="append", message=message
        )
        if entry.receipt is not None:
            entry.receipt.enter(self.number, event.seq)
        self._append_items(decision.additional_contexts)
        return True

    # -- steps -------------------------------------------------------------------------------

    async def _run_steps(self) -> None:
        agent, signal, outcome = self._agent, self._signal, self.outcome
        while True:
            signal.check()
            drain_steering(agent, turn=self.number, step=outcome.n_steps)
            agent.buffer.drain_contexts()
            assembly = await self._assemble()
            agent.runtime_context.update(assembly)
            if not await self._may_step():
                return
            step = Step(agent, turn=self.number, number=outcome.n_steps + 1, signal=signal)
            step.open()
            outcome.n_steps += 1
            result = await step.run(assembly)
            if result.finish.kind == "max-tokens":
                outcome.is_truncated = True
            signal.check()
            if not await self._continues(result):
                return
            await checkpoint()

    async def _assemble(self) -> PromptAssembly:
        agent, signal = self._agent, self._signal
        context = AssembleContext(agent=agent, signal=signal)
        assembly = PromptAssembly()
        with signal.scope():
            assembly = await agent.system_prompt.assemble(context)
        signal.check()
        return assembly

    async def _may_step(self) -> bool:
        """Ask whether a step may begin, and append what enters before it."""
        agent = self._agent
        step = self.outcome.n_steps + 1
        limit = agent.config.max_steps_per_turn
        if limit is not None and step > limit:
            raise MaxStepsError(f"the turn took {limit} steps, which is its limit")
        decision = await ask(
            agent,
            PRE_STEP,
            lambda: StepPending(
                agent=agent,
                turn=self.number,
                step=step,
                signal=self._signal,
                collect=self._messages_since_request,
            ),
            _ENTER,
            signal=self._signal,
            kinds=(Enter, Reject),
        )
        if isinstance(decision, Reject):
            self.outcome.reject(decision.message)
            return False
        self._append_items(decision.messages)
        return True

    async def _continues(self, result: StepResult) -> bool:
        """Decide whether another step follows; steering always makes one."""
        agent = self._agent
        if not result.has_concluded:
            goes_on = result.finish.kind != "max-tokens" and (
                result.had_tool_calls or result.was_steered
            )
            decision = await ask(
                agent,
                TURN_CONTINUATION,
                lambda: StepEnded(
                    agent=agent,
                    turn=self.number,
                    step=self.outcome.n_steps,
                    had_tool_calls=result.had_tool_calls,
                    steered=result.was_steered,
                    finish=result.finish,
                    signal=self._signal,
                ),
                _CONTINUE if goes_on else _STOP,
                signal=self._signal,
                kinds=(Continue, Stop),
            )
            if isinstance(decision, Continue):
                if decision.reason is not None:
                    message = create_user_message(decision.reason, source={"kind": "continuation"})
                    agent.inbox.append(InboxTarget.NEXT_STEP, message)
                return True
        if result.was_steered or agent.inbox.has_steering:
            return True
        return await self._stopping()

    async def _stopping(self) -> bool:
        """Announce that the turn stops; returns whether somebody steered to keep it going."""
        agent, signal = self._agent, self._signal
        ctx = agent.loop_ctx
        if ctx.events.has_listeners(TURN_STOPPING, agent):
            payload = TurnStopping(agent=agent, turn=self.number, signal=signal)
            with signal.scope():
                await ctx.serial(TURN_STOPPING, payload, target=agent)
            signal.check()
        return agent.inbox.has_steering

    def _append_items(self, items: "Sequence[ContextItem]") -> None:
        for item in items:
            self._agent.buffer.append_item(item)

    def _messages_since_request(self) -> list[Message]:
        session = self._agent.session
        return [
            message
            for event in session.events_from(self._agent.requests.seq)
            if event.type in SURFACE_TYPES
            and (message := session.derive_event_message(event)) is not None
        ]

    # -- the end -----------------------------------------------------------------------------

    def _close(self) -> None:
        """Append what is buffered, then the end; a log that cannot be balanced is left as it is."""
        agent = self._agent
        if agent.is_unbalanced:
            return
        agent.buffer.drain_contexts()
        data = FrozenDict(turn=self.number, reason=freeze_json(self.outcome.reason()))
        try:
            agent.session.append(TURN_END, data)
        except Exception as error:  # noqa: BLE001 - nothing may be appended to this log any more
            agent.mark_unbalanced(error)


def _with_content(message: Message, content: Content | None) -> Message:
    """Return a prompt with the content a listener gave it; id and source stay."""
    if content is None:
        return message
    blocks = (TextBlock(content),) if isinstance(content, str) else tuple(content)
    return Message(message.id, message.role, blocks, message.source)
