"""The node that stands in a row for a value computed later."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, TypeAlias

Tag: TypeAlias = Literal["!expr", "!!py", "!!js"]
"""How the node is written in a file: `!!py` is the same as `!expr`, `!!js` the small translator."""


Value: TypeAlias = Any
"""What a configuration may hold: scalars, lists, mappings, and `Expression` nodes among them."""


class Place(NamedTuple):
    """A position in a file; line and column count from 1."""

    file: str | None
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.file or '<config>'}:{self.line}:{self.column}"


@dataclass(frozen=True, slots=True)
class Expression:
    """A source text under a tag; two are equal when both are, wherever they stand."""

    source: str
    tag: Tag = "!expr"
    place: Place | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        if self.tag not in {"!expr", "!!py", "!!js"}:
            raise ValueError(f"an expression has the tag !expr, !!py or !!js, not {self.tag!r}")
