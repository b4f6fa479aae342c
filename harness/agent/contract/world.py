"""Give a test the world around an agent: everything but the loop, a scripted model, and a clock."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeAlias

import attrs

from harness.agent.agent import Agent, AgentHandle
from harness.agent.events import (
    CREATED,
    DISPOSED,
    ERROR,
    INBOX_CLAIMED,
    INBOX_DISCARDED,
    INBOX_INSERTED,
    SESSION_START,
    STATUS,
    STEERING,
    AgentFailed,
)
from harness.agent.receipt import EnqueueReceipt
from harness.agent.registry import AgentRegistry
from harness.agent.types import AgentOptions, CreateAgentOptions, ResumeAgentOptions
from harness.invariants import check_log
from harness.llm import LlmService
from harness.session import (
    ASSISTANT_CHUNK,
    SESSION_CREATED,
    SESSION_DISPOSED,
    TURN_END,
    Session,
    SessionEvent,
    SessionId,
    SessionStore,
)
from harness.session_persistence import MemoryBackend, MemoryStorage, PersistenceCoordinator
from harness.system_prompt import SystemPrompt
from harness.testing.model import Reply, ScriptedModel
from harness.tools import ToolExecution, ToolOutput, ToolRegistry, define_tool
from vendor_shims.cordis import Context, Event, Fiber
from vendor_shims.logger import LogRecord
from vendor_shims.timer import VirtualClock, come_to_rest

MountLoop: TypeAlias = Callable[[Context, Mapping[str, Any]], Fiber]
"""Mounts a loop with options by configuration name; returns its fiber."""

Body: TypeAlias = Callable[[Any, ToolExecution], Awaitable[str]]
OPTIONS = AgentOptions(provider="scripted", model="test")
_TEXT = ToolOutput({"type": "string"}, lambda _args, value: value)
_NEWS = (
    SESSION_CREATED,
    CREATED,
    SESSION_START,
    STATUS,
    INBOX_INSERTED,
    INBOX_CLAIMED,
    INBOX_DISCARDED,
    STEERING,
    DISPOSED,
    SESSION_DISPOSED,
)


class _Persistence(PersistenceCoordinator):
    """Store sessions in the memory that the test holds."""

    def __init__(self, ctx: Context, config: MemoryStorage) -> None:
        super().__init__(ctx, MemoryBackend(config))


@attrs.define(eq=False)
class World:
    """One process: a tree with the seams mounted, and what a test does with it all the time.

    `news` holds the names of the notifications so far, `failures` the contained failures, `lines`
    what was logged. Time stands still unless the test advances `clock`.
    """

    root: Context
    clock: VirtualClock
    mount_loop: MountLoop
    model: ScriptedModel = attrs.field(factory=ScriptedModel)
    news: list[str] = attrs.field(factory=list)
    failures: list[AgentFailed] = attrs.field(factory=list)
    lines: list[LogRecord] = attrs.field(factory=list)
    sessions: list[Session] = attrs.field(factory=list)
    agents_made: list[Agent] = attrs.field(factory=list)
    receipts: list[EnqueueReceipt] = attrs.field(factory=list)
    loop: Fiber | None = None
    may_stay_open: bool = False
    """Whether the test leaves a log that nobody can close."""

    # -- composing ---------------------------------------------------------------------------

    async def prepare(self) -> None:
        """Mount everything but the loop, and listen."""
        self.root.logger.exporter(self)
        for plugin in (SessionStore, LlmService, SystemPrompt, ToolRegistry, AgentRegistry):
            self.root.plugin(plugin)
        self.root.plugin(self.model)
        for event in _NEWS:
            self.root.on(event, _noting(self.news, event))
        self.root.on(ERROR, self.failures.append)
        self.root.on(SESSION_CREATED, self.sessions.append)
        self.root.on(CREATED, self.agents_made.append)
        await self.rest()

    async def mount(self, **options: Any) -> Fiber:
        """Mount the loop with options by attribute name; done by `agent` when it was not."""
        self.loop = self.mount_loop(self.root, {_camel(key): options[key] for key in options})
        await self.rest()
        return self.loop

    async def persist(self, storage: MemoryStorage) -> Fiber:
        """Store the sessions to come in `storage`."""
        fiber = self.root.plugin(_Persistence, storage)
        await self.rest()
        return fiber

    async def rest(self) -> None:
        """Let everything run that can run without time passing."""
        await come_to_rest()

    def export(self, record: LogRecord) -> None:
        """Keep a line of the log; the world is an exporter."""
        self.lines.append(record)

    # -- agents ------------------------------------------------------------------------------

    @property
    def agents(self) -> AgentRegistry:
        """The registry of agents."""
        return self.root[AgentRegistry]

    @property
    def tools(self) -> ToolRegistry:
        """The registry of tools."""
        return self.root[ToolRegistry]

    @property
    def prompt(self) -> SystemPrompt:
        """The prompt service."""
        return self.root[SystemPrompt]

    @property
    def store(self) -> SessionStore:
        """The store of live sessions."""
        return self.root[SessionStore]

    async def handle(self, *replies: Reply, **creation: Any) -> AgentHandle:
        """Create an agent whose model answers with `replies`; mounts the loop when there is none.

        `creation` are members of `CreateAgentOptions`.
        """
        if self.loop is None:
            await self.mount()
        self.model.add(*replies)
        creation.setdefault("agent_options", OPTIONS)
        return await self.agents.create(CreateAgentOptions(**creation))

    async def agent(self, *replies: Reply, **creation: Any) -> Agent:
        """Create an agent as `handle` does; the world ends it."""
        return (await self.handle(*replies, **creation)).agent

    async def resume(self, session_id: SessionId, *replies: Reply, **creation: Any) -> AgentHandle:
        """Resume a stored session; mounts the loop when there is none."""
        if self.loop is None:
            await self.mount()
        self.model.add(*replies)
        creation.setdefault("agent_options", OPTIONS)
        return await self.agents.resume(
            ResumeAgentOptions(resume_session_id=session_id, **creation)
        )

    def send(self, agent: Agent, text: str = "hi") -> EnqueueReceipt:
        """Send a prompt whose receipt must be settled when the world ends."""
        receipt = agent.send(text)
        self.receipts.append(receipt)
        return receipt

    async def turn(self, agent: Agent, text: str = "hi") -> EnqueueReceipt:
        """Send a prompt and wait until the agent rests."""
        receipt = self.send(agent, text)
        await agent.when_idle()
        return receipt

    def tool(self, name: str, body: Body | None = None, **members: Any) -> None:
        """Register a tool that takes anything; without a body it returns its name."""

        async def answer(_args: object, _execution: ToolExecution) -> str:
            return name

        members.setdefault("parameters", {"n": {"type": "integer"}})
        self.tools.register(
            define_tool(
                name=name,
                description=f"The tool {name}.",
                output=_TEXT,
                execute=body or answer,
                **members,
            )
        )

    # -- ending ------------------------------------------------------------------------------

    async def finish(self) -> None:
        """End everything and check what must hold for every log, receipt and task."""
        await self.root.close()
        for session in self.sessions:
            found = check_log(session.events, is_complete=not self.may_stay_open)
            assert found == (), found
        for receipt in self.receipts:
            assert receipt.outcome is not None, receipt.message_id
        assert not self.root.kernel.tasks


def types_of(agent: Agent, start: int = 0) -> list[str]:
    """Return the types of the events from `start` on, without the chunks."""
    events = agent.session.events_from(start)
    return [event.type for event in events if event.type != ASSISTANT_CHUNK]


def events_of(agent: Agent, *kinds: str) -> list[SessionEvent]:
    """Return the events of some types."""
    return [event for event in agent.session.events if event.type in kinds]


def texts_of(agent: Agent, *kinds: str) -> list[str]:
    """Return the texts of the messages in the events of some types."""
    found: list[str] = []
    for event in events_of(agent, *kinds):
        message = agent.session.derive_event_message(event)
        found.append("" if message is None else message.text)
    return found


def reasons_of(agent: Agent) -> list[Any]:
    """Return how the turns ended, oldest first, as plain JSON."""
    return [dict(event.data["reason"]) for event in events_of(agent, TURN_END)]


def codes_of(agent: Agent) -> list[str | None]:
    """Return the error code of each tool result, in the order of the log."""
    return [event.data.get("error", {}).get("code") for event in events_of(agent, "tool/result")]


def _noting(news: list[str], event: Event) -> Callable[..., None]:
    def note(payload: object) -> None:
        status = getattr(payload, "status", None) if event is STATUS else None
        news.append(str(event) if status is None else f"{event} {status}")

    return note


def _camel(name: str) -> str:
    head, *rest = name.split("_")
    return head + "".join(part.capitalize() for part in rest)
