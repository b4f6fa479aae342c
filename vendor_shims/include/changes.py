"""The difference between two lists of rows, as patches, and patches put into a list of patches."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from .document import Row
from .patching import Patch
from .values import Value, detached, is_group, is_same, merged, ordered

_MISSING: Any = object()


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


def folded(patches: Sequence[Patch], changes: RowChanges) -> list[Patch]:
    """Return patches that make what `patches` make, and the changes on top.

    A row is changed where these patches make or patch it last; everything else stays as it is and
    what is new comes at the end.
    """
    result: list[Patch] = detached(patches)
    for entry_id in changes.removed:
        _fold_removal(result, entry_id)
    for patch in changes.inserted:
        _fold_insertion(result, patch)
    for change in changes.changed:
        _fold_change(result, change)
    return result


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


# -- into a list of patches ------------------------------------------------------------------------


def _fold_removal(patches: list[Patch], entry_id: str) -> None:
    """Take a row out of the patch that makes it, unless others build on it; else remove it."""
    at = next((i for i, one in enumerate(patches) if _siblings(one, entry_id) is not None), None)
    own = [one for one in patches if _changes_row(one, entry_id)]
    if at is not None and "insert" in patches[at]:
        siblings = cast("list[Row]", _siblings(patches[at], entry_id))
        row = next(row for row in siblings if row.get("id") == entry_id)
        ids = {one["id"] for one, *_ in _placed([row], None) if "id" in one}
        later = [one for one in patches[at + 1 :] if not any(one is mine for mine in own)]
        if not any(_refers_to(one, ids) for one in later):
            siblings.remove(row)
            kept = [patches[at]] if patches[at]["insert"] else []
            patches[at:] = [*kept, *later]
            return
    patches[:] = [one for one in patches if "remove" in one or not any(one is mine for mine in own)]
    patches.append({"id": entry_id, "remove": True})


def _refers_to(patch: Patch, ids: set[str]) -> bool:
    return any(patch.get(key) in ids for key in ("id", "before", "after")) or any(
        _siblings(patch, entry_id) is not None for entry_id in ids
    )


def _fold_insertion(patches: list[Patch], patch: Patch) -> None:
    parent, anchor = patch.get("id"), patch.get("after", patch.get("before"))
    ids = {one["id"] for one, *_ in _placed(patch["insert"], None)}
    is_known = any(_refers_to(one, ids) for one in patches)
    if parent is not None and not is_known:
        target = _target(patches, cast("str", parent))
        if target is not None and is_group(target):
            rows: list[Row] = target["config"]
            place = next((i for i, row in enumerate(rows) if row.get("id") == anchor), None)
            if anchor is None or place is not None:
                at = len(rows) if place is None else place + ("after" in patch)
                rows[at:at] = patch["insert"]
                return
    last = patches[-1] if patches else {}
    is_alike = "insert" in last and last.keys() <= {"id", "insert"} and last.get("id") == parent
    if anchor is None and is_alike and isinstance(last["insert"], list):
        cast("list[Row]", last["insert"]).extend(patch["insert"])
        return
    patches.append(patch)


def _fold_change(patches: list[Patch], change: RowChange) -> None:
    found = _target(patches, change.id, change.name)
    target: Row = {"id": change.id} if found is None else found
    if found is None:
        patches.append(target)
    is_row = not any(patch is target for patch in patches)
    for key, value in change.keys.items():
        if is_row and value is None:
            target.pop(key, None)
        else:
            target[key] = value
    if change.config is None:
        return
    before, after = change.config
    merge = None if is_row or "config" in target else _merge(before, after)
    combined = None if merge is None else _combined(target.get("merge", {}), merge)
    if combined is not None:
        target["merge"] = combined
        return
    target.pop("merge", None)
    if is_row and after is None:
        target.pop("config", None)
    else:
        target["config"] = after


def _target(patches: list[Patch], entry_id: str, name: str | None = None) -> Row | None:
    """Return the patch, or the row in one, that says last what a row is like."""
    for patch in reversed(patches):
        if _changes_row(patch, entry_id):
            if "remove" in patch:
                return None
            if name is None or patch.get("name") in {None, name}:
                return patch
        siblings = _siblings(patch, entry_id)
        if siblings is not None:
            return next(row for row in siblings if row.get("id") == entry_id)
    return None


def _changes_row(patch: Patch, entry_id: str) -> bool:
    return patch.get("id") == entry_id and "insert" not in patch


def _siblings(patch: Patch, entry_id: str) -> list[Row] | None:
    """Return the list in a patch that holds a row: of what it inserts, or gives a group."""
    waiting: list[Any] = [patch.get("insert"), patch.get("config")]
    while waiting:
        rows = waiting.pop()
        if not isinstance(rows, list):
            continue
        for row in cast("list[Any]", rows):
            if isinstance(row, dict) and "name" in row:
                options = cast("Row", row)
                if options.get("id") == entry_id:
                    return cast("list[Row]", rows)
                if is_group(options):
                    waiting.append(options["config"])
    return None


def _merge(before: Value, after: Value) -> dict[str, Any] | None:
    """Return what to merge into one config to get the other; None when that cannot be said."""
    if not isinstance(before, Mapping) or not isinstance(after, Mapping):
        return None
    merge = _difference(cast("Mapping[str, Any]", before), cast("Mapping[str, Any]", after))
    return merge if is_same(merged(before, merge), after) else None


def _difference(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for key in dict.fromkeys((*before, *after)):
        old, new = before.get(key), after.get(key)
        if is_same(old, new):
            continue
        if isinstance(old, Mapping) and isinstance(new, Mapping):
            result[key] = _difference(
                cast("Mapping[str, Any]", old), cast("Mapping[str, Any]", new)
            )
        else:
            result[key] = new
    return result


def _combined(below: Value, above: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return one mapping that merges like two in turn; None when there is none."""
    if not isinstance(below, Mapping):
        return None
    result: dict[str, Any] = dict(cast("Mapping[str, Any]", below))
    for key, value in above.items():
        given = result.get(key, _MISSING)
        if isinstance(value, Mapping) and given is not _MISSING:
            inner = _combined(given, cast("Mapping[str, Any]", value))
            if inner is None:
                return None  # what was replaced or removed would shine through
            result[key] = inner
        else:
            result[key] = value
    return result
