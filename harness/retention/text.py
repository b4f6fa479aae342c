"""Keep the head, the tail or both of a byte stream that becomes text."""

from collections.abc import Callable
from typing import Literal, TypeAlias

import attrs

from harness.retention.errors import InvalidBudgetError, check_budget
from harness.retention.omitted import NOTHING, Exact, Omitted, describe_omitted
from harness.wire import utf8_head, utf8_tail

RetainMode: TypeAlias = Literal["head", "tail", "headTail"]


@attrs.frozen
class RetainedText:
    """What is left of an output, decoded as UTF-8 with U+FFFD for invalid bytes.

    When nothing is missing, `head` is the whole text and `tail` is empty.
    """

    head: str
    tail: str
    omitted: Omitted
    total_bytes: int

    @property
    def truncated(self) -> bool:
        """Return whether a byte is missing."""
        return self.omitted != NOTHING

    @property
    def text(self) -> str:
        """Return head and tail without a mark between them."""
        return self.head + self.tail

    def render(self) -> str:
        """Return the text with a line of its own that says where how much is missing."""
        if not self.truncated:
            return self.head
        mark = f"[{describe_omitted(self.omitted, 'bytes')}]"
        return "\n".join(part for part in (self.head, mark, self.tail) if part)


class TextRetainer:
    """Keep at most `max_bytes` of a stream, whatever its size, and count every missing byte.

    Any chunking of the same bytes gives the same result. A character is never cut: what trimming
    to its boundary loses is counted as missing too.

    Args:
        mode: which end to keep; `headTail` keeps `head_bytes` of the budget at the beginning.
        max_bytes: the budget, a non-negative integer.
        head_bytes: the head's share in the mode `headTail`, half by default.
        spill: called with every byte of the stream in order, in pieces, from the moment when one
            would be lost; never called when all of it fits.

    Invariants:
        - `_head` is the beginning of the stream, `_tail` the end of what follows the head.
        - They hold at most `max_bytes` together, one chunk more while `feed` runs.
    """

    def __init__(
        self,
        mode: RetainMode,
        max_bytes: int,
        *,
        head_bytes: int | None = None,
        spill: Callable[[bytes], object] | None = None,
    ) -> None:
        budget = check_budget(max_bytes, "max_bytes")
        share = budget // 2 if head_bytes is None else check_budget(head_bytes, "head_bytes")
        if share > budget:
            raise InvalidBudgetError(
                f"head_bytes must be at most max_bytes ({budget}), got {head_bytes!r}"
            )
        self._head_bytes = {"head": budget, "tail": 0, "headTail": share}[mode]
        self._tail_bytes = budget - self._head_bytes
        self._spill = spill
        self._head = bytearray()
        self._tail = bytearray()
        self.total_bytes: int = 0
        """How many bytes have been fed."""

    @property
    def overflowed(self) -> bool:
        """Return whether a byte has been lost, apart from trimming to a character."""
        return self.total_bytes > self._head_bytes + self._tail_bytes

    def feed(self, data: bytes) -> None:
        """Take the next bytes of the stream."""
        if not data:
            return
        spilling = self.overflowed
        self.total_bytes += len(data)
        if self.overflowed and self._spill is not None:
            if not spilling and (self._head or self._tail):
                self._spill(bytes(self._head + self._tail))
            self._spill(data)
        room = self._head_bytes - len(self._head)
        self._head += data[:room]
        rest = data[room:]
        if not rest or not self._tail_bytes:
            return
        if len(rest) >= self._tail_bytes:
            self._tail[:] = rest[-self._tail_bytes :]
            return
        excess = len(self._tail) + len(rest) - self._tail_bytes
        if excess > 0:
            del self._tail[:excess]
        self._tail += rest

    def result(self) -> RetainedText:
        """Return what is kept so far; more may be fed afterwards."""
        if not self.overflowed:
            whole = (self._head + self._tail).decode("utf-8", "replace")
            return RetainedText(whole, "", NOTHING, self.total_bytes)
        head = _trimmed_head(bytes(self._head))
        tail = _trimmed_tail(bytes(self._tail))
        missing = self.total_bytes - len(head) - len(tail)
        return RetainedText(
            head.decode("utf-8", "replace"),
            tail.decode("utf-8", "replace"),
            Exact(missing),
            self.total_bytes,
        )


def _trimmed_head(kept: bytes) -> bytes:
    """Drop a character at the end that the cut has split: one more byte stands for the rest."""
    return utf8_head(kept + b" ", len(kept))


def _trimmed_tail(kept: bytes) -> bytes:
    """Drop the rest of a character at the beginning that the cut has split."""
    return utf8_tail(b" " + kept, len(kept))
