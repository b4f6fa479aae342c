"""Apply patches to rows, and remember which layer supplied what."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias, cast

from .document import Row
from .values import Value, detached, is_group, merged, stable_id

Patch: TypeAlias = Row
"""A change of rows: `{id, ...}`, `{insert}`, `{id, insert}`, each with what the README lists."""

ROW_KEYS = frozenset(
    ("id", "name", "config", "group", "disabled", "inject", "intercept", "isolate")
)
_INSERT_KEYS = frozenset(("id", "insert", "before", "after"))
_PATCH_KEYS = ROW_KEYS | {"merge", "remove"}


class Source(NamedTuple):
    """Where a part of a row came from.

    Attributes:
        origin: of the list of patches; whatever the caller gave.
        path: keys and indexes from the list of patches to the value.
        keys: keys from the row to the value.
        is_whole: it replaced what was there, rather than being merged into it.
    """

    origin: int
    path: tuple[str | int, ...]
    keys: tuple[str, ...] = ()
    is_whole: bool = True


class Problem(NamedTuple):
    """A patch that could not be applied, or one with a key that means nothing.

    Attributes:
        message: what is wrong.
        origin: as given with the patch, and `number` its index there.
        id: the id that it wants, if one is missing or does not fit.
        is_skipped: whether nothing of the patch was applied.
    """

    message: str
    origin: int
    number: int
    id: str | None = None
    is_skipped: bool = True


@dataclass(slots=True)
class Slot:
    """A row that patches can address."""

    row: Row
    siblings: list[Any]
    parent: str | None
    sources: list[Source] = field(default_factory=list[Source])


class Patcher:
    """A list of rows under change.

    Invariants: `rows` shares nothing with what was given; `slots` holds every row of the list and
    of its groups by id, except rows that came with a replaced config of a group.
    """

    def __init__(self) -> None:
        self.rows: list[Any] = []
        self.slots: dict[str, Slot] = {}
        self.problems: list[Problem] = []
        self._taken: dict[tuple[str | None, object], int] = {}

    def add(
        self, rows: Sequence[Any], parent: str | None = None, origin: int | None = None
    ) -> None:
        """Append rows as they are, with ids for those that have none; `origin` is that of rows."""

        def source(index: int) -> Source | None:
            return None if origin is None else Source(origin, (index,))

        self._add_all(rows, self.rows, len(self.rows), parent, source)

    def apply(self, patch: Mapping[str, Any], *, origin: int, number: int) -> bool:
        """Apply one patch, or note why not; return whether it was applied."""
        n_problems = len(self.problems)
        problem = (
            self._insert(patch, origin, number)
            if "insert" in patch
            else self._change(patch, origin, number)
        )
        if problem is not None:
            message, wanted = problem
            del self.problems[n_problems:]
            self.problems.append(Problem(message, origin, number, wanted))
            return False
        known = _INSERT_KEYS if "insert" in patch else _PATCH_KEYS
        for key in patch:
            if key not in known:
                hint = " has no effect next to insert" if "insert" in patch else ""
                message = f"patch: unknown key {key}{hint}"
                self.problems.append(Problem(message, origin, number, is_skipped=False))
        return True

    # -- inserting -------------------------------------------------------------------------------

    def _insert(
        self, patch: Mapping[str, Any], origin: int, number: int
    ) -> tuple[str, str | None] | None:
        rows = patch["insert"]
        if not isinstance(rows, list) or not all(
            isinstance(row, Mapping) for row in cast("list[Any]", rows)
        ):
            return "patch insert: expected a list of rows", None
        new: set[str] = set()
        for entry_id in _ids(cast("list[Any]", rows)):
            if entry_id in self.slots or entry_id in new:
                return f"patch insert: there is an entry {entry_id} already", entry_id
            new.add(entry_id)
        siblings: list[Any] = self.rows
        parent: str | None = None
        if patch.get("id") is not None:
            parent = cast("str", patch["id"])
            slot = self._slot(parent)
            if slot is None:
                return f"patch insert: entry {parent} not found", str(parent)
            if slot.row.get("group") is not True:
                return f"patch insert: entry {parent} is not a group", parent
            held = slot.row.get("config")
            siblings = cast("list[Any]", held) if isinstance(held, list) else []
        at = len(siblings)
        for key in ("before", "after"):
            if patch.get(key) is None:
                continue
            anchor = self._slot(patch[key])
            if anchor is None or (parent is not None and anchor.siblings is not siblings):
                where = "" if parent is None else f" in entry {parent}"
                return f"patch insert: entry {patch[key]} not found{where}", str(patch[key])
            siblings, parent = anchor.siblings, anchor.parent
            at = next(i for i, row in enumerate(siblings) if row is anchor.row)
            at += key == "after"
        if parent is not None:
            self.slots[parent].row["config"] = siblings
        self._add_all(
            cast("list[Any]", rows),
            siblings,
            at,
            parent,
            lambda index: Source(origin, (number, "insert", index)),
        )
        return None

    def _add_all(
        self,
        rows: Sequence[Any],
        siblings: list[Any],
        at: int,
        parent: str | None,
        source: Callable[[int], Source | None],
    ) -> None:
        copies = detached(rows)
        siblings[at:at] = copies
        for index, row in enumerate(copies):
            self._enter(row, siblings, parent, source(index))

    def _enter(self, row: Value, siblings: list[Any], parent: str | None, source: Value) -> None:
        """Index a row and the rows in it."""
        if not isinstance(row, dict):
            return
        options = cast("Row", row)
        self._name(options, parent)
        entry_id = options["id"]
        if not isinstance(entry_id, str):
            return  # the loader refuses it
        slot = self.slots[entry_id] = Slot(options, siblings, parent)
        if source is not None:
            slot.sources.append(source)
        if is_group(options):
            for index, inner in enumerate(options["config"]):
                deeper = source and source._replace(path=(*source.path, "config", index))
                self._enter(inner, options["config"], entry_id, deeper)

    def _name(self, row: Row, parent: str | None) -> None:
        """Give a row without id the first free one of its place; it comes first in the row."""
        if row.get("id") is not None:
            return
        key = (parent, str(row.get("name")))
        n_before = self._taken.get(key, 0)
        while (drawn := stable_id(parent, row.get("name"), n_before)) in self.slots:
            n_before += 1
        self._taken[key] = n_before + 1
        rest = {name: value for name, value in row.items() if name != "id"}
        row.clear()
        row.update({"id": drawn, **rest})

    # -- changing --------------------------------------------------------------------------------

    def _change(
        self, patch: Mapping[str, Any], origin: int, number: int
    ) -> tuple[str, str | None] | None:
        entry_id = patch.get("id")
        if entry_id is None:
            return "patch: id is required for non-insert patches", None
        slot = self._slot(entry_id)
        if slot is None:
            return f"patch: entry {entry_id} not found", str(entry_id)
        row, name = slot.row, patch.get("name")
        if name is not None and name != row.get("name"):
            return f"patch: entry {entry_id} is {row.get('name')!r}, not {name!r}", str(entry_id)
        if "remove" in patch:
            if patch["remove"] is not True:
                return f"patch: remove of entry {entry_id} must be true", str(entry_id)
            self._remove(slot)
            return None
        merge, config = patch.get("merge"), patch.get("config", row.get("config"))
        if merge is not None:
            if not isinstance(merge, Mapping):
                return f"patch: merge of entry {entry_id} must be a mapping", str(entry_id)
            if not (config is None or isinstance(config, Mapping)):
                return f"patch: the config of entry {entry_id} is no mapping", str(entry_id)
        for key, value in patch.items():
            if key not in {"id", "name", "merge"}:
                self._replace(slot, key, value, Source(origin, (number, key), (key,)))
        if merge is not None:
            row["config"] = merged(row.get("config"), cast("Mapping[str, Any]", merge))
            slot.sources.append(Source(origin, (number, "merge"), ("config",), is_whole=False))
        return None

    def _replace(self, slot: Slot, key: str, value: Value, source: Source) -> None:
        row = slot.row
        if key == "config" and is_group(row):
            for inner in row["config"]:
                self._forget(inner)
        row[key] = detached(value)
        slot.sources.append(source)
        if key == "config" and is_group(row):
            inner = Patcher()  # gives ids; patches cannot address rows that come in this way
            inner.add(row["config"], parent=row["id"])
            row["config"] = inner.rows

    def _remove(self, slot: Slot) -> None:
        at = next(i for i, row in enumerate(slot.siblings) if row is slot.row)
        del slot.siblings[at]
        self._forget(slot.row)

    def _forget(self, row: Value) -> None:
        self._taken.clear()
        slot = self._slot(cast("Row", row).get("id")) if isinstance(row, dict) else None
        if slot is None or slot.row is not row:
            return
        del self.slots[slot.row["id"]]
        if is_group(slot.row):
            for inner in slot.row["config"]:
                self._forget(inner)

    def _slot(self, entry_id: Value) -> Slot | None:
        return self.slots.get(entry_id) if isinstance(entry_id, str) else None


def apply_entry_patches(
    rows: Sequence[Row], patches: Sequence[Patch], warn: Callable[[str], object]
) -> list[Row]:
    """Return rows with patches applied in order; the result shares nothing with either.

    Rows without id get one from their name and their place among rows of that name.

    Args:
        rows: what to start from.
        patches: see the README for what they may hold.
        warn: called once for each patch that is skipped, and for each key without meaning.
    """
    patcher = Patcher()
    patcher.add(rows)
    for number, patch in enumerate(patches):
        patcher.apply(patch, origin=0, number=number)
    for problem in patcher.problems:
        warn(problem.message)
    return patcher.rows


def _ids(rows: Sequence[Any]) -> Iterator[str]:
    """Return the ids that rows have, those in groups too."""
    for row in rows:
        options = cast("Row", row) if isinstance(row, Mapping) else {}
        if isinstance(options.get("id"), str):
            yield options["id"]
        if is_group(options):
            yield from _ids(options["config"])
