"""Copy foreign values into frozen, lossless JSON, in one pass and at any depth."""

from __future__ import annotations

from collections.abc import Iterator
from math import copysign, isfinite
from typing import Any, cast

import attrs

from harness.wire.errors import NotJsonError
from harness.wire.frozen import MAX_PLAIN_DEPTH, DeepTuple, FrozenDict, Json
from harness.wire.text import has_lone_surrogate

MAX_SAFE_INTEGER = 2**53 - 1
_FAST_DEPTH = 100
_MAX_SHOWN_STEPS = 20


@attrs.define
class _Open:
    """One container being copied: the source, what is left of it, and the copy so far."""

    source: object
    rest: Iterator[tuple[Any, Any]]
    is_object: bool
    keys: list[str] = attrs.field(factory=list)
    items: list[Any] = attrs.field(factory=list)
    step: object = ""

    def close(self, depth: int) -> FrozenDict | tuple[Any, ...]:
        """Return the frozen copy; `depth` is the number of containers around it."""
        if self.is_object:
            return FrozenDict(zip(self.keys, self.items, strict=True))
        return DeepTuple(self.items) if depth > MAX_PLAIN_DEPTH else tuple(self.items)


def snapshot_json(value: Json, *, allow_surrogates: bool = True) -> Json:
    """Return a deeply frozen copy: objects as `FrozenDict`, lists and tuples as tuples.

    Every nested value is read once. Accepted are None, booleans, strings, integers within
    ±(2**53 - 1), finite floats but -0.0, lists, tuples and dictionaries with string keys.

    Raises:
        NotJsonError: the value holds anything else, contains itself, or (unless
            `allow_surrogates`) holds text that has no UTF-8 form.
    """
    try:
        return _plain(value, _FAST_DEPTH, allow_surrogates=allow_surrogates)
    except (_NotPlainError, RuntimeError):  # reading what was read so far has no side effects
        return _Copier(allow_surrogates=allow_surrogates).copy(value)


class _NotPlainError(Exception):
    """Says that a value is no ordinary one: deep, refused, or of a type of its own."""


def _plain(value: Json, n_levels: int, *, allow_surrogates: bool) -> Json:
    """Copy what nearly every value is made of, at a third of what the exact way costs.

    Raises:
        _NotPlainError: the value may be refused, or is deeper than `n_levels`.
    """
    kind = cast("type[object]", type(value))
    if kind is str:
        if not allow_surrogates and has_lone_surrogate(value):
            raise _NotPlainError
        return value
    if value is None or kind is bool:
        return value
    if kind is int and -MAX_SAFE_INTEGER <= value <= MAX_SAFE_INTEGER:
        return value
    if kind is float and isfinite(value) and (value or copysign(1, value) > 0):
        return value
    if n_levels == 0:
        raise _NotPlainError
    if kind is FrozenDict or kind is dict:
        copied: dict[str, Any] = {}
        for key, item in cast("dict[Any, Any]", value).items():
            if type(key) is not str or (not allow_surrogates and has_lone_surrogate(key)):
                raise _NotPlainError
            copied[key] = _plain(item, n_levels - 1, allow_surrogates=allow_surrogates)
        return FrozenDict(copied)
    if kind is list or kind is tuple:
        items = cast("list[Any]", value)
        return tuple(
            [_plain(item, n_levels - 1, allow_surrogates=allow_surrogates) for item in items]
        )
    raise _NotPlainError


class _Copier:
    """Copy one value of any kind, or say what is wrong with it.

    Invariants: `_open` holds the containers from the root down to the place being read; `_ids`
    holds the identities of exactly those, so that a cycle is seen at once.
    """

    def __init__(self, *, allow_surrogates: bool) -> None:
        self._allow_surrogates = allow_surrogates
        self._open: list[_Open] = []
        self._ids: set[int] = set()

    def copy(self, value: Json) -> Json:
        self._start(value)  # opens a container, or refuses: other scalars never get here
        while True:
            top = self._open[-1]
            try:
                step, item = next(top.rest)
            except StopIteration:
                self._open.pop()
                self._ids.discard(id(top.source))
                copied = top.close(len(self._open))
                if not self._open:
                    return copied
                self._open[-1].items.append(copied)
                continue
            except RuntimeError as error:  # a dictionary that changes while it is read
                raise self._refuse("changed while it was read") from error
            top.step = step
            if top.is_object:
                self._check_key(step)
                top.keys.append(step)
            done, copied = self._start(item)
            if done:
                top.items.append(copied)

    def _start(self, value: Json) -> tuple[bool, Json]:
        """Copy a scalar, or open a container; the first member tells which."""
        kind = cast("type[object]", type(value))
        if value is None or kind is bool:
            return True, value
        if kind is str:
            self._check_text(value)
            return True, value
        if kind is int:
            if not -MAX_SAFE_INTEGER <= value <= MAX_SAFE_INTEGER:
                raise self._refuse("is an integer beyond 2**53 - 1, which JSON readers round")
            return True, value
        if kind is float:
            if not isfinite(value) or (value == 0.0 and str(value) == "-0.0"):
                raise self._refuse(f"is {value!r}, which is no finite JSON number")
            return True, value
        if isinstance(value, dict):
            source = cast("dict[Any, Any]", value)
            self._enter(source, _members(source), is_object=True)
            return False, None
        if kind is list or kind is tuple or kind is DeepTuple:
            self._enter(value, iter(enumerate(cast("list[Any]", value))), is_object=False)
            return False, None
        raise self._refuse(f"is of type {kind.__qualname__}, which has no JSON form")

    def _enter(self, source: object, rest: Iterator[tuple[Any, Any]], *, is_object: bool) -> None:
        if id(source) in self._ids:
            raise self._refuse("contains itself")
        self._ids.add(id(source))
        self._open.append(_Open(source, rest, is_object))

    def _check_key(self, key: object) -> None:
        if type(key) is not str:
            raise self._refuse("has a key that is no string")
        self._check_text(key)

    def _check_text(self, text: str) -> None:
        if not self._allow_surrogates and has_lone_surrogate(text):
            raise self._refuse("holds an unpaired surrogate, which cannot be written as UTF-8")

    def _refuse(self, reason: str) -> NotJsonError:
        return NotJsonError(reason, self._path())

    def _path(self) -> str:
        """Return the place being read; very deep places are shown by their first steps."""
        path = ""
        for level in self._open[:_MAX_SHOWN_STEPS]:
            if not level.is_object:
                path += f"[{level.step}]"
            else:
                path += f".{level.step!s:.60}" if path else f"{level.step!s:.60}"
        return path + ("…" if len(self._open) > _MAX_SHOWN_STEPS else "")


def _members(source: dict[Any, Any]) -> Iterator[tuple[Any, Any]]:
    """Read each member once; a subclass may compute its values, and what it gives is kept."""
    if type(source) is dict or type(source) is FrozenDict:
        return iter(source.items())
    return ((key, source[key]) for key in source)
