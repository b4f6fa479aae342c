"""Putting values in the place of expressions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, cast

from .errors import ExpressionError, Path
from .expression import Expression, Value
from .flaw import Flaw
from .limits import MAX_DEPTH, Budget
from .names import Names
from .operations import as_text
from .program import compiled
from .template import OPENING, Piece, split


def evaluate(expression: Expression, names: Names) -> Value:
    """Return the value of an expression; lists and mappings in it are new.

    Raises:
        ExpressionError: it is not allowed, cannot be read, or fails.
    """
    return _Interpolation(names, Origin(None, None), templates=False).node(expression, ())


def interpolate(
    value: Value,
    names: Names,
    *,
    row: str | None = None,
    path: Sequence[str | int] = ("config",),
    templates: bool = True,
    file: str | None = None,
) -> Value:
    """Return a deep copy of a config value with each expression replaced by its value.

    Without any expression the same object comes back. What stands in several places of `value`
    is evaluated once, and stands in the same places of the result.

    Args:
        value: lists, mappings and scalars, with `Expression` nodes among them.
        names: what the expressions may read.
        row: the id of the row, for messages.
        path: where `value` stands in the row, for messages.
        templates: evaluate `${...}` in texts too.
        file: the file of the row, for messages about texts, which do not know theirs.

    Raises:
        ExpressionError: an expression is not allowed, cannot be read, or fails; or the config
            is nested too deeply.
    """
    if not has_expressions(value, templates=templates):
        return value
    return _Interpolation(names, Origin(row, file), templates=templates).value(value, tuple(path))


def has_expressions(value: Value, *, templates: bool = True) -> bool:
    """Return whether a config value holds an expression, or with `templates` a text with `${`."""
    seen: set[int] = set()
    waiting: list[Any] = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, Expression) or (templates and isinstance(one, str) and OPENING in one):
            return True
        if isinstance(one, Mapping | list | tuple) and id(cast("object", one)) not in seen:
            seen.add(id(cast("object", one)))
            waiting.extend(cast("Any", one.values() if isinstance(one, Mapping) else one))
    return False


class Origin(NamedTuple):
    """The row that a value comes from, as far as known."""

    row: str | None
    file: str | None

    def error(self, flaw: Flaw, holder: Expression | str, path: Path) -> ExpressionError:
        """Return the public form of a flaw in an expression or in a text."""
        place = holder.place if isinstance(holder, Expression) else None
        return ExpressionError(
            flaw.problem,
            source=holder.source if isinstance(holder, Expression) else holder,
            offset=flaw.offset or 0,
            place=place,
            file=self.file,
            row=self.row,
            path=path,
        )

    def check(self, holder: Expression | str, path: Path) -> None:
        """Raise `ExpressionError` when an expression, or one in a text, could never run."""
        try:
            if isinstance(holder, Expression):
                compiled(holder)
                return
            for part in split(holder) if OPENING in holder else ():
                if isinstance(part, Piece):
                    with_offset(part)
        except Flaw as flaw:
            raise self.error(flaw, holder, path) from flaw.__cause__


def with_offset(piece: Piece, names: Names | None = None) -> object:
    """Compile a piece of a text and, given names, evaluate it; offsets are those of the text."""
    try:
        program = compiled(Expression(piece.source))
        return None if names is None else program.run(names)
    except Flaw as flaw:
        flaw.offset = piece.start + (flaw.offset or 0)
        raise


class _Interpolation:
    """One walk over a config value.

    Invariants: `_made` has the copy of each container met so far by its identity, so that
    containers in several places, or inside themselves, are copied once.
    """

    def __init__(self, names: Names, origin: Origin, *, templates: bool) -> None:
        self._names = names
        self._origin = origin
        self._templates = templates
        self._made: dict[int, Any] = {}

    def value(self, value: Value, path: Path, depth: int = 1) -> Value:
        if isinstance(value, Expression):
            return self.node(value, path)
        if isinstance(value, str):
            return self._text(value, path) if self._templates and OPENING in value else value
        if not isinstance(value, Mapping | list | tuple):
            return value
        if depth > MAX_DEPTH:
            problem = f"a config may be nested at most {MAX_DEPTH} levels deep"
            raise ExpressionError(
                problem, row=self._origin.row, file=self._origin.file, path=path[:3]
            )
        container = cast("Mapping[Any, Any] | list[Any] | tuple[Any, ...]", value)
        known = self._made.get(id(container))
        return self._copy(container, path, depth + 1) if known is None else known

    def _copy(
        self, container: Mapping[Any, Any] | list[Any] | tuple[Any, ...], path: Path, depth: int
    ) -> Value:
        if isinstance(container, Mapping):
            members: dict[Any, Any] = {}
            self._made[id(container)] = members
            for key, one in container.items():
                members[key] = self.value(one, (*path, key), depth)
            return members
        items: list[Any] = []
        if isinstance(container, list):
            self._made[id(container)] = items
        items.extend(self.value(one, (*path, at), depth) for at, one in enumerate(container))
        return self._made.setdefault(
            id(container), items if isinstance(container, list) else tuple(items)
        )

    def node(self, expression: Expression, path: Path) -> Value:
        try:
            return compiled(expression).run(self._names)
        except Flaw as flaw:
            raise self._origin.error(flaw, expression, path) from flaw.__cause__

    def _text(self, text: str, path: Path) -> Value:
        try:
            parts = split(text)
            if len(parts) == 1 and isinstance(parts[0], Piece):
                return _required(parts[0], self._names)
            budget = Budget()
            pieces = [
                part if isinstance(part, str) else _as_piece(part, self._names, budget)
                for part in parts
            ]
            budget.text(sum(map(len, pieces)))
            return "".join(pieces)
        except Flaw as flaw:
            raise self._origin.error(flaw, text, path) from flaw.__cause__


def _required(piece: Piece, names: Names) -> object:
    value = with_offset(piece, names)
    if value is None:
        raise Flaw("this has no value; give one for that case: ${... ?? 'default'}", piece.start)
    return value


def _as_piece(piece: Piece, names: Names, budget: Budget) -> str:
    value = _required(piece, names)
    try:
        return as_text(value, budget)
    except Flaw as flaw:
        flaw.offset = piece.start
        raise
