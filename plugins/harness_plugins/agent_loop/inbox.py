"""The inbox: what was delivered and not taken up yet, journaled so that a crash keeps it."""

from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

from harness.agent import (
    INBOX_CLAIMED,
    INBOX_DISCARDED,
    INBOX_INSERTED,
    Delivery,
    DuplicatePendingMessage,
    EnqueueReceipt,
    InboxClaimed,
    InboxDiscarded,
    InboxInserted,
    InboxTarget,
)
from harness.llm import Message
from harness.session import INBOX_SPLICED, SessionEvent
from harness.wire import freeze_json

if TYPE_CHECKING:
    from harness_plugins.agent_loop.agent import ReactLoopAgent


class InboxEntry(NamedTuple):
    """One queued message; `receipt` is `None` for messages found at resume."""

    message: Message
    delivery: Delivery
    receipt: EnqueueReceipt | None


Lists = dict[InboxTarget, tuple[InboxEntry, ...]]
_TARGETS = (InboxTarget.NEXT_STEP, InboxTarget.NEXT_TURN)


class Inbox:
    """Two ordered lists of messages, for the next step and for the next turn.

    The journal in the log is a list of splices. What it says may lag behind the lists while no
    turn is open; `settle_debt` writes what is missing.

    Invariants: message ids are unique over both lists; with a durable inbox and an open turn the
    journal equals the lists after every change, and a change whose journal entry is refused does
    not happen. `_outcomes` says what became of removed entries that the journal still holds.
    """

    def __init__(self, agent: "ReactLoopAgent", *, is_durable: bool) -> None:
        """Start empty."""
        self._agent = agent
        self._is_durable = is_durable
        self._lists: Lists = dict.fromkeys(_TARGETS, ())
        self._journal: Lists = dict.fromkeys(_TARGETS, ())
        self._outcomes: dict[InboxTarget, str] = {}

    def restore(self, events: Iterable[SessionEvent]) -> None:
        """Take over what the journal of a stored log says is still queued."""
        self._lists = fold_inbox(events)
        self._journal = dict(self._lists)
        self.requeue_steering()

    # -- reading -----------------------------------------------------------------------------

    @property
    def has_pending(self) -> bool:
        """Whether anything is queued."""
        return any(self._lists.values())

    @property
    def has_prompts(self) -> bool:
        """Whether anything is queued that starts a turn."""
        return bool(self._lists[InboxTarget.NEXT_TURN])

    @property
    def has_steering(self) -> bool:
        """Whether anything is queued for the next step."""
        return bool(self._lists[InboxTarget.NEXT_STEP])

    def snapshot(self, target: InboxTarget | None = None) -> tuple[InboxEntry, ...]:
        """Return the queued entries, next step before next turn, or those of one target."""
        if target is not None:
            return self._lists[target]
        return self._lists[InboxTarget.NEXT_STEP] + self._lists[InboxTarget.NEXT_TURN]

    # -- changing ----------------------------------------------------------------------------

    def append(self, target: InboxTarget, *messages: Message) -> None:
        """Queue messages at the end; they wake nobody."""
        self._insert(target, len(self._lists[target]), self._entries(target, messages))

    def prepend(self, target: InboxTarget, *messages: Message) -> None:
        """Queue messages at the front; they wake nobody."""
        self._insert(target, 0, self._entries(target, messages))

    def add(self, target: InboxTarget, entry: InboxEntry) -> None:
        """Queue one delivered message at the end."""
        self._insert(target, len(self._lists[target]), [entry])

    def replace(self, message_id: str, message: Message) -> None:
        """Put another message in the place of a queued one; `KeyError` when there is none."""
        target, index = self._find(message_id)
        old = self._lists[target][index]
        if message.id != message_id:
            self._refuse_duplicates([message])
        entries = self._lists[target]
        new = (*entries[:index], old._replace(message=message), *entries[index + 1 :])
        self._change(target, new)

    def remove(self, message_id: str) -> Message:
        """Take a queued message out; `KeyError` when there is none."""
        target, index = self._find(message_id)
        return self.splice(target, index, 1)[0]

    def splice(
        self, target: InboxTarget, start: float, delete_count: float, *insert: Message
    ) -> tuple[Message, ...]:
        """Remove a run and insert messages in its place; returns what was removed."""
        entries = self._lists[target]
        at = int(min(max(start + len(entries) if start < 0 else start, 0), len(entries)))
        end = int(min(at + max(delete_count, 0), len(entries)))
        removed = entries[at:end]
        if not removed and not insert:
            return ()
        kept = {entry.message.id for entry in self.snapshot()} - {e.message.id for e in removed}
        self._refuse_duplicates(insert, kept)
        added = self._entries(target, insert)
        self._change(target, (*entries[:at], *added, *entries[end:]), outcome="removed")
        self._discarded(removed, "removed")
        self._inserted(target, added)
        return tuple(entry.message for entry in removed)

    def clear(self, outcome: str = "cleared") -> None:
        """Throw everything away, next step before next turn.

        What the journal holds of it is crossed out as soon as possible, in a turn of its own if
        none is open.
        """
        for target in _TARGETS:
            entries = self._lists[target]
            if entries:
                self._change(target, (), outcome=outcome)
                self._discarded(entries, outcome)
        self._agent.session.after_publication(self._cross_out)

    def forget(self) -> None:
        """Throw everything away without a word in the log, because the agent ends."""
        entries = self.snapshot()
        self._is_durable = False
        self._lists = dict.fromkeys(_TARGETS, ())
        self._discarded(entries, "disposed")

    def claim(
        self, target: InboxTarget, turn: int, *, limit: int | None = None
    ) -> tuple[InboxEntry, ...]:
        """Take up the first `limit` entries of one list, all by default."""
        entries = self._lists[target]
        claimed = entries[:limit]
        if not claimed:
            return ()
        self._change(target, entries[len(claimed) :], outcome="claimed")
        for entry in claimed:
            if entry.receipt is not None:
                entry.receipt.claim(turn)
        for entry in claimed:
            self._agent.tell(
                INBOX_CLAIMED, InboxClaimed(agent=self._agent, message=entry.message, turn=turn)
            )
        return claimed

    def requeue_steering(self) -> None:
        """Move what is left for a next step to the front of the next turn, as prompts."""
        steering = self._lists[InboxTarget.NEXT_STEP]
        if not steering:
            return
        prompts = [entry._replace(delivery=Delivery.PROMPT) for entry in steering]
        self._change(InboxTarget.NEXT_STEP, ())
        self._change(InboxTarget.NEXT_TURN, (*prompts, *self._lists[InboxTarget.NEXT_TURN]))

    def settle_debt(self) -> None:
        """Write what the journal does not say yet, if a turn is open to write it in."""
        session = self._agent.session
        if self._is_durable and session.open_turn is not None:
            for target in _TARGETS:
                self._write(target, self._lists[target], None)

    # -- inside ------------------------------------------------------------------------------

    def _entries(self, target: InboxTarget, messages: Sequence[Message]) -> list[InboxEntry]:
        is_turn = target is InboxTarget.NEXT_TURN
        delivery = Delivery.PROMPT if is_turn else Delivery.STEERING
        return [InboxEntry(message, delivery, None) for message in messages]

    def _insert(self, target: InboxTarget, at: int, added: list[InboxEntry]) -> None:
        self._refuse_duplicates([entry.message for entry in added])
        entries = self._lists[target]
        self._change(target, (*entries[:at], *added, *entries[at:]))
        self._inserted(target, added)

    def _change(
        self, target: InboxTarget, new: tuple[InboxEntry, ...], *, outcome: str | None = None
    ) -> None:
        """Put `new` in the place of a list; observers of the journal entry see it already."""
        session = self._agent.session
        old, self._lists[target] = self._lists[target], new
        if self._is_durable and session.open_turn is not None and not session.is_publishing:
            try:
                self._write(target, new, outcome)
            except BaseException:
                self._lists[target] = old
                raise
        elif self._is_durable:
            if outcome is not None:
                self._outcomes[target] = outcome
            if session.is_publishing:
                session.after_publication(self._settle_contained)

    def _cross_out(self) -> None:
        agent = self._agent
        if agent.session.open_turn is None and self._is_durable and any(self._journal.values()):
            try:
                with agent.enclosed({"kind": "annotation", "plugin": "agent-loop"}):
                    self.settle_debt()
            except Exception as error:  # noqa: BLE001 - refused by a listener; the debt stays
                agent.report(error, where="inbox")

    def _settle_contained(self) -> None:
        try:
            self.settle_debt()
        except Exception as error:  # noqa: BLE001 - refused by a listener; the debt stays
            self._agent.report(error, where="inbox")

    def _write(self, target: InboxTarget, new: tuple[InboxEntry, ...], outcome: str | None) -> None:
        old = self._journal[target]
        splice = _difference(old, new)
        if splice is None:
            return
        start, n_removed, inserted = splice
        data: dict[str, Any] = {"target": str(target), "start": start}
        if n_removed:
            data["removedCount"] = n_removed
        data["inserted"] = [entry.message.to_json() for entry in inserted]
        outcome = outcome or self._outcomes.get(target)
        if outcome is not None and n_removed:
            data["outcome"] = outcome
        self._journal[target] = new
        try:
            self._agent.session.append(INBOX_SPLICED, freeze_json(data))
        except BaseException:
            self._journal[target] = old
            raise
        self._outcomes.pop(target, None)
        for entry in inserted:
            if entry.receipt is not None:
                entry.receipt.durable = True

    def _inserted(self, target: InboxTarget, entries: Iterable[InboxEntry]) -> None:
        for entry in entries:
            self._agent.tell(
                INBOX_INSERTED,
                InboxInserted(agent=self._agent, message=entry.message, target=target),
            )

    def _discarded(self, entries: Iterable[InboxEntry], outcome: str) -> None:
        for entry in entries:
            if entry.receipt is not None:
                entry.receipt.discard()
            self._agent.tell(
                INBOX_DISCARDED,
                InboxDiscarded(agent=self._agent, message=entry.message, outcome=outcome),
            )

    def _find(self, message_id: str) -> tuple[InboxTarget, int]:
        for target in _TARGETS:
            for index, entry in enumerate(self._lists[target]):
                if entry.message.id == message_id:
                    return target, index
        raise KeyError(message_id)

    def _refuse_duplicates(self, messages: Sequence[Message], kept: set[str] | None = None) -> None:
        seen = {entry.message.id for entry in self.snapshot()} if kept is None else set(kept)
        for message in messages:
            if message.id in seen:
                raise DuplicatePendingMessage(f"message {message.id!r} is queued already")
            seen.add(message.id)


