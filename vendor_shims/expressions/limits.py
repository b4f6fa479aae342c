"""How large an expression and what it makes may be."""

from __future__ import annotations

from .flaw import Flaw

MAX_SOURCE_CHARS = 2_000
MAX_NODES = 200
MAX_DEPTH = 100
"""How deep operations, calls, and the containers of a config may be nested."""
MAX_TEXT_CHARS = 1 << 20
"""The longest text that any step may make or hand over."""
MAX_TOTAL_CHARS = 8 << 20
"""What all texts made while evaluating one expression may have together."""
MAX_ITEMS = 10_000
"""The longest list that any step may make, and how many values a JSON text may hold."""
MAX_INT_BITS = 4_096
MAX_WIDTH = 1_000
"""The largest width and precision of a format."""


class Budget:
    """Counts the text that one evaluation makes, before it is made wherever that can be known.

    Invariants: no text longer than `MAX_TEXT_CHARS` leaves a step; `n_chars` only grows and
    stays below `MAX_TOTAL_CHARS`.
    """

    def __init__(self) -> None:
        self.n_chars = 0

    def text(self, n_chars: int) -> None:
        """Count a text of `n_chars` characters; raises `Flaw` when that is too much."""
        if n_chars > MAX_TEXT_CHARS:
            raise Flaw(f"a text may have at most {MAX_TEXT_CHARS} characters")
        self.n_chars += n_chars
        if self.n_chars > MAX_TOTAL_CHARS:
            raise Flaw(f"all texts together may have at most {MAX_TOTAL_CHARS} characters")

    def items(self, n_items: int) -> None:
        """Raise `Flaw` when a list of `n_items` is too long."""
        if n_items > MAX_ITEMS:
            raise Flaw(f"a list may have at most {MAX_ITEMS} items")

    def bits(self, n_bits: int) -> None:
        """Raise `Flaw` when a whole number of `n_bits` is too large."""
        if n_bits > MAX_INT_BITS:
            raise Flaw(f"a whole number may have at most {MAX_INT_BITS} bits")
