"""Encode the JSON values that the fast encoder refuses, at any depth, naming the offender."""

from collections.abc import Callable, Iterator
from json.encoder import encode_basestring, encode_basestring_ascii
from math import isfinite
from typing import Any, cast

import attrs

from harness.wire.errors import JsonEncodeError
from harness.wire.text import replace_surrogates

_MAX_REQUEST_INT = 2**64 - 1
_MIN_REQUEST_INT = -(2**63)
_MAX_SHOWN_STEPS = 64


@attrs.frozen
class JsonFragment:
    """Hold JSON that is already encoded, to be spliced in by `dumps` as it is.

    `data` is trusted: one complete JSON value in UTF-8, as `dumps` returned it.
    """

    data: bytes


@attrs.define
class _Open:
    """One container being written: what is left of it, and where its reader stands."""

    rest: Iterator[tuple[object, object]]
    container: object
    closing: str
    key: object = None


def encode_exact(
    value: object,
    *,
    default: Callable[[Any], object] | None = None,
    sort_keys: bool = False,
    for_request: bool = False,
) -> bytes:
    """Encode like `dumps`, without recursion; `for_request` as in `dumps_request`.

    Raises:
        JsonEncodeError: with the path of the first offender.
    """
    return _Writer(default, sort_keys=sort_keys, for_request=for_request).write(value)


class _Writer:
    """Write one value.

    Invariants:
        - `_open` holds the containers from the root down to the place being written.
        - `_ids` holds the identities of exactly those containers, so a cycle is seen at once.
    """

    def __init__(
        self, default: Callable[[Any], object] | None, *, sort_keys: bool, for_request: bool
    ) -> None:
        self._default = default
        self._sort_keys = sort_keys
        self._for_request = for_request
        self._out: list[str] = []
        self._open: list[_Open] = []
        self._ids: set[int] = set()

    def write(self, value: object) -> bytes:
        self._value(value)
        while self._open:
            top = self._open[-1]
            try:
                key, item = next(top.rest)
            except StopIteration:
                self._out.append(top.closing)
                self._ids.discard(id(top.container))
                self._open.pop()
                continue
            if top.key is not None:
                self._out.append(",")
            if top.closing == "}":
                self._name(key)
            top.key = key
            self._value(item)
        return "".join(self._out).encode()

    def _value(self, value: object) -> None:
        while True:
            text = self._scalar(value)
            if text is not None:
                self._out.append(text)
                return
            if isinstance(value, dict):
                members = cast("dict[object, object]", value)
                pairs = members.items()
                ordered = sorted(pairs, key=_name_order) if self._sort_keys else pairs
                self._enter(members, iter(ordered), "{}")
                return
            if isinstance(value, list | tuple):
                items = cast("list[object]", value)
                self._enter(items, enumerate(items), "[]")
                return
            if self._default is None:
                kind = type(value).__qualname__
                raise self._refuse(f"an object of type {kind} has no JSON form")
            value = self._default(value)

    def _scalar(self, value: object) -> str | None:
        """Return the text of anything but a container or a foreign object, else None."""
        if value is None:
            return "null"
        if isinstance(value, bool):
            return "true" if value else "false"
        if isinstance(value, str):
            return self._text(value)
        if isinstance(value, int):
            if self._for_request and not _MIN_REQUEST_INT <= value <= _MAX_REQUEST_INT:
                raise self._refuse("an integer beyond 64 bits would be rounded by the receiver")
            return int.__repr__(value)
        if isinstance(value, float):
            if not isfinite(value):
                raise self._refuse(f"{value!r} has no JSON form")
            if value == 0.0 and str(value) == "-0.0":
                raise self._refuse("-0.0 does not survive every JSON reader; write 0.0")
            return float.__repr__(value)
        return value.data.decode() if type(value) is JsonFragment else None

    def _text(self, value: str) -> str:
        if self._for_request:
            return encode_basestring(replace_surrogates(value))
        return encode_basestring_ascii(value)

    def _name(self, key: object) -> None:
        if not isinstance(key, str):
            self._open[-1].key = None
            raise self._refuse(f"the key {key!r} is no string")
        self._out.append(self._text(key) + ":")

    def _enter(self, value: object, rest: Iterator[tuple[object, object]], pair: str) -> None:
        if id(value) in self._ids:
            raise self._refuse("the value contains itself")
        self._ids.add(id(value))
        self._out.append(pair[0])
        self._open.append(_Open(rest, value, pair[1]))

    def _refuse(self, reason: str) -> JsonEncodeError:
        steps = [
            f"[{level.key}]" if level.closing == "]" else f".{level.key}"
            for level in self._open[:_MAX_SHOWN_STEPS]
            if level.key is not None
        ]
        path = "$" + "".join(steps) + ("…" if len(self._open) > _MAX_SHOWN_STEPS else "")
        return JsonEncodeError(f"cannot write JSON at {path}: {reason}", path=path)


def _name_order(member: tuple[object, object]) -> str:
    return str(member[0])
