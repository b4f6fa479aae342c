"""What waits for its place in the log: injected context and log-only facts."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from harness.agent import ContextItem, EnqueueReceipt, Envelope
from harness.llm import Message
from harness.session import CONTEXT_MESSAGE, INJECTION_TRIGGER, SessionEvent
from harness.wire import FrozenDict, Json, snapshot_json

if TYPE_CHECKING:
    from harness_plugins.agent_loop.agent import ReactLoopAgent


class InjectedContext(NamedTuple):
    """One injected message and how it enters."""

    message: Message
    envelope: Envelope = "context"
    meta: Json = None

    def to_json(self) -> FrozenDict:
        """Return the data of its event; raises `NotJsonError` for what the log cannot keep."""
        data = {**self.message.to_json(), "envelope": self.envelope}
        if self.meta is not None:
            data["meta"] = self.meta
        return snapshot_json(data)


class Fact(NamedTuple):
    """One log-only event that a plugin wants recorded; `data` is frozen."""

    type: str
    data: FrozenDict
    plugin: str


class LogBuffer:
    """Append contexts and facts at once where that is allowed, else at the next drain point.

    Whoever hands in something that the log cannot keep gets the error. What is refused later, by a
    `session/validate` listener, is reported and dropped: it never breaks a turn of somebody else.

    Invariants: contexts keep their order, and so do facts; nothing is held while the agent is
    idle, its log is balanced, and no event of its session is being published.
    """

    def __init__(self, agent: "ReactLoopAgent") -> None:
        """Start empty."""
        self._agent = agent
        self._contexts: list[tuple[FrozenDict, EnqueueReceipt]] = []
        self._facts: list[Fact] = []

    # -- taking in ---------------------------------------------------------------------------

    def inject(self, context: InjectedContext, receipt: EnqueueReceipt) -> None:
        """Take an injected message; in an idle agent it becomes a turn of its own now."""
        agent = self._agent
        if not agent.is_busy and not agent.session.is_publishing:
            with agent.enclosed(INJECTION_TRIGGER):
                self.drain_contexts()
                self._append_context(context.to_json(), receipt)
            return
        self._contexts.append((context.to_json(), receipt))
        agent.session.after_publication(self.settle)

    def annotate(self, kind: str, data: Mapping[str, Any], plugin: str) -> SessionEvent | None:
        """Take a fact; returns its event, or `None` when it has to wait."""
        agent = self._agent
        fact = Fact(kind, snapshot_json(data), plugin)
        if agent.session.is_publishing or agent.is_turn_coming:
            self._facts.append(fact)
            agent.session.after_publication(self.settle)
            return None
        return self._append_fact(fact)

    def append_item(self, item: ContextItem) -> None:
        """Append a message that a listener or a tool wants in the open turn, now."""
        data = InjectedContext(item.message, item.envelope).to_json()
        self._agent.session.append(CONTEXT_MESSAGE, data, surface_op="append")

    # -- draining ----------------------------------------------------------------------------

    def drain_contexts(self) -> None:
        """Append the held messages to the open turn."""
        while self._contexts:
            data, receipt = self._contexts.pop(0)
            try:
                self._append_context(data, receipt)
            except Exception as error:  # noqa: BLE001 - refused by a listener; not the turn's fault
                receipt.reject(str(error))
                self._agent.report(error, where="inject")

    def drain_facts(self) -> None:
        """Append the held facts, in the open turn or in turns of their own."""
        while self._facts:
            try:
                self._append_fact(self._facts.pop(0))
            except Exception as error:  # noqa: BLE001 - refused by a listener; not the turn's fault
                self._agent.report(error, where="annotate")

    def settle(self) -> None:
        """Append what is held, if this is a place for it; never raises."""
        agent = self._agent
        if agent.is_turn_coming or agent.is_unbalanced:
            return
        is_open = agent.session.open_turn is not None
        if self._facts and (is_open or not agent.is_driven):
            self.drain_facts()
        if self._contexts:
            try:
                self._settle_contexts(is_open=is_open)
            except Exception as error:  # noqa: BLE001 - a bracket was refused; what is held stays
                agent.report(error, where="inject")

    def discard(self) -> None:
        """Throw everything away, because the agent ends."""
        for _, receipt in self._contexts:
            receipt.discard()
        self._contexts.clear()
        self._facts.clear()

    # -- inside ------------------------------------------------------------------------------

    def _settle_contexts(self, *, is_open: bool) -> None:
        agent = self._agent
        if not agent.is_busy:
            with agent.enclosed(INJECTION_TRIGGER):
                self.drain_contexts()
        elif agent.maintenance is not None:
            if agent.maintenance.allow_context:
                agent.maintenance.open()
                self.drain_contexts()
        elif agent.is_driven and is_open and agent.session.open_step is None:
            self.drain_contexts()

    def _append_fact(self, fact: Fact) -> SessionEvent:
        agent = self._agent
        if agent.maintenance is not None:
            agent.maintenance.open()
        with agent.enclosed({"kind": "annotation", "plugin": fact.plugin}):
            return agent.session.append(fact.type, fact.data)

    def _append_context(self, data: FrozenDict, receipt: EnqueueReceipt) -> None:
        session = self._agent.session
        event = session.append(CONTEXT_MESSAGE, data, surface_op="append")
        receipt.enter(session.last_turn, event.seq)
