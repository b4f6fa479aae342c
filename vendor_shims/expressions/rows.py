"""Checking a row's expressions before anything is mounted."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, cast

from .errors import ExpressionError, Path
from .expression import Expression, Value
from .interpolate import Origin
from .limits import MAX_DEPTH
from .template import OPENING

_EVALUATED = frozenset(("config", "disabled"))


def check_row(row: Mapping[str, Any], *, file: str | None = None, templates: bool = True) -> None:
    """Refuse expressions where none is evaluated, and those that could never run.

    Only `config` and `disabled` are evaluated. Elsewhere an expression would be an object that
    merely counts as true. The rows of a group are checked like the row itself.

    Args:
        row: the options of one row.
        file: the file of the row, for messages.
        templates: check `${...}` in texts too.

    Raises:
        ExpressionError: names file, row and key, and shows the source.
    """
    _check(row, file, (), templates=templates)


def _check(row: Mapping[str, Any], file: str | None, path: Path, *, templates: bool) -> None:
    row_id = row.get("id")
    origin = Origin(row_id if isinstance(row_id, str) else None, file)
    if len(path) > MAX_DEPTH:
        problem = f"rows may stand at most {MAX_DEPTH // 2} groups deep"
        raise ExpressionError(problem, row=origin.row, file=file)
    for key, value in row.items():
        here = (*path, key)
        if key == "config" and row.get("group") is True and isinstance(value, list):
            for at, inner in enumerate(cast("list[Any]", value)):
                if isinstance(inner, Mapping):
                    _check(cast("Mapping[str, Any]", inner), file, (*here, at), templates=templates)
                else:
                    _walk(inner, origin, (*here, at), is_evaluated=False, templates=templates)
        else:
            is_evaluated = key in _EVALUATED
            _walk(value, origin, here, is_evaluated=is_evaluated, templates=templates)


def _walk(value: Value, origin: Origin, path: Path, *, is_evaluated: bool, templates: bool) -> None:
    """Check each expression below a value, whatever its depth; containers once."""
    seen: set[int] = set()
    waiting: list[tuple[Any, Path]] = [(value, path)]
    while waiting:
        one, here = waiting.pop()
        if isinstance(one, Expression):
            if not is_evaluated:
                raise _misplaced(one, origin, here)
            origin.check(one, here)
        elif isinstance(one, str):
            if is_evaluated and templates and OPENING in one:
                origin.check(one, here)
        elif isinstance(one, Mapping | list | tuple) and id(cast("object", one)) not in seen:
            seen.add(id(cast("object", one)))
            waiting.extend(_members(cast("Any", one), origin, here))


def _members(container: Value, origin: Origin, path: Path) -> list[tuple[Any, Path]]:
    """Return what a container holds with its path, last first."""
    pairs: Iterable[tuple[Any, Any]]
    if isinstance(container, Mapping):
        pairs = cast("Mapping[Any, Any]", container).items()
    else:
        pairs = enumerate(cast("list[Any]", container))
    members: list[tuple[Any, Path]] = []
    for key, value in pairs:
        if isinstance(key, Expression):
            raise _misplaced(key, origin, path)
        members.append((value, (*path, key)))
    return members[::-1]


def _misplaced(expression: Expression, origin: Origin, path: Path) -> ExpressionError:
    return ExpressionError(
        "an expression may stand only in `config` and `disabled`, as a value",
        source=expression.source,
        place=expression.place,
        file=origin.file,
        row=origin.row,
        path=path,
    )
