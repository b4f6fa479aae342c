"""Operators on plain values, each with the limit that keeps its result small."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias, cast

from vendor_shims.cordis import Context, Service

from .expression import Value
from .flaw import Flaw
from .limits import MAX_DEPTH, MAX_TEXT_CHARS, MAX_WIDTH, Budget

Number: TypeAlias = int | float
_SPEC = re.compile(
    r"(?:.?[<>=^])?[-+ ]?z?\#?0?(\d*)[,_]?(?:\.(\d+))?[bcdeEfFgGosxX%]?", re.ASCII | re.DOTALL
)


def kind(value: object) -> str:
    """Return the name of a value's type, which is all that a message may say about it."""
    return "None" if value is None else type(value).__name__


def is_plain(value: object) -> bool:
    """Return whether a value is what a configuration may hold: text, number, list, mapping."""
    return value is None or isinstance(value, str | int | float | list | tuple | Mapping)


def require_plain(value: object) -> None:
    """Raise `Flaw` for a service or another object, with which nothing can be computed."""
    if not is_plain(value):
        raise Flaw(f"nothing can be computed with a {kind(value)}; read one of its members")


def truth(value: object) -> bool:
    """Return whether a value counts as true; objects always do, without being asked."""
    return bool(value) if is_plain(value) else True


def equal(left: object, right: object) -> bool:
    """Return whether two plain values are equal."""
    require_plain(left)
    require_plain(right)
    return left == right


def add(left: object, right: object, budget: Budget) -> object:
    """Add numbers, join texts, or join lists."""
    if isinstance(left, Number) and isinstance(right, Number):
        return bounded(left + right, budget)
    if isinstance(left, str) and isinstance(right, str):
        budget.text(len(left) + len(right))
        return left + right
    if isinstance(left, list) and isinstance(right, list):
        budget.items(len(cast("list[Any]", left)) + len(cast("list[Any]", right)))
        return cast("list[Any]", left) + cast("list[Any]", right)
    if isinstance(left, tuple) and isinstance(right, tuple):
        both = cast("tuple[Any, ...]", left), cast("tuple[Any, ...]", right)
        budget.items(sum(map(len, both)))
        return both[0] + both[1]
    raise _mismatch("+", cast("object", left), right)


def multiply(left: object, right: object, budget: Budget) -> object:
    """Multiply numbers, or repeat a text."""
    if isinstance(left, Number) and isinstance(right, Number):
        if isinstance(left, int) and isinstance(right, int):
            # A product with 0 or 1 is no longer than its other factor.
            budget.bits(max(left.bit_length() + right.bit_length() - 1, 0))
        return bounded(left * right, budget)
    text, times = (right, left) if isinstance(right, str) else (left, right)
    if isinstance(text, str) and isinstance(times, int):
        budget.text(len(text) * max(times, 0))
        return text * times
    raise _mismatch("*", left, right)


def _numeric(sign: str, compute: Callable[[Any, Any], Any]) -> Callable[..., object]:
    def operate(left: object, right: object, budget: Budget) -> object:
        if isinstance(left, Number) and isinstance(right, Number):
            return bounded(compute(left, right), budget)
        if sign == "%" and isinstance(left, str):
            raise Flaw('texts are not formatted with %; write f"...{value}..."')
        raise _mismatch(sign, left, right)

    return operate


