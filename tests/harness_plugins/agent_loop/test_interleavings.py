"""Whatever happens in whatever order, a turn encloses it and nothing that was accepted is lost.

The world is scripted: every await of a turn is a point where a rule may stop it, let it fail, or
act from inside. Time is virtual, so nothing is ever waited for.
"""

import asyncio
from collections import deque
from typing import Any

import anyio
import attrs
import pytest
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
    INBOX_DISCARDED,
    INBOX_INSERTED,
    PRE_STEP,
    PROMPT_SUBMIT,
    REQUEST,
    REQUEST_ERROR,
    SESSION_START,
    STATUS,
    STEERING,
    STEP_RESULT,
    TURN_CONTINUATION,
    TURN_STOPPING,
    AgentDisposedError,
    AgentError,
    AgentHandle,
    AgentStatus,
    AgentUnbalancedError,
    Allow,
    AssistantDraft,
    Block,
    ContextItem,
    Continue,
    EnqueueReceipt,
    Enter,
    Reject,
    RequestDraft,
    Retry,
    Stop,
)
from harness.agent.contract import OPTIONS, World
from harness.invariants import check_log
from harness.llm import (
    BlockEnd,
    BlockStart,
    Finish,
    FinishReason,
    GenerateOptions,
    LlmAdapter,
    LlmFailure,
    TextBlock,
    TextDelta,
    ToolCallBlock,
    create_user_message,
)
from harness.session import (
    SESSION_EVENT,
    SESSION_FLUSH,
    SESSION_VALIDATE,
    Session,
    interrupted_turn_closers,
    repair_tool_adjacency,
)
from harness.tools import EXECUTE, POST_EXECUTE, PRE_EXECUTE, RESULT, Deny, ToolExecution
from harness.wire import dumps_text
from harness_plugins.agent_loop import AgentLoop, ReactLoopAgent
from vendor_shims.cordis import Context
from vendor_shims.timer import VirtualClock, come_to_rest

PLUGIN = {"kind": "plugin", "plugin": "p"}
MAX_REPLIES = 40
QUESTIONS = {
    "prompt-submit": PROMPT_SUBMIT,
    "pre-step": PRE_STEP,
    "request": REQUEST,
    "request-error": REQUEST_ERROR,
    "step-result": STEP_RESULT,
    "continuation": TURN_CONTINUATION,
    "pre-execute": PRE_EXECUTE,
    "execute": EXECUTE,
}
NEWS = {
    "status": STATUS,
    "inserted": INBOX_INSERTED,
    "claimed": INBOX_CLAIMED,
    "discarded": INBOX_DISCARDED,
    "frame": ASSISTANT_STREAM,
    "steering": STEERING,
    "error": ERROR,
    "start": SESSION_START,
}
AWAITS = (*QUESTIONS, "stopping", "post-execute", "first-chunk", "next-chunk", "body", "flush")
EVENTS = (
    "turn/start", "turn/end", "step/start", "step/end", "user/message", "context/message",
    "steering/message", "assistant/chunk", "assistant/message", "assistant/attempt", "tool/call",
    "tool/result", "request/header", "agent/inbox/spliced", "todo/write",
)  # fmt: skip
REFUSABLE = tuple(kind for kind in EVENTS if kind not in ("turn/end", "step/end"))


class Refused(Exception):
    """What every failing point raises."""


@attrs.define
class Delivered:
    """A message that was handed to the agent, and its receipt."""

    kind: str
    number: int
    receipt: EnqueueReceipt
    session: Session


class ScriptedAdapter(LlmAdapter):
    """Answer with the replies that the test queued; with a word when there is none."""

    def __init__(self, world: "ScriptedWorld") -> None:
        self._world = world

    async def stream(self, options: GenerateOptions):
        world = self._world
        history = list(options.messages)
        assert repair_tool_adjacency(history) is history
        reply = world.next_reply()
        await world.point("first-chunk")
        for chunk in chunks_of(reply):
            if isinstance(chunk, Exception):
                raise chunk
            yield chunk
            await world.point("next-chunk")


