"""What a stage of reading or evaluating reports; it knows the source but not the row."""

from __future__ import annotations


class Flaw(Exception):
    """A problem at an offset of the source; turned into `ExpressionError` at the border.

    Invariants: `problem` never contains a value that the expression read, which may be a secret.
    """

    def __init__(self, problem: str, offset: int | None = None) -> None:
        super().__init__(problem)
        self.problem = problem
        self.offset = offset


class Absent(Flaw):
    """A declared service that nobody provides now: `??` takes it for None."""
