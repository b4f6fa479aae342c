"""Receipts: evidence of what became of a delivered message."""

from collections.abc import Awaitable, Callable, Generator
from typing import Any, Literal, NamedTuple, TypeAlias

from harness.agent.types import InboxTarget, MessageId
from vendor_shims.cordis import Latch

ReceiptState: TypeAlias = Literal["pending", "claimed", "entered", "rejected", "discarded"]


class ReceiptOutcome(NamedTuple):
    """How a delivery ended: in the log, refused, or thrown away."""

    state: Literal["entered", "rejected", "discarded"]
    turn: int | None = None
    seq: int | None = None
    reason: str | None = None


class EnqueueReceipt:
    """Follow one delivered message into the log; says nothing of an answer.

    Invariants: `state` only moves forward; `outcome` is set exactly when it is final.
    """

    __slots__ = ("_flush", "_settled", "durable", "message_id", "outcome", "state", "target",
                 "turn")  # fmt: skip

    def __init__(
        self,
        message_id: MessageId,
        target: InboxTarget | Literal["log"],
        flush: Callable[[], Awaitable[object]],
    ) -> None:
        """Begin pending; `flush` makes what was appended durable."""
        self.message_id = message_id
        self.target = target
        self.state: ReceiptState = "pending"
        self.durable = False
        self.turn: int | None = None
        self.outcome: ReceiptOutcome | None = None
        self._flush = flush
        self._settled = Latch()

    @property
    def seq(self) -> int | None:
        """The seq of the message's event, once it entered the log."""
        return None if self.outcome is None else self.outcome.seq

    def claim(self, turn: int) -> None:
        """Note that a turn took the message; for loops."""
        self.state = "claimed"
        self.turn = turn

    def enter(self, turn: int, seq: int) -> None:
        """Note that the message is in the log; for loops."""
        self.turn = turn
        self.durable = True
        self._settle(ReceiptOutcome("entered", turn, seq))

    def reject(self, reason: str | None) -> None:
        """Note that the message was refused; for loops."""
        self._settle(ReceiptOutcome("rejected", self.turn, None, reason))

    def discard(self) -> None:
        """Note that the message was thrown away before any turn took it; for loops."""
        self._settle(ReceiptOutcome("discarded", self.turn))

    async def settled(self) -> ReceiptOutcome:
        """Wait until the message entered the log, was refused, or was thrown away."""
        await self._settled
        assert self.outcome is not None  # the latch opens with the outcome
        return self.outcome

    async def flushed(self) -> None:
        """Wait until the message's event is durable; raises what the flush raises.

        A message that was refused or thrown away has no event: returns once that is known.
        """
        outcome = await self.settled()
        if outcome.state == "entered":
            await self._flush()

    def __await__(self) -> Generator[Any, None, ReceiptOutcome]:
        return self.settled().__await__()

    def _settle(self, outcome: ReceiptOutcome) -> None:
        if self.outcome is None:
            self.state = outcome.state
            self.outcome = outcome
            self._settled.open()
