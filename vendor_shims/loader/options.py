"""The options of a row: what they may be, and how two versions of them differ."""

from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias, cast

from vendor_shims.cordis import normalise_inject
from vendor_shims.loader.errors import DuplicateEntry, InvalidEntry

Options: TypeAlias = dict[str, Any]
"""One row: `id`, `name`, `config`, `group`, `disabled`, `inject`, `intercept`, `isolate`."""

KNOWN = frozenset(("id", "name", "config", "group", "disabled", "inject", "intercept", "isolate"))
"""The option keys that mean something; others are kept and written back."""

_MAPPINGS = ("intercept", "isolate")


def checked(row: object) -> Options:  # noqa: C901 - one rule after another
    """Return a copy of a row without the options that are `None`.

    Raises:
        InvalidEntry: it is no mapping, has no plugin name, or an option has a wrong type.
    """
    if not isinstance(row, Mapping):
        raise InvalidEntry(f"expected a row with id and name, got {type(row).__name__}")
    given = cast("Mapping[str, Any]", row)
    options = {key: value for key, value in given.items() if value is not None}
    entry_id = options.get("id", "?")

    def refused(problem: str, key: str | None = None) -> InvalidEntry:
        return InvalidEntry(f"row {entry_id!r}: {problem}", entry_id=entry_id, key=key)

    for key in ("id", "name"):
        if key in options and not (isinstance(options[key], str) and options[key]):
            raise refused(f"{key} must be a text, got {options[key]!r}", key)
    if "name" not in options:
        raise refused("it names no plugin; add `name`")
    if ":" in entry_id:
        raise refused("an id has no `:`, which leads into nested trees", "id")
    for key in _MAPPINGS:
        if key in options and not isinstance(options[key], Mapping):
            raise refused(f"{key} must be a mapping of service names", key)
    for name, label in options.get("isolate", {}).items():
        if label is not None and not (
            isinstance(label, bool) or (isinstance(label, str) and label)
        ):
            raise refused(f"isolate.{name} must be true or a label, got {label!r}", "isolate")
    if "group" in options and not isinstance(options["group"], bool):
        raise refused("group must be true or false", "group")
    if not _is_switch(options.get("disabled", False)):
        written = repr(options["disabled"])
        raise refused(f"disabled must be true, false or an expression, got {written}", "disabled")
    if (problem := _inject_problem(options.get("inject"))) is not None:
        raise refused(f"inject must be a list or mapping of service names: {problem}", "inject")
    return options


def _is_switch(value: object) -> bool:
    """Return whether a row can be switched by a value; a text must be an expression."""
    return not isinstance(value, str) or "${" in value


def _inject_problem(declared: object) -> str | None:
    try:
        normalise_inject(declared)
    except (TypeError, ValueError) as error:
        return str(error)
    return None


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