@contextmanager
def settling(claimed: Sequence[InboxEntry]) -> Generator[None]:
    """Take claimed entries into the log inside the block; what did not enter is rejected."""
    try:
        yield
    finally:
        for entry in claimed:
            if entry.receipt is not None and entry.receipt.outcome is None:
                entry.receipt.reject("the turn ended before this message entered the log")


def fold_inbox(events: Iterable[SessionEvent]) -> Lists:
    """Return what the splices of a log leave queued."""
    lists: Lists = dict.fromkeys(_TARGETS, ())
    for event in events:
        if event.type != INBOX_SPLICED:
            continue
        target = InboxTarget(event.data["target"])
        is_turn = target is InboxTarget.NEXT_TURN
        delivery = Delivery.PROMPT if is_turn else Delivery.STEERING
        inserted = [
            InboxEntry(Message.from_json(message), delivery, None)
            for message in event.data["inserted"]
        ]
        entries, at = lists[target], event.data["start"]
        end = at + event.data.get("removedCount", 0)
        lists[target] = (*entries[:at], *inserted, *entries[end:])
    return lists


def _difference(
    old: Sequence[InboxEntry], new: Sequence[InboxEntry]
) -> tuple[int, int, Sequence[InboxEntry]] | None:
    """Return the one splice `(start, n_removed, inserted)` that turns `old` into `new`."""
    same = _shared(old, new)
    tail = _shared(old[same:][::-1], new[same:][::-1])
    removed, inserted = old[same : len(old) - tail], new[same : len(new) - tail]
    return (same, len(removed), inserted) if removed or inserted else None


def _shared(one: Sequence[InboxEntry], other: Sequence[InboxEntry]) -> int:
    count = 0
    for first, second in zip(one, other, strict=False):
        if first.message is not second.message:
            break
        count += 1
    return count
