"""What leads from one list of rows to another."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from .document import Row
from .patching import Patch
from .values import detached, is_group, is_same, ordered


@dataclass(frozen=True, slots=True)
class RowChange:
    """What is different about one row.

    Attributes:
        id: of the row, and `name` of its plugin.
        keys: the options that changed; `None` for one that went.
        config: the config before and after, if that changed.
    """

    id: str
    name: str | None
    keys: Mapping[str, Any]
    config: tuple[Any, Any] | None = None


@dataclass(frozen=True, slots=True)
class RowChanges:
    """What leads from one list of rows to another; the order of rows in both does not count.

    Attributes:
        removed: ids of rows that went, without those in a group that went.
        inserted: patches for rows that came, with everything in them.
        changed: rows that are in both.
    """

    removed: Sequence[str] = ()
    inserted: Sequence[Patch] = ()
    changed: Sequence[RowChange] = field(default=())

    def __bool__(self) -> bool:
        return bool(self.removed or self.inserted or self.changed)


def changes_between(before: Sequence[Row], after: Sequence[Row]) -> RowChanges:
    """Return what leads from one list of rows to another; every row has an id.

    A row that stands in another group, has another name, or became a group or ceased to be one,
    is removed and inserted: no patch can say that.
    """
    old = {row["id"]: (row, parent) for row, parent, _, _ in _placed(before, None)}
    new = {row["id"]: (row, parent) for row, parent, _, _ in _placed(after, None)}
    fresh = {entry_id for entry_id, placed in new.items() if _is_other(old.get(entry_id), placed)}
    gone = {entry_id for entry_id in old if entry_id not in new or entry_id in fresh}
    inserted: list[Patch] = []
    changed: list[RowChange] = []
    for row, parent, siblings, index in _placed(after, None):
        if _has_ancestor(parent, fresh, new):
            continue
        if row["id"] in fresh:
            inserted.append(_insertion(siblings, index, parent, fresh))
        elif (change := _change(old[row["id"]][0], row)) is not None:
            changed.append(change)
    removed = [one for one in old if one in gone and not _has_ancestor(old[one][1], gone, old)]
    return RowChanges(removed, inserted, changed)


def _placed(
    rows: Sequence[Row], parent: str | None
) -> Iterator[tuple[Row, str | None, Sequence[Row], int]]:
    """Return each row with the id of its group, the list it stands in, and its index there."""
    for index, row in enumerate(rows):
        yield row, parent, rows, index
        if is_group(row):
            yield from _placed(row["config"], row["id"])


def _is_other(old: tuple[Row, str | None] | None, new: tuple[Row, str | None]) -> bool:
    return (
        old is None
        or old[1] != new[1]
        or old[0].get("name") != new[0].get("name")
        or is_group(old[0]) is not is_group(new[0])
    )


def _has_ancestor(
    parent: str | None, among: set[str], rows: Mapping[str, tuple[Row, str | None]]
) -> bool:
    while parent is not None:
        if parent in among:
            return True
        parent = rows[parent][1]
    return False


def _insertion(siblings: Sequence[Row], index: int, parent: str | None, fresh: set[str]) -> Patch:
    patch: Patch = {} if parent is None else {"id": parent}
    patch["insert"] = [ordered(detached(siblings[index]))]
    following = [row["id"] for row in siblings[index + 1 :] if row["id"] not in fresh]
    if following and index:
        patch["after"] = siblings[index - 1]["id"]
    elif following:
        patch["before"] = following[0]
    return patch


def _change(old: Row, new: Row) -> RowChange | None:
    keys = {
        key: detached(new.get(key))
        for key in dict.fromkeys((*old, *new))
        if key != "config" and not is_same(old.get(key), new.get(key))
    }
    config = None
    is_same_group = is_group(old) and is_group(new)
    if not is_same_group and not is_same(old.get("config"), new.get("config")):
        config = (old.get("config"), detached(new.get("config")))
    return RowChange(new["id"], new.get("name"), keys, config) if keys or config else None
