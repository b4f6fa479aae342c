"""Whatever plugins do at the loop's seams, a turn encloses it and the next turn is a normal one.

Plugins come and go at any time. Each listens at some seams, in the whole tree or for one agent, and
every time it is asked it passes, changes, raises, blocks, cancels, disposes or acts, until it has
done enough. Time is virtual, so nothing is ever waited for.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Generator
from contextlib import contextmanager
from typing import Any

import attrs
import pytest
from anyio.lowlevel import checkpoint
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)

from harness.agent import (
    ASSISTANT_STREAM,
    ERROR,
    INBOX_CLAIMED,
    INBOX_INSERTED,
    PRE_STEP,
    PROMPT_SUBMIT,
    REQUEST,
    REQUEST_ERROR,
    STATUS,
    STEERING,
    STEP_RESULT,
    TURN_CONTINUATION,
    TURN_STOPPING,
    AgentError,
    AgentHandle,
    AgentStatus,
    Allow,
    Block,
    ContextItem,
    Continue,
    EnqueueReceipt,
    Enter,
    Reject,
    Retry,
    Stop,
)
from harness.agent.contract import World, reasons_of
from harness.invariants import check_log
from harness.llm import STREAM, TextBlock, ToolCallBlock, create_user_message
from harness.session import (
    SESSION_EVENT,
    SESSION_FLUSH,
    SESSION_VALIDATE,
    SURFACE_TYPES,
    Replace,
    Session,
)
from harness.system_prompt import ASSEMBLE, NamedText, PromptAssembly
from harness.testing.model import ScriptedModel, calls, calls_all, fails, partly, says
from harness.tools import EXECUTE, POST_EXECUTE, PRE_EXECUTE, RESULT, Accept, Deny
from harness.tools import Block as BlockResult
from harness_plugins.agent_loop import AgentLoop
from vendor_shims.cordis import Context, Fiber
from vendor_shims.timer import VirtualClock, come_to_rest

MAX_REPLIES = 60
SOURCE = {"kind": "plugin", "plugin": "any"}


class Refused(Exception):
    """What every failing listener raises."""


@contextmanager
def refusing() -> Generator[None]:
    """Let an agent that has ended, and listeners that veto, refuse what is done inside."""
    try:
        yield
    except (AgentError, Refused):
        return
    except ExceptionGroup as group:
        if group.split(Refused)[1] is not None:
            raise


def note(text: str) -> ContextItem:
    return ContextItem(create_user_message(text, source=SOURCE))


async def no_stream() -> AsyncIterator[Any]:
    """An answer without anything."""
    for chunk in ():
        yield chunk


async def spoken(chunks: AsyncIterator[Any]) -> AsyncIterator[Any]:
    """The same answer, chunk by chunk."""
    async for chunk in chunks:
        yield chunk


def _more_system(assembly: PromptAssembly) -> PromptAssembly:
    more = NamedText("any", f"section {len(assembly.sections)}")
    return attrs.evolve(assembly, sections=(*assembly.sections, more))


def _one_block_more(draft: Any) -> Any:
    return attrs.evolve(draft, content=(*draft.content, TextBlock("and more")))


def _without_calls(draft: Any) -> Any:
    kept = [block for block in draft.content if not isinstance(block, ToolCallBlock)]
    return attrs.evolve(draft, content=kept)


def _fewer_messages(draft: Any) -> Any:
    draft.messages = draft.messages[-1:]
    return draft


@attrs.frozen
class Seam:
    """A waterfall, what a listener makes of what the others decided, and what it decides alone."""

    event: Any
    change: Callable[[Any], Any]
    decide: Callable[[Any], Any]
    is_async: bool = True


SEAMS = {
    "prompt": Seam(
        PROMPT_SUBMIT,
        lambda _: Allow(content="other words", additional_contexts=[note("why")]),
        lambda _: Block("not that"),
    ),
    "assemble": Seam(ASSEMBLE, _more_system, lambda _: PromptAssembly()),
    "pre-step": Seam(PRE_STEP, lambda _: Enter([note("before")]), lambda _: Reject("enough")),
    "request": Seam(REQUEST, _fewer_messages, lambda pending: pending.draft),
    "stream": Seam(STREAM, spoken, lambda _: no_stream(), is_async=False),
    "request-error": Seam(REQUEST_ERROR, lambda _: Retry(), lambda _: None),
    "step-result": Seam(STEP_RESULT, _one_block_more, lambda ask: _without_calls(ask.draft)),
    "continuation": Seam(TURN_CONTINUATION, lambda _: Continue("go on"), lambda _: Stop()),
    "pre-execute": Seam(PRE_EXECUTE, lambda decision: decision, lambda _: Deny("not that")),
    "execute": Seam(EXECUTE, lambda result: result, lambda _: "no result"),
    "post-execute": Seam(
        POST_EXECUTE, lambda _: Accept(content="seen"), lambda _: BlockResult("not good enough")
    ),
}
TOOL_SEAMS = ("pre-execute", "execute", "post-execute")
NEWS = {
    "status": STATUS,
    "inserted": INBOX_INSERTED,
    "claimed": INBOX_CLAIMED,
    "frame": ASSISTANT_STREAM,
    "steering": STEERING,
    "error": ERROR,
    "result": RESULT,
    "event": SESSION_EVENT,
}
DEEDS = (
    "pass", "change", "raise", "raise after", "block", "nonsense", "cancel", "cancel after",
    "dispose the agent", "dispose itself", "annotate", "inject", "steer", "send", "compact",
    "maintain",
)  # fmt: skip

REFUSABLE = (
    "turn/start", "step/start", "user/message", "context/message", "steering/message",
    "assistant/chunk", "assistant/message", "assistant/attempt", "tool/call", "tool/result",
    "request/header", "agent/inbox/spliced", "todo/write",
)  # fmt: skip
"""Not the ends of brackets: who refuses those ends the log, which is shown elsewhere."""


class Role:
    """Listen at one seam; do the deed the first `n_deeds` times, then only pass."""

    def __init__(self, machine: "AnyPlugins", place: str, deed: str, n_deeds: int) -> None:
        self.machine = machine
        self.place = place
        self.deed = deed
        self.n_left = n_deeds

    def join(self, ctx: Context) -> None:
        """Register the listener that this role is."""
        place, is_early = self.place, self.deed in ("change", "block")
        if place in SEAMS:
            seam = SEAMS[place]
            listener = self._around(ctx, seam) if seam.is_async else self._around_sync(ctx, seam)
            ctx.on(seam.event, listener, prepend=is_early)
        elif place in NEWS:
            ctx.on(str(NEWS[place]), lambda *_: self._hear(ctx))
        elif place == "validate":
            ctx.on(SESSION_VALIDATE, lambda _, event: self._judge(event))
        elif place == "guard":
            ctx.inject(["tools"], lambda inner: inner.tools.guard(self._guard))
        else:
            event = TURN_STOPPING if place == "stopping" else SESSION_FLUSH
            ctx.on(event, self._awaited(ctx))

    def _may(self) -> bool:
        self.n_left -= 1
        return self.n_left >= 0

    def _around(self, ctx: Context, seam: Seam) -> Callable[..., Any]:
        async def listener(*args: Any) -> Any:
            *payload, following = args
            if not self._may():
                return await following()
            await checkpoint()
            if self.deed in ("block", "nonsense"):
                return seam.decide(payload[0]) if self.deed == "block" else object()
            self._do(ctx)
            decided = await following()
            self._do_after()
            return seam.change(decided) if self.deed == "change" else decided

        return listener

    def _around_sync(self, ctx: Context, seam: Seam) -> Callable[..., Any]:
        def listener(*args: Any) -> Any:
            *payload, following = args
            if not self._may():
                return following()
            if self.deed in ("block", "nonsense"):
                return seam.decide(payload[0]) if self.deed == "block" else object()
            self._do(ctx)
            decided = following()
            self._do_after()
            return seam.change(decided) if self.deed == "change" else decided

        return listener

    def _awaited(self, ctx: Context) -> Callable[..., Any]:
        async def listener(*_: Any) -> Any:
            if self._may():
                await checkpoint()
                self._do(ctx)
                self._do_after()

        return listener

    def _hear(self, ctx: Context) -> None:
        if self._may():
            self._do(ctx)

    def _judge(self, event: Any) -> None:
        if event.type == self.deed and self.machine.may_refuse(event) and self._may():
            self.machine.may_park = True
            raise Refused(event.type)

    def _guard(self, _execution: Any) -> str | None:
        return "guarded" if self._may() else None

    def _do(self, ctx: Context) -> None:
        if self.deed == "raise":
            raise Refused(self.place)
        if self.deed == "dispose itself":
            ctx.fiber.dispose()
        else:
            self.machine.act(self.deed)

    def _do_after(self) -> None:
        if self.deed == "raise after":
            raise Refused(self.place)
        if self.deed == "cancel after":
            self.machine.act("cancel")


REPLIES = {
    "text": says("Well."),
    "call": calls("alone", {}),
    "calls": calls_all([("a", "safe", {}), ("b", "alone", {}), ("c", "safe", {})], text="See."),
    "unknown": calls("missing", {}),
    "error": fails("SERVER"),
    "aborted": fails("ABORTED"),
    "cut": partly("Half", ValueError("broken")),
    "open": partly("Half"),
}
ROLES = st.one_of(
    st.tuples(st.sampled_from([*SEAMS, *TOOL_SEAMS, "stopping", "flush"]), st.sampled_from(DEEDS)),
    st.tuples(st.sampled_from(sorted(NEWS)), st.sampled_from(["raise", *DEEDS[6:]])),
    st.tuples(st.just("validate"), st.sampled_from(REFUSABLE)),
    st.just(("guard", "refuse")),
)
OPTIONS_OF_LOOPS = st.fixed_dictionaries(
    {},
    optional={
        "intake": st.just("single"),
        "max_parallel_tool_calls": st.just(1),
        "stop_on_error": st.just(True),
        "stream_log": st.just("both"),
        "durable_inbox": st.just(False),
    },
)


class AnyPlugins(RuleBasedStateMachine):
    """Mount and unmount plugins around agents that work; the log stays whole at every step."""

    @initialize(
        options=OPTIONS_OF_LOOPS,
        script=st.lists(
            st.sampled_from([*sorted(REPLIES), "call", "calls"]), min_size=3, max_size=12
        ),
    )
    def begin(self, options: dict[str, Any], script: list[str]) -> None:
        self.loop = asyncio.new_event_loop()
        self.handle: AgentHandle | None = None
        self.plugins: list[Fiber] = []
        self.tasks: list[asyncio.Task[None]] = []
        self.receipts: list[tuple[EnqueueReceipt, Session]] = []
        self.refused_in: set[tuple[Any, ...]] = set()
        self.may_park = bool(options.get("stop_on_error"))
        self.n_texts = 0
        clock = VirtualClock()
        self.script = script
        self.n_replies = 0
        model = ScriptedModel(self._next_reply, repeat_last=True)
        self.world = World(
            Context(clock=clock), clock, lambda ctx, config: ctx.plugin(AgentLoop, config), model
        )
        self.run(self._prepare(options))

    def _next_reply(self, _options: object) -> Any:
        """Play the script over and over, but not for ever."""
        self.n_replies += 1
        if not self.script or self.n_replies > MAX_REPLIES:
            return REPLIES["text"]
        return REPLIES[self.script[self.n_replies % len(self.script)]]

    async def _prepare(self, options: dict[str, Any]) -> None:
        """Mount everything but the development guard, which would veto what is to be found."""
        await self.world.prepare()
        self.world.tool("alone", self._body)
        self.world.tool("safe", self._body, is_concurrency_safe=lambda _: True)
        await self.world.mount(**options)
        await self._create()

    async def _create(self) -> None:
        self.handle = await self.world.handle()

    async def _body(self, _args: object, _execution: object) -> str:
        await checkpoint()
        return "done"

    def run(self, work: Any) -> Any:
        return self.loop.run_until_complete(work)

    @property
    def agent(self) -> Any:
        assert self.handle is not None
        return self.handle.agent

    def may_refuse(self, event: Any) -> bool:
        """Calls and results are refused once a step: what stands for them has to be taken."""
        if event.type not in ("tool/call", "tool/result"):
            return True
        step = (self.agent.id, event.data["turn"], event.data["step"])
        is_first = step not in self.refused_in
        self.refused_in.add(step)
        return is_first

    # -- acting ------------------------------------------------------------------------------

    def act(self, what: str) -> None:
        """Do what any plugin may do at any time; an ended agent refuses, and that is all."""
        with refusing():
            self._act(what)

    def _act(self, what: str) -> None:
        agent = self.agent
        self.n_texts += 1
        text = f"{what} {self.n_texts}"
        if what in ("send", "steer"):
            deliver = agent.send if what == "send" else agent.steer
            self.receipts.append((deliver(text), agent.session))
        elif what == "inject":
            self.receipts.append((agent.inject(text, source=SOURCE), agent.session))
        elif what == "annotate":
            agent.annotate("todo/write", {"todos": []}, plugin="any")
        elif what == "cancel":
            agent.cancel("a plugin")
        elif what == "dispose the agent":
            assert self.handle is not None
            self.handle.dispose_soon()
        elif what == "compact":
            self._compact(agent.session)
        elif what == "maintain":
            self.tasks.append(self.loop.create_task(self._maintain(agent)))

    def _compact(self, session: Session) -> None:
        """Put a summary in the place of the surface, where that is allowed: between steps."""
        nodes = session.surface.nodes
        if session.is_publishing or session.open_turn is None or session.open_step or not nodes:
            return
        session.append(
            "user/message",
            create_user_message("a summary", source=SOURCE).to_json(),
            surface_op=Replace(nodes[0], nodes[-1]),
            source_event_seqs=nodes,
        )

    async def _maintain(self, agent: Any) -> None:
        async def task(_signal: Any) -> None:
            async with agent.maintenance_turn("tidy", allow_context=True) as open_turn:
                open_turn()
                await checkpoint()
                agent.session.append("todo/write", {"todos": []})

        with refusing():
            await agent.run_maintenance(task)

    # -- rules -------------------------------------------------------------------------------

    @rule(
        roles=st.lists(ROLES, min_size=1, max_size=4),
        n_deeds=st.integers(1, 4),
        is_scoped=st.booleans(),
        is_used=st.booleans(),
    )
    def mount(
        self, roles: list[tuple[str, str]], n_deeds: int, *, is_scoped: bool, is_used: bool
    ) -> None:
        def plugin(ctx: Context) -> None:
            for place, deed in roles:
                Role(self, place, deed, n_deeds).join(ctx)

        async def mount() -> None:
            is_alive = self.agent.status is not AgentStatus.DISPOSED
            parent = self.agent.ctx if is_scoped and is_alive else self.world.root
            if parent.fiber.accepts:
                self.plugins.append(parent.plugin(plugin))
            await come_to_rest()
            if is_used:
                self.act("send")
                await come_to_rest()

        self.run(mount())

    @precondition(lambda self: self.plugins)
    @rule(index=st.integers(0, 9))
    def unmount(self, index: int) -> None:
        fiber = self.plugins.pop(index % len(self.plugins))

        async def unmount() -> None:
            await fiber.dispose()
            await come_to_rest()

        self.run(unmount())

    @rule(deeds=st.lists(st.sampled_from(DEEDS[6:]), min_size=1, max_size=3))
    def act_from_outside(self, deeds: list[str]) -> None:
        async def act() -> None:
            for deed in deeds:
                self.act(deed)
            await come_to_rest()

        self.run(act())

    @rule()
    def send(self) -> None:
        self.act_from_outside(["send"])

    @rule(deed=st.sampled_from(DEEDS[6:]), n_turns=st.integers(1, 12))
    def act_in_the_middle(self, deed: str, n_turns: int) -> None:
        async def act() -> None:
            self.act("send")
            for _ in range(n_turns):
                await asyncio.sleep(0)
            self.act(deed)
            await come_to_rest()

        self.run(act())

    @precondition(lambda self: self.agent.status is AgentStatus.DISPOSED)
    @rule()
    def create_another(self) -> None:
        self.run(self._create())

    # -- what must hold ----------------------------------------------------------------------

    @invariant()
    def logs_are_whole(self) -> None:
        for session in self.world.sessions:
            found = check_log(session.events)
            assert found == (), found
            self.check_enclosure(session)

    def check_enclosure(self, session: Session) -> None:
        """Nothing lies outside a turn, and no turn inside another (04 §24.5)."""
        open_turn = None
        for event in session.events:
            if event.type == "turn/start":
                assert open_turn is None
                open_turn = event.data["turn"]
            assert open_turn is not None, event
            if event.type in SURFACE_TYPES or event.type == "todo/write":
                assert event.data.get("turn", open_turn) == open_turn
            if event.type == "turn/end":
                open_turn = None

    @invariant()
    def status_tells_the_truth(self) -> None:
        agent = self.agent
        if agent.status is AgentStatus.IDLE:
            assert agent.session.open_turn is None
            if agent.inbox.has_pending:
                assert self.may_park, agent.inbox.snapshot()

    def teardown(self) -> None:
        if not hasattr(self, "world"):
            return
        try:
            self.run(self._end())
            assert not asyncio.all_tasks(self.loop)
        finally:
            for task in asyncio.all_tasks(self.loop):
                task.cancel()
            self.run(come_to_rest())
            self.run(self.loop.shutdown_asyncgens())
            self.loop.close()

    async def _end(self) -> None:
        for fiber in self.plugins:
            await fiber.dispose()
        await self.agent.when_idle()
        await self._check_that_work_goes_on()
        for session in self.world.sessions:
            found = check_log(session.events, is_complete=True)
            assert found == (), found
        self._check_fates()
        await self.world.root.close()
        for task in self.tasks:
            assert task.done()
            task.result()
        assert not self.world.root.kernel.tasks
        for receipt, _ in self.receipts:
            assert receipt.outcome is not None

    async def _check_that_work_goes_on(self) -> None:
        """Without plugins a prompt gets its answer, whatever they did before."""
        if self.agent.status is AgentStatus.DISPOSED:
            await self._create()
        self.script = []
        self.act("send")
        receipt, session = self.receipts[-1]
        await self.agent.when_idle()
        assert receipt.state == "entered"
        assert session.open_turn is None
        assert reasons_of(self.agent)[-1] == {"kind": "completed"}

    def _check_fates(self) -> None:
        """Every message is in the log exactly once, or its receipt says why not."""
        queued = {entry.message.id for entry in self.agent.inbox.snapshot()}
        for receipt, session in self.receipts:
            logged = [
                event
                for event in session.events
                if event.type in SURFACE_TYPES and event.data.get("id") == receipt.message_id
            ]
            assert len(logged) == (receipt.state == "entered")
            if receipt.outcome is None:
                assert receipt.message_id in queued


TestAnyPlugins = pytest.mark.spec("03-P1", "03-P23")(AnyPlugins.TestCase)
