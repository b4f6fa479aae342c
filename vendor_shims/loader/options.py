"""The options of a row: what they may be, and how two versions of them differ."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import Any, TypeAlias, cast

from vendor_shims.cordis import normalise_inject
from vendor_shims.loader.errors import DuplicateEntry, InvalidEntry

Options: TypeAlias = dict[str, Any]
"""One row: `id`, `name`, `config`, `group`, `disabled`, `inject`, `intercept`, `isolate`."""

KNOWN = frozenset(("id", "name", "config", "group", "disabled", "inject", "intercept", "isolate"))
"""The option keys that mean something; others are kept and written back."""

_MAPPINGS = ("intercept", "isolate")

_Problem: TypeAlias = tuple[tuple[str, ...], str]
"""What is wrong with a row: keys that lead to it, and a sentence."""


def checked(row: object) -> Options:
    """Return a copy of a row without the options that are `None`.

    Raises:
        InvalidEntry: it is no mapping, has no plugin name, or an option has a wrong type.
    """
    if not isinstance(row, Mapping):
        raise InvalidEntry(f"expected a row with id and name, got {type(row).__name__}")
    given = cast("Mapping[str, Any]", row)
    options = {key: value for key, value in given.items() if value is not None}
    found = next(chain(_naming_problems(options), _option_problems(options)), None)
    if found is None:
        return options
    keys, problem = found
    entry_id = options.get("id", "?")
    raise InvalidEntry(f"row {entry_id!r}: {problem}", entry_id=entry_id, keys=keys)


def _naming_problems(options: Options) -> Iterator[_Problem]:
    """Return what is wrong with id and name."""
    for key in ("id", "name"):
        if key in options and not (isinstance(options[key], str) and options[key]):
            yield (key,), f"{key} must be a text, got {options[key]!r}"
    if "name" not in options:
        yield (), "it names no plugin; add `name`"
    if ":" in str(options.get("id")):
        yield ("id",), "an id has no `:`, which leads into nested trees"


def _option_problems(options: Options) -> Iterator[_Problem]:
    """Return what is wrong with the other options."""
    for key in _MAPPINGS:
        if not isinstance(options.get(key, {}), Mapping):
            yield (key,), f"{key} must be a mapping of service names"
    given = options.get("isolate")
    isolate: Mapping[str, Any] = {}
    if isinstance(given, Mapping):
        isolate = cast("Mapping[str, Any]", given)
    for name, label in isolate.items():
        if not (label is None or isinstance(label, bool) or (isinstance(label, str) and label)):
            yield ("isolate", name), f"isolate.{name} must be true or a label, got {label!r}"
    if not isinstance(options.get("group", False), bool):
        yield ("group",), "group must be true or false"
    disabled = options.get("disabled", False)
    if not _is_switch(disabled):
        yield ("disabled",), f"disabled must be true, false or an expression, got {disabled!r}"
    try:
        normalise_inject(options.get("inject"))
    except (TypeError, ValueError) as error:
        yield ("inject",), f"inject must be a list or mapping of service names: {error}"


def _is_switch(value: object) -> bool:
    """Return whether a row can be switched by a value; of JSON's, a boolean or a template can."""
    if isinstance(value, str):
        return "${" in value
    return isinstance(value, bool) or not isinstance(value, int | float | list | tuple | Mapping)


def unknown(options: Mapping[str, Any]) -> list[str]:
    """Return the keys of a row that mean nothing here."""
    return sorted(options.keys() - KNOWN)


def ordered(options: Options) -> Options:
    """Return the options as they are written: id, name, the others by name, config last."""
    first = [key for key in ("id", "name") if key in options]
    last = [key for key in ("config",) if key in options]
    middle = sorted(key for key in options if key not in (*first, *last))
    return {key: options[key] for key in (*first, *middle, *last)}


def changed_keys(old: Mapping[str, Any], new: Mapping[str, Any]) -> set[str]:
    """Return which options differ; `None` is the same as absent."""
    return {key for key in {*old, *new} if not same(old.get(key), new.get(key))}


def same(one: object, other: object) -> bool:
    """Return whether two config values are equal: types too, and `None` like an absent member."""
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        left, right = cast("Mapping[Any, Any]", one), cast("Mapping[Any, Any]", other)
        return all(same(left.get(key), right.get(key)) for key in {*left, *right})
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        ones, others = cast("list[Any]", one), cast("list[Any]", other)
        return len(ones) == len(others) and all(map(same, ones, others))
    if isinstance(one, bool) is not isinstance(other, bool):
        return False
    return one is other or bool(one == other)


def require_distinct(ids: Iterable[str]) -> None:
    """Raise `DuplicateEntry` when an id comes twice."""
    seen: set[str] = set()
    for entry_id in ids:
        if entry_id in seen:
            raise DuplicateEntry(entry_id)
        seen.add(entry_id)
