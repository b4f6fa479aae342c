"""The functions and methods that an expression may call."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, cast

from .flaw import Flaw
from .json_text import read_json
from .limits import MAX_ITEMS, Budget
from .names import Names
from .operations import as_text, bounded, kind, truth

_MAX_INT_CHARS = 1_300
"""Longer than any number below the limit, in the bases from 10 up."""

_MAX_STRIPPED = 100
"""Each character of a text may be compared with each that strip() removes."""


class Scope(NamedTuple):
    """What functions see besides their arguments."""

    names: Names
    budget: Budget


class Function(NamedTuple):
    """A callable `run(scope, arguments)` with its least and greatest number of arguments."""

    usage: str
    least: int
    most: int
    run: Callable[[Scope, Sequence[Any]], object]

    def accepts(self, n_arguments: int) -> bool:
        """Return whether it takes that many arguments."""
        return self.least <= n_arguments <= self.most


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise Flaw(f"a text is needed, not {kind(value)}")
    return value


def _texts(scope: Scope, values: Sequence[Any]) -> list[str]:
    texts = [_text(value) for value in values]
    scope.budget.text(sum(map(len, texts)) + len(texts))
    return texts


def _cwd(scope: Scope, _: Sequence[Any]) -> str:
    return scope.names.current_folder()


def _join_path(scope: Scope, arguments: Sequence[Any]) -> str:
    return os.path.join(*_texts(scope, arguments))


def _json(_: Scope, arguments: Sequence[Any]) -> object:
    return read_json(_text(arguments[0]))


def _str(scope: Scope, arguments: Sequence[Any]) -> str:
    return as_text(arguments[0], scope.budget)


def _bool(_: Scope, arguments: Sequence[Any]) -> bool:
    return truth(arguments[0])


def _env(scope: Scope, arguments: Sequence[Any]) -> object:
    name, *default = arguments
    return scope.names.env.get(_text(name), *default)


def _dsh_home_path(scope: Scope, arguments: Sequence[Any]) -> str:
    if scope.names.home is None:
        raise Flaw("the program has no home folder here")
    return os.path.join(scope.names.home, *_texts(scope, arguments))


def _require_scalar(name: str, value: object) -> None:
    if not isinstance(value, str | int | float):
        raise Flaw(f"{name}() cannot read a value of type {kind(value)}")


def _int(scope: Scope, arguments: Sequence[Any]) -> object:
    value, *base = arguments
    _require_scalar("int", value)
    if not all(isinstance(one, int) for one in base):
        raise Flaw("the base of a number is a number")
    if isinstance(value, str) and len(value) > _MAX_INT_CHARS:
        raise Flaw("int() takes no text as long as that")
    try:
        return bounded(int(value, *base), scope.budget)
    except (ValueError, TypeError, OverflowError):
        raise Flaw(f"int() cannot read this {kind(value)}") from None


def _float(_: Scope, arguments: Sequence[Any]) -> float:
    _require_scalar("float", arguments[0])
    try:
        return float(arguments[0])
    except (ValueError, OverflowError):
        raise Flaw(f"float() cannot read this {kind(arguments[0])}") from None


def _len(_: Scope, arguments: Sequence[Any]) -> int:
    value = arguments[0]
    if isinstance(value, str | list | tuple | Mapping):
        return len(cast("Sequence[Any]", value))
    raise Flaw(f"a {kind(value)} has no length")


def _extreme(pick: Callable[[Any], Any]) -> Callable[[Scope, Sequence[Any]], object]:
    def run(_: Scope, arguments: Sequence[Any]) -> object:
        given = arguments[0] if len(arguments) == 1 else arguments
        if not isinstance(given, list | tuple) or not given:
            raise Flaw("values, or one list of them, are needed")
        values = cast("Sequence[Any]", given)
        for sort in (int | float, str):
            if all(isinstance(value, sort) for value in values):
                return pick(values)
        raise Flaw("only numbers, or only texts, can be compared")

    return run


FUNCTIONS: dict[str, Function] = {
    "env": Function('env("NAME", "default")', 1, 2, _env),
    "cwd": Function("cwd()", 0, 0, _cwd),
    "dsh_home_path": Function('dsh_home_path("folder", "file")', 0, MAX_ITEMS, _dsh_home_path),
    "path.join": Function('path.join("folder", "file")', 1, MAX_ITEMS, _join_path),
    "json": Function("json(text)", 1, 1, _json),
    "int": Function("int(value) or int(text, base)", 1, 2, _int),
    "float": Function("float(value)", 1, 1, _float),
    "str": Function("str(value)", 1, 1, _str),
    "bool": Function("bool(value)", 1, 1, _bool),
    "len": Function("len(value)", 1, 1, _len),
    "min": Function("min(list) or min(a, b)", 1, MAX_ITEMS, _extreme(min)),
    "max": Function("max(list) or max(a, b)", 1, MAX_ITEMS, _extreme(max)),
}


def _cased(change: Callable[[str], str]) -> Callable[[Scope, Sequence[Any]], str]:
    def run(scope: Scope, arguments: Sequence[Any]) -> str:
        text = _text(arguments[0])
        changed = change(text)
        scope.budget.text(len(changed))
        return changed

    return run


def _strip(scope: Scope, arguments: Sequence[Any]) -> str:
    text, *characters = arguments
    scope.budget.text(len(_text(text)))
    if characters and len(_text_or_none(characters[0]) or "") > _MAX_STRIPPED:
        raise Flaw(f"strip() takes at most {_MAX_STRIPPED} characters")
    return text.strip(*map(_text_or_none, characters))


def _split(scope: Scope, arguments: Sequence[Any]) -> list[str]:
    text, separator, most = _text(arguments[0]), *arguments[1:], *(None, -1)[len(arguments) - 1 :]
    if separator == "":
        raise Flaw("a text cannot be split at nothing")
    if not isinstance(most, int):
        raise Flaw(f"the number of splits is a number, not {kind(most)}")
    scope.budget.text(len(text))
    # One more than allowed is enough to know that there are too many.
    parts = text.split(_text_or_none(separator), MAX_ITEMS if most < 0 else min(most, MAX_ITEMS))
    scope.budget.items(len(parts))
    return parts


def _join(scope: Scope, arguments: Sequence[Any]) -> str:
    separator, items = _text(arguments[0]), arguments[1]
    if not isinstance(items, list | tuple):
        raise Flaw(f"join() needs a list of texts, not {kind(items)}")
    texts = [_text(one) for one in cast("Sequence[Any]", items)]
    scope.budget.text(sum(map(len, texts)) + len(separator) * max(len(texts) - 1, 0))
    return separator.join(texts)


def _replace(scope: Scope, arguments: Sequence[Any]) -> str:
    text, old, new = map(_text, arguments)
    scope.budget.text(len(text) + text.count(old) * (len(new) - len(old)))
    return text.replace(old, new)


def _affix(test: Callable[[str, Any], bool]) -> Callable[[Scope, Sequence[Any]], bool]:
    def run(_: Scope, arguments: Sequence[Any]) -> bool:
        text, affixes = arguments
        if not isinstance(affixes, tuple):
            return test(_text(text), _text(affixes))
        return test(_text(text), tuple(map(_text, cast("tuple[Any, ...]", affixes))))

    return run


def _get(_: Scope, arguments: Sequence[Any]) -> object:
    members, key, *default = arguments
    if not isinstance(members, Mapping):
        raise Flaw(f"get() belongs to mappings, not to {kind(members)}")
    return cast("Mapping[Any, Any]", members).get(key, *default)


def _text_or_none(value: object) -> str | None:
    return None if value is None else _text(value)


METHODS: dict[str, Function] = {
    "lower": Function("text.lower()", 0, 0, _cased(str.lower)),
    "upper": Function("text.upper()", 0, 0, _cased(str.upper)),
    "strip": Function("text.strip() or text.strip(characters)", 0, 1, _strip),
    "split": Function("text.split(separator, most)", 0, 2, _split),
    "join": Function("separator.join(texts)", 1, 1, _join),
    "replace": Function("text.replace(old, new)", 2, 2, _replace),
    "startswith": Function("text.startswith(start)", 1, 1, _affix(str.startswith)),
    "endswith": Function("text.endswith(end)", 1, 1, _affix(str.endswith)),
    "get": Function("mapping.get(key, default)", 1, 2, _get),
}
"""The value that a method belongs to is the first of its arguments, and is not counted."""