def chunks_of(reply: tuple[Any, ...]):
    """Return the chunks of a reply by name."""
    kind, *rest = reply
    text = [BlockStart(0, "text"), TextDelta(0, "Well"), BlockEnd(0, TextBlock("Well"))]
    failure = LlmFailure("scripted", "SERVER")
    if kind == "calls":
        chunks = list(text) if rest[1] else []
        for number, (name, do) in enumerate(rest[0]):
            arguments = "{bad" if do == "bad" else dumps_text({"do": do})
            call_id = "same" if do == "same" else f"call-{number}"
            block = ToolCallBlock(call_id, name, arguments)
            index = number + 1
            chunks += [BlockStart(index, "tool-call"), BlockEnd(index, block)]
        return [*chunks, Finish(FinishReason.MAX_TOKENS if rest[2] else FinishReason.TOOL_CALLS)]
    return {
        "text": [*text, Finish(FinishReason.STOP)],
        "empty": [Finish(FinishReason.STOP)],
        "cut": [*text, Finish(FinishReason.MAX_TOKENS)],
        "no finish": text,
        "error": [*text[:2], Finish(FinishReason.error(failure))],
        "aborted": [Finish(FinishReason.aborted(LlmFailure("scripted", "ABORTED")))],
        "raises": [*text[:2], Refused("the adapter")],
        "malformed": [*text[:2], object()],
        "no json": [*text[:2], Finish(FinishReason.STOP, {"state": object()})],
        "unknown block": [BlockStart(0, "hologram"), Finish(FinishReason.STOP)],
    }[kind]


