"""What waits for its place in the log: injected context and log-only facts."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from harness.agent import EnqueueReceipt, Envelope
from harness.llm import Message
from harness.session import CONTEXT_MESSAGE, INJECTION_TRIGGER, SessionEvent
from harness.wire import Json, freeze_json

if TYPE_CHECKING:
    from harness_plugins.agent_loop.agent import ReactLoopAgent


class InjectedContext(NamedTuple):
    """One injected message and how it enters."""

    message: Message
    envelope: Envelope
    meta: Json
    receipt: EnqueueReceipt | None


class Fact(NamedTuple):
    """One log-only event that a plugin wants recorded."""

    type: str
    data: Mapping[str, Any]
    plugin: str


class LogBuffer:
    """Hold what may not be appended yet, and append it at the drain points.

    Invariants: contexts keep their order, and so do facts; nothing is held while the agent is
    idle and no event of its session is being published.
    """

    def __init__(self, agent: "ReactLoopAgent") -> None:
        """Start empty."""
        self._agent = agent
        self._contexts: list[InjectedContext] = []
        self._facts: list[Fact] = []

    def hold_context(self, context: InjectedContext) -> None:
        """Keep a message for the next drain point."""
        self._contexts.append(context)

    def hold_fact(self, fact: Fact) -> None:
        """Keep a fact until a turn is open."""
        self._facts.append(fact)

    def drain_contexts(self) -> int:
        """Append the held messages to the open turn; returns how many."""
        count = 0
        while self._contexts:
            self.append_context(self._contexts.pop(0))
            count += 1
        return count

    def drain_facts(self) -> None:
        """Append the held facts to the open turn."""
        while self._facts:
            fact = self._facts.pop(0)
            self._agent.session.append(fact.type, fact.data)

    def settle_idle(self) -> None:
        """Give what is left turns of its own, because no turn is open or coming."""
        while self._facts:
            self.append_fact(self._facts.pop(0))
        if self._contexts:
            with self._agent.session.enclosed(INJECTION_TRIGGER):
                self.drain_contexts()

    def append_fact(self, fact: Fact) -> SessionEvent:
        """Append a fact now, in the open turn or in one of its own."""
        session = self._agent.session
        with session.enclosed({"kind": "annotation", "plugin": fact.plugin}):
            return session.append(fact.type, fact.data)

    def append_context(self, context: InjectedContext) -> SessionEvent:
        """Append an injected message now, in the open turn."""
        data = {**context.message.to_json(), "envelope": context.envelope}
        if context.meta is not None:
            data["meta"] = context.meta
        session = self._agent.session
        event = session.append(CONTEXT_MESSAGE, freeze_json(data), surface_op="append")
        if context.receipt is not None:
            context.receipt.enter(session.last_turn, event.seq)
        return event

    def discard(self) -> None:
        """Throw everything away, because the agent ends."""
        for context in self._contexts:
            if context.receipt is not None:
                context.receipt.discard()
        self._contexts.clear()
        self._facts.clear()
