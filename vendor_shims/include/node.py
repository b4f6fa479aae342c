"""What a reader makes of a text: values that know where they stand in it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, TypeAlias

from vendor_shims.expressions import Expression, Place

from .errors import ConfigFileError
from .values import MAX_DEPTH, Value

MAX_VALUES = 200_000
"""How many values a document may have, each use of an alias counted with all that it stands for."""

Mark: TypeAlias = list[Any]
"""`[line, column]` of a scalar; a list or mapping has the marks of its members as third item."""


@dataclass(slots=True, eq=False)
class Node:
    """One value in a text.

    Attributes:
        start: where it begins, as an index into the text; `line` and `column` count from 1.
        end: where it ends; that of a block collection is the end of its last member.
        value: of a scalar.
        items: of a list.
        members: of a mapping, each key with its own node and that of its value.
        is_flow: written in brackets, so that what is put into it must be, too.
        is_fixed: an alias or what one refers to; it cannot be edited without changing others.
        size: how many values it holds, itself included.
    """

    start: int
    end: int
    line: int
    column: int
    value: Any = None
    items: list[Node] | None = None
    members: dict[str, tuple[Node, Node]] | None = None
    is_flow: bool = False
    is_fixed: bool = False
    size: int = field(default=1)


def value_of(node: Node, file: str | None) -> Value:
    """Return the plain value of a node; lists and mappings are made anew."""
    if node.items is not None:
        return [value_of(item, file) for item in node.items]
    if node.members is not None:
        return {key: value_of(member, file) for key, (_, member) in node.members.items()}
    if isinstance(node.value, Expression):
        place = Place(file, node.line, node.column)
        return Expression(node.value.source, node.value.tag, place)
    return node.value


def mark_of(node: Node) -> Mark:
    """Return where a node and everything in it stands."""
    if node.items is not None:
        return [node.line, node.column, [mark_of(item) for item in node.items]]
    if node.members is not None:
        marks = {key: mark_of(member) for key, (_, member) in node.members.items()}
        return [node.line, node.column, marks]
    return [node.line, node.column]


def place_at(text: str, index: int, file: str) -> Place:
    """Return the place of a character in a text."""
    return Place(file, text.count("\n", 0, index) + 1, index - text.rfind("\n", 0, index))


class Budget:
    """Counts the values of a document and the depth of the one being read."""

    def __init__(self, file: str) -> None:
        self._file = file
        self._left = MAX_VALUES

    def spend(self, n_values: int, depth: int, place: Place) -> None:
        """Count values at a depth.

        Raises:
            ConfigFileError: there are too many, or they stand too deep.
        """
        self._left -= n_values
        if self._left < 0:
            problem = f"it holds more than {MAX_VALUES} values, aliases counted"
        elif depth > MAX_DEPTH:
            problem = f"nested deeper than {MAX_DEPTH} levels"
        else:
            return
        raise ConfigFileError("parse", problem, file=self._file, place=place)