class ScriptedWorld:
    """Hold one agent, and what a test has prepared for it.

    `armed` maps a point to what happens when it is reached next, oldest first; `waiting` are the
    gates that hold something up now.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, options: dict[str, Any]) -> None:
        self.loop = loop
        clock = VirtualClock()
        self.world = World(Context(clock=clock), clock, self._mount)
        self.options = options
        self.armed: dict[str, deque[tuple[Any, ...]]] = {}
        self.waiting: list[anyio.Event] = []
        self.replies: deque[tuple[Any, ...]] = deque()
        self.delivered: list[Delivered] = []
        self.tasks: list[asyncio.Task[Any]] = []
        self.handle: AgentHandle | None = None
        self.vetoes: list[str] = []
        self.ended: set[Any] = set()
        self.unbalanced: set[Session] = set()
        self.may_park = bool(options.get("stop_on_error"))
        self.n_texts = 0
        self.n_replies = 0

    def _mount(self, ctx, options):
        return ctx.plugin(AgentLoop, options)

    @property
    def agent(self):
        assert self.handle is not None
        return self.handle.agent

    def run(self, work) -> Any:
        return self.loop.run_until_complete(work)

    def rest(self) -> None:
        self.run(come_to_rest())

    # -- setting up --------------------------------------------------------------------------

    async def prepare(self) -> None:
        world = self.world
        await world.prepare()
        world.root.plugin(self._adapter)
        world.tool("alone", self._body, parameters={"do": {"type": "string"}})
        world.tool(
            "safe",
            self._body,
            parameters={"do": {"type": "string"}},
            is_concurrency_safe=lambda _args: True,
        )
        for name, event in QUESTIONS.items():
            world.root.on(event, self._asking(name))
        world.root.on(TURN_STOPPING, self._stopping)
        world.root.on(POST_EXECUTE, self._asking("post-execute"))
        for name, event in NEWS.items():
            world.root.on(event, lambda _, name=name: self.happen(f"on {name}"))
        world.root.on(SESSION_EVENT, lambda _, event: self.happen(f"on {event.type}"))
        world.root.on(SESSION_VALIDATE, self._validate)
        world.root.on(RESULT, self._result)
        world.root.on(SESSION_FLUSH, lambda _: self.point("flush"))
        await world.mount(**self.options)
        await self.create()

    def _adapter(self, ctx: Context) -> None:
        ctx.require("llm").register_adapter(["points"], ScriptedAdapter(self))

    _adapter.inject = ("llm",)

    async def create(self) -> None:
        options = attrs.evolve(OPTIONS, provider="points")
        self.handle = await self.world.handle(agent_options=options)

    # -- points ------------------------------------------------------------------------------

    def next_reply(self) -> tuple[Any, ...]:
        """Return the next reply of the script, which begins anew at its end, but not for ever."""
        if not self.replies or self.n_replies == MAX_REPLIES:
            return ("text",)
        self.n_replies += 1
        self.replies.rotate(-1)
        return self.replies[-1]

    def arm(self, point: str, *what: Any) -> None:
        self.armed.setdefault(point, deque()).append(what)

    async def point(self, name: str, default: Any = None, payload: Any = None) -> Any:
        """Do what was armed for a point; returns the decision if that was one."""
        armed = self.armed.get(name)
        if not armed:
            return default
        kind, *rest = armed.popleft()
        if kind == "wait":
            await self.gate()
        elif kind == "stubborn":
            with anyio.CancelScope(shield=True):
                await self.gate()
        elif kind == "fail":
            raise Refused(name)
        elif kind == "sleep":
            await self.world.clock.sleep(rest[0])
        elif kind == "act":
            self.act(*rest)
        else:
            return rest[0](payload)
        return default

    def happen(self, name: str) -> None:
        """Do what was armed for a notification."""
        armed = self.armed.get(name)
        if armed:
            kind, *rest = armed.popleft()
            if kind == "fail":
                raise Refused(name)
            self.act(*rest)

    async def gate(self) -> None:
        gate = anyio.Event()
        self.waiting.append(gate)
        try:
            await gate.wait()
        finally:
            if gate in self.waiting:
                self.waiting.remove(gate)

    def open_gate(self, index: int) -> None:
        if self.waiting:
            self.waiting[index % len(self.waiting)].set()

    def _asking(self, name: str):
        async def ask(*args: Any) -> Any:
            *payload, following = args
            decision = await self.point(name, payload=payload[-1])
            return await following() if decision is None else decision

        return ask

    async def _stopping(self, _stopping: Any) -> None:
        await self.point("stopping")

    def _result(self, execution: ToolExecution, _result: Any) -> None:
        """Every call ends once, frozen (P16)."""
        assert execution.is_frozen
        assert execution.token not in self.ended
        self.ended.add(execution.token)

    def _validate(self, _session: Any, event: Any) -> None:
        if event.type in self.vetoes:
            self.vetoes.remove(event.type)
            # A turn that cannot begin, or not take its prompts up, leaves them where they are.
            self.may_park = self.may_park or event.type in ("turn/start", "agent/inbox/spliced")
            raise Refused(event.type)

    async def _body(self, args: Any, execution: ToolExecution) -> str:
        await self.point("body")
        do = args.get("do", "ok")
        if do == "raise":
            raise Refused("body")
        if do == "conclude":
            execution.conclude_turn()
        elif do == "explain":
            execution.defer_context(self._message("explained"))
        elif do in ("steer", "inject", "cancel", "send", "dispose"):
            self.act(do)
        return do

    def _message(self, text: str):
        from harness.llm import create_user_message

        self.n_texts += 1
        return create_user_message(f"{text} {self.n_texts}", source=PLUGIN)

    # -- acting ------------------------------------------------------------------------------

    def act(self, what: str, *rest: Any) -> None:
        """Do what any listener may do at any time; an ended agent refuses, and that is all."""
        try:
            self._act(what, *rest)
        except (AgentDisposedError, AgentUnbalancedError, Refused):
            return

    def _act(self, what: str, *rest: Any) -> None:
        agent = self.agent
        self.n_texts += 1
        text = f"{what} {self.n_texts}"
        number = self.n_texts
        deliver = {"send": agent.send, "steer": agent.steer}.get(what)
        if deliver is not None:
            self.delivered.append(Delivered(what, number, deliver(text), agent.session))
        elif what == "inject":
            receipt = agent.inject(text, source=PLUGIN)
            self.delivered.append(Delivered(what, number, receipt, agent.session))
        elif what == "annotate":
            agent.annotate("todo/write", {"todos": [text]})
        elif what == "cancel":
            keeps = bool(rest[1]) if rest[1:] else False
            self.may_park = self.may_park or keeps
            agent.cancel(*rest[:1], keep_inbox=keeps)
        elif what == "wake":
            agent.wake()
        elif what == "clear":
            agent.inbox.clear()
        elif what == "remove":
            for entry in agent.inbox.snapshot()[:1]:
                agent.inbox.remove(entry.message.id)
        else:
            assert what == "dispose"
            assert self.handle is not None
            self.handle.dispose_soon()


REPLIES = st.one_of(
    st.sampled_from(
        ["text", "empty", "cut", "no finish", "error", "aborted", "raises", "malformed", "no json",
         "unknown block"]
    ).map(lambda kind: (kind,)),
    st.tuples(
        st.just("calls"),
        st.lists(
            st.tuples(
                st.sampled_from(["safe", "safe", "safe", "alone", "missing"]),
                st.sampled_from(
                    ["ok", "ok", "ok", "raise", "conclude", "explain", "bad", "same", "steer",
                     "inject", "cancel", "send", "dispose"]
                ),
            ),
            min_size=1,
            max_size=4,
        ),
        st.booleans(),
        st.booleans(),
    ),
)  # fmt: skip
ACTS = st.one_of(
    st.sampled_from(
        ["send", "steer", "inject", "annotate", "wake", "clear", "remove"]
    ).map(lambda what: (what,)),
    st.tuples(
        st.just("cancel"), st.sampled_from([None, "budget", {"kind": "parent"}]), st.booleans()
    ),
)  # fmt: skip
OPTIONS_OF_LOOPS = st.fixed_dictionaries(
    {},
    optional={
        "intake": st.just("single"),
        "max_parallel_tool_calls": st.sampled_from([1, 2]),
        "stop_on_error": st.just(True),
        "steering_envelope": st.just("raw"),
        "stream_log": st.just("both"),
        "durable_inbox": st.just(False),
        "max_steps_per_turn": st.just(2),
    },
)


def note(text: str) -> ContextItem:
    return ContextItem(create_user_message(text, source=PLUGIN))


def _drop_calls(answered: Any) -> AssistantDraft:
    kept = [block for block in answered.draft.content if not isinstance(block, ToolCallBlock)]
    return attrs.evolve(answered.draft, content=kept)


def _add_call(answered: Any) -> AssistantDraft:
    call = ToolCallBlock("added", "safe", "{}")
    return attrs.evolve(answered.draft, content=[*answered.draft.content, call])


def _override(pending: Any) -> RequestDraft:
    pending.draft.messages = pending.draft.messages[-1:]
    return pending.draft


DECISIONS = {
    "prompt-submit": [
        lambda _: Block("no"),
        lambda _: Allow(content="rewritten", additional_contexts=[note("why")]),
        lambda _: "nonsense",
    ],
    "pre-step": [lambda _: Reject("enough"), lambda _: Enter([note("before")])],
    "request": [_override, lambda _: 7],
    "request-error": [lambda _: Retry(), lambda _: Retry()],
    "step-result": [_drop_calls, _add_call],
    "continuation": [lambda _: Continue("go on"), lambda _: Continue(), lambda _: Stop()],
    "pre-execute": [lambda _: Deny("not that")],
    "execute": [lambda _: "nonsense"],
    "post-execute": [lambda _: "nonsense"],
}


class Interleavings(RuleBasedStateMachine):
    """Do anything at any time; the log stays whole and nothing that was accepted is lost.

    Bracketing, numbering, pairing and adjacency are checked after every rule; fates of messages,
    order and leaks at the end.
    """

    @initialize(options=OPTIONS_OF_LOOPS, replies=st.lists(REPLIES, min_size=2, max_size=6))
    def begin(self, options: dict[str, Any], replies: list[tuple[Any, ...]]) -> None:
        self.loop = asyncio.new_event_loop()
        self.scripted = ScriptedWorld(self.loop, options)
        self.scripted.replies.extend(replies)
        self.scripted.run(self.scripted.prepare())
        self.rest()

    def rest(self) -> None:
        self.scripted.run(come_to_rest())

    def now(self, *act: Any) -> None:
        async def do() -> None:
            self.scripted.act(*act)

        self.scripted.run(do())
        self.rest()

    # -- what callers do ---------------------------------------------------------------------

    @rule(act=ACTS)
    def act(self, act: tuple[Any, ...]) -> None:
        self.now(*act)

    @rule(acts=st.lists(ACTS, min_size=2, max_size=4))
    def act_in_one_breath(self, acts: list[tuple[Any, ...]]) -> None:
        async def do() -> None:
            for act in acts:
                self.scripted.act(*act)

        self.scripted.run(do())
        self.rest()

    @rule(reply=REPLIES)
    def script(self, reply: tuple[Any, ...]) -> None:
        self.scripted.replies.appendleft(reply)

    @rule()
    def send(self) -> None:
        self.now("send")

    @rule(point=st.sampled_from(AWAITS), act=ACTS)
    def act_while_something_waits(self, point: str, act: tuple[Any, ...]) -> None:
        self.scripted.arm(point, "wait")
        self.now("send")
        self.now(*act)

    @rule(index=st.integers(0, 5))
    def open_gate(self, index: int) -> None:
        self.scripted.open_gate(index)
        self.rest()

    @rule(seconds=st.sampled_from([0.1, 5, 40]))
    def let_time_pass(self, seconds: float) -> None:
        self.scripted.run(self.scripted.world.clock.advance(seconds))

    @rule(
        point=st.sampled_from(AWAITS),
        what=st.one_of(
            st.sampled_from([("wait",), ("wait",), ("stubborn",), ("fail",), ("sleep", 1)]),
            ACTS.map(lambda act: ("act", *act)),
        ),
    )
    def arm(self, point: str, what: tuple[Any, ...]) -> None:
        self.scripted.arm(point, *what)

    @rule(data=st.data(), point=st.sampled_from(sorted(DECISIONS)))
    def arm_decision(self, data: st.DataObject, point: str) -> None:
        index = data.draw(st.integers(0, len(DECISIONS[point]) - 1))
        self.scripted.arm(point, "decide", DECISIONS[point][index])

    @rule(
        name=st.sampled_from([*NEWS, *EVENTS]),
        what=st.one_of(st.just(("fail",)), ACTS.map(lambda act: ("act", *act))),
    )
    def arm_observer(self, name: str, what: tuple[Any, ...]) -> None:
        self.scripted.arm(f"on {name}", *what)

    @precondition(lambda self: not self.scripted.vetoes)
    @rule(kind=st.sampled_from(REFUSABLE))
    def veto(self, kind: str) -> None:
        self.scripted.vetoes.append(kind)

    @rule(writes=st.booleans(), ends=st.sampled_from(["gate", "error", "at once"]))
    def maintain(self, *, writes: bool, ends: str) -> None:
        scripted = self.scripted
        agent = scripted.agent

        async def task(signal: Any) -> None:
            async with agent.maintenance_turn("tidy", allow_context=writes) as begin:
                if writes:
                    begin()
                if ends == "gate":
                    await scripted.gate()
                elif ends == "error":
                    raise Refused("maintenance")

        async def run() -> None:
            try:
                await agent.run_maintenance(task)
            except (AgentError, Refused):
                return

        self.spawn(run())

    @rule()
    def dispose(self) -> None:
        async def dispose(handle: AgentHandle) -> None:
            await handle.dispose()

        assert self.scripted.handle is not None
        self.spawn(dispose(self.scripted.handle))

    @precondition(lambda self: self.scripted.agent.status is AgentStatus.DISPOSED)
    @rule()
    def create_another(self) -> None:
        self.scripted.run(self.scripted.create())
        self.rest()

    @rule()
    def cancel_the_host_task(self) -> None:
        # What is queued waits for the next waking delivery: nobody goes on against the host.
        self.scripted.may_park = True
        for task in self.drivers():
            task.cancel()
        self.rest()

    def spawn(self, work: Any) -> None:
        async def start() -> None:
            self.scripted.tasks.append(asyncio.create_task(work))

        self.scripted.run(start())
        self.rest()

    def drivers(self) -> list[asyncio.Task[Any]]:
        tasks = self.scripted.world.root.kernel.tasks
        return [task for task in tasks if task.get_name().startswith("agent ")]

    # -- what must hold ----------------------------------------------------------------------

    @invariant()
    def logs_are_whole(self) -> None:
        for session in self.scripted.world.sessions:
            found = check_log(session.events)
            assert found == (), found

    @invariant()
    def status_tells_the_truth(self) -> None:
        scripted = self.scripted
        agent = scripted.agent
        assert isinstance(agent, ReactLoopAgent)
        assert len(self.drivers()) <= len(scripted.world.agents.list())
        if agent.status is not AgentStatus.DISPOSED:
            assert (agent.status is AgentStatus.RUNNING) == agent.is_driven
        if agent.is_unbalanced:  # an answer was refused for good: nothing more goes into this log
            scripted.may_park = True
            scripted.unbalanced.add(agent.session)
        elif agent.status is AgentStatus.IDLE and agent.session.open_turn is not None:
            assert agent.maintenance is not None
        if agent.status is AgentStatus.IDLE and agent.inbox.has_pending and not agent.is_busy:
            assert scripted.may_park, agent.inbox.snapshot()

    def teardown(self) -> None:
        if not hasattr(self, "scripted"):
            return
        scripted = self.scripted
        try:
            self.come_to_an_end()
            self.status_tells_the_truth()
            for session in scripted.world.sessions:
                is_complete = session not in scripted.unbalanced
                found = check_log(session.events, is_complete=is_complete)
                assert found == (), found
                self.check_crashes(session)
            self.check_fates()
            self.check_order()
            self.check_results()
            scripted.run(scripted.world.root.close())
            for task in scripted.tasks:
                assert task.done()
                task.result()
            assert not asyncio.all_tasks(self.loop)
            assert not scripted.world.root.kernel.tasks
            for one in scripted.delivered:
                assert one.receipt.outcome is not None
        finally:
            for task in asyncio.all_tasks(self.loop):
                task.cancel()
            self.rest()
            self.loop.run_until_complete(self.loop.shutdown_asyncgens())
            self.loop.close()

    def come_to_an_end(self) -> None:
        scripted = self.scripted
        scripted.armed.clear()
        scripted.vetoes.clear()
        for _ in range(200):
            if not scripted.waiting and not self.drivers():
                break
            while scripted.waiting:
                scripted.open_gate(0)
                self.rest()
            scripted.run(scripted.world.clock.advance(60))
        scripted.run(scripted.agent.when_idle())

    def check_fates(self) -> None:
        """Every message is in the log exactly once, or its receipt says why not (P21, P22)."""
        logged: dict[str, int] = {}
        for session in self.scripted.world.sessions:
            for event in session.events:
                if event.type in ("user/message", "steering/message", "context/message"):
                    logged[event.data["id"]] = logged.get(event.data["id"], 0) + 1
        queued = {entry.message.id for entry in self.scripted.agent.inbox.snapshot()}
        for one in self.scripted.delivered:
            receipt = one.receipt
            n_logged = logged.get(receipt.message_id, 0)
            assert n_logged == (receipt.state == "entered"), (one.kind, receipt.state, n_logged)
            if receipt.outcome is None:
                assert receipt.message_id in queued, (one.kind, receipt.state)
                assert receipt.state == "pending"

    def check_order(self) -> None:
        """Prompts enter in the order in which they were sent."""
        by_session: dict[Any, list[int]] = {}
        for one in sorted(self.scripted.delivered, key=lambda one: one.number):
            if one.kind == "send" and one.receipt.seq is not None:
                by_session.setdefault(one.session, []).append(one.receipt.seq)
        for seqs in by_session.values():
            assert seqs == sorted(seqs)

    def check_results(self) -> None:
        """No observer of results found anything wrong; their errors are only logged."""
        for line in self.scripted.world.lines:
            assert "AssertionError" not in str(line.args), line

    def check_crashes(self, session: Session) -> None:
        """A process that dies at any event leaves a log that can be closed and gone on with."""
        events = session.events
        for end in range(0, len(events), 1 + len(events) // 20):
            prefix = events[:end]
            whole = (*prefix, *interrupted_turn_closers(prefix))
            assert check_log(whole, is_complete=True) == ()
            again = Session.create("again", whole)
            history = again.derive_messages()
            assert repair_tool_adjacency(history) is history
            assert interrupted_turn_closers(whole) == []


TestInterleavings = pytest.mark.spec(
    "03-P1", "03-P2", "03-P6", "03-P16", "03-P21", "03-P22", "03-P23"
)(Interleavings.TestCase)