BINARY: dict[type[ast.operator], Callable[[object, object, Budget], object]] = {
    ast.Add: add,
    ast.Mult: multiply,
    ast.Sub: _numeric("-", lambda left, right: left - right),
    ast.Div: _numeric("/", lambda left, right: left / right),
    ast.FloorDiv: _numeric("//", lambda left, right: left // right),
    ast.Mod: _numeric("%", lambda left, right: left % right),
}


def _ordering(sign: str, compute: Callable[[Any, Any], bool]) -> Callable[[object, object], bool]:
    def operate(left: object, right: object) -> bool:
        for sort in (Number, str, list, tuple):
            if isinstance(left, sort) and isinstance(right, sort):
                return compute(left, right)
        raise _mismatch(sign, left, right)

    return operate


ORDER: dict[type[ast.cmpop], Callable[[object, object], bool]] = {
    ast.Lt: _ordering("<", lambda left, right: left < right),
    ast.LtE: _ordering("<=", lambda left, right: left <= right),
    ast.Gt: _ordering(">", lambda left, right: left > right),
    ast.GtE: _ordering(">=", lambda left, right: left >= right),
}


def contains(container: object, value: object) -> bool:
    """Return whether a text, list or mapping contains a value."""
    require_plain(value)
    if isinstance(container, str) and isinstance(value, str):
        return value in container
    if isinstance(container, list | tuple | Mapping):
        return value in cast("Sequence[object]", container)
    raise _mismatch("in", value, container)


def negative(value: object) -> Number:
    """Return the negative of a number."""
    return -number(value, "-")


def number(value: object, sign: str) -> Number:
    """Return a value that has to be a number."""
    if isinstance(value, Number):
        return value
    raise Flaw(f"{sign} needs a number, not {kind(value)}")


def bounded(value: Number, budget: Budget) -> Number:
    """Return a number, unless it is too large."""
    if isinstance(value, int):
        budget.bits(value.bit_length())
    return value


def item(holder: object, index: object, budget: Budget) -> object:
    """Return an item by index or key, or a range of a text or list."""
    if isinstance(holder, Mapping):
        members = cast("Mapping[object, object]", holder)
        if index in members:
            return members[index]
        raise Flaw("the mapping has no such key; .get(key, default) allows for that")
    if not isinstance(holder, str | list | tuple):
        raise Flaw(f"a {kind(holder)} has no items")
    if not isinstance(index, int | slice):
        raise Flaw(f"an item of a {kind(cast('object', holder))} has a number, not {kind(index)}")
    sequence = cast("Sequence[object]", holder)
    if isinstance(index, int) and not -len(sequence) <= index < len(sequence):
        raise Flaw(f"there is no item {index} among {len(sequence)}")
    found = sequence[index]
    if isinstance(found, str):
        budget.text(len(found))
    return found


def as_text(value: object, budget: Budget) -> str:
    """Return a plain value as Python writes it."""
    require_plain(value)
    if isinstance(value, str):
        return value
    budget.text(weight(value))
    made = str(value)
    budget.text(len(made))
    return made


def formatted(value: object, spec: str, budget: Budget) -> str:
    """Return a plain value under the format of an f-string."""
    if not spec:
        return as_text(value, budget)
    if not isinstance(value, str | int | float):
        raise Flaw(f"a {kind(value)} has no format")
    found = _SPEC.fullmatch(spec)
    # Digits are counted before they are read: a width may have thousands of them.
    sizes = [] if found is None else [digits for digits in found.groups() if digits]
    if found is None or any(len(size) > len(str(MAX_WIDTH)) for size in sizes):
        raise Flaw(f"not a format, or one wider than {MAX_WIDTH}")
    if any(int(size) > MAX_WIDTH for size in sizes):
        raise Flaw(f"a format may be at most {MAX_WIDTH} wide")
    made = format(value, spec)
    budget.text(len(made))
    return made


def weight(value: object) -> int:
    """Return about how many characters a plain value has, without writing it; bounds its depth."""
    total = 0
    waiting: list[tuple[object, int]] = [(value, 1)]
    while waiting:
        one, depth = waiting.pop()
        if total > MAX_TEXT_CHARS:
            raise Flaw(f"a text may have at most {MAX_TEXT_CHARS} characters")
        if depth > MAX_DEPTH:
            raise Flaw(f"a value may be at most {MAX_DEPTH} levels deep")
        total += len(one) if isinstance(one, str) else 4
        if isinstance(one, Mapping):
            members = cast("Mapping[object, object]", one)
            waiting.extend((key, depth + 1) for pair in members.items() for key in pair)
        elif isinstance(one, list | tuple):
            waiting.extend((each, depth + 1) for each in cast("Sequence[object]", one))
    return total


def _mismatch(sign: str, left: object, right: object) -> Flaw:
    return Flaw(f"{sign} does not go with {kind(left)} and {kind(right)}")


def detached(value: object, depth: int = 1) -> Value:
    """Return a value with lists and mappings of its own, so that nobody shares what it holds.

    Raises:
        Flaw: it is or holds a service or a context, or is too deep.
    """
    if depth > MAX_DEPTH:
        raise Flaw(f"a value may be at most {MAX_DEPTH} levels deep")
    if isinstance(value, Mapping):
        members = cast("Mapping[Any, Any]", value)
        return {key: detached(one, depth + 1) for key, one in members.items()}
    if isinstance(value, list | tuple):
        items = [detached(one, depth + 1) for one in cast("Sequence[Any]", value)]
        return items if isinstance(value, list) else tuple(items)
    if isinstance(value, Service | Context):
        raise Flaw(f"a {kind(value)} is not a value for configuration; read one of its members")
    return value
