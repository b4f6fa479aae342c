"""Changes of rows put into a list of patches, where it speaks of those rows already."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from .changes import RowChange, RowChanges
from .document import Row
from .patching import Patch
from .values import Value, detached, is_group, is_same, merged

_MISSING: Any = object()


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


def _fold_removal(patches: list[Patch], entry_id: str) -> None:
    """Take a row out of the patch that makes it, unless others build on it; else remove it."""
    own = [one for one in patches if _changes_row(one, entry_id)]
    found = ((i, _made(one, entry_id)) for i, one in enumerate(patches))
    at, made = next(((i, one) for i, one in found if one is not None), (0, None))
    if made is not None and "insert" in patches[at]:
        siblings, row = made
        later = [one for one in patches[at + 1 :] if not any(one is mine for mine in own)]
        if not any(_refers_to(one, _ids_in([row])) for one in later):
            siblings.remove(row)
            kept = [patches[at]] if patches[at]["insert"] else []
            patches[at:] = [*kept, *later]
            return
    patches[:] = [one for one in patches if "remove" in one or not any(one is mine for mine in own)]
    patches.append({"id": entry_id, "remove": True})


def _refers_to(patch: Patch, ids: set[str]) -> bool:
    named = [patch.get(key) for key in ("id", "before", "after")]
    return any(isinstance(one, str) and one in ids for one in named) or any(
        _made(patch, entry_id) is not None for entry_id in ids
    )


def _fold_insertion(patches: list[Patch], patch: Patch) -> None:
    parent, anchor = patch.get("id"), patch.get("after", patch.get("before"))
    is_known = any(_refers_to(one, _ids_in(patch["insert"])) for one in patches)
    if parent is not None and not is_known:
        target = _target(patches, cast("str", parent))
        if target is not None and is_group(target):
            rows: list[Any] = target["config"]
            places = [i for i, row in enumerate(rows) if _has_id(row, anchor)]
            if anchor is None or places:
                at = len(rows) if anchor is None else places[0] + ("after" in patch)
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
    merge = _merge(*change.config)
    if merge is None:
        _replace_config(target, change.config[1], is_row=is_row)
    elif not _take_merge(target, merge, is_row=is_row):
        patches.append({"id": change.id, "merge": merge})


def _replace_config(target: Row, config: Value, *, is_row: bool) -> None:
    target.pop("merge", None)
    if is_row and config is None:
        target.pop("config", None)
    else:
        target["config"] = config


def _take_merge(target: Row, merge: Mapping[str, Any], *, is_row: bool) -> bool:
    """Change a row or patch by what came, not by what other layers say; False if that cannot be."""
    if is_row or ("merge" not in target and isinstance(target.get("config"), Mapping)):
        target["config"] = merged(target.get("config"), merge)
        return True
    if "merge" not in target and "config" in target:
        return False
    combined = _combined(target.get("merge", {}), merge)
    if combined is not None:
        target["merge"] = combined
    return combined is not None


def _target(patches: list[Patch], entry_id: str, name: str | None = None) -> Row | None:
    """Return the patch, or the row in one, that says last what a row is like."""
    for patch in reversed(patches):
        if _changes_row(patch, entry_id):
            if "remove" in patch:
                return None
            if name is None or patch.get("name") in (None, name):
                return patch
        made = _made(patch, entry_id)
        if made is not None:
            return made[1]
    return None


def _changes_row(patch: Patch, entry_id: str) -> bool:
    return patch.get("id") == entry_id and "insert" not in patch


def _has_id(row: Value, entry_id: object) -> bool:
    return isinstance(row, dict) and cast("Row", row).get("id") == entry_id


def _made(patch: Patch, entry_id: str) -> tuple[list[Any], Row] | None:
    """Return a row that a patch inserts or gives a group, and before it the list around it."""
    waiting: list[Any] = [patch.get("insert"), patch.get("config")]
    while waiting:
        rows = waiting.pop()
        if not isinstance(rows, list):
            continue
        for row in cast("list[Any]", rows):
            if isinstance(row, dict) and "name" in row:
                options = cast("Row", row)
                if options.get("id") == entry_id:
                    return cast("list[Any]", rows), options
                if is_group(options):
                    waiting.append(options["config"])
    return None


def _ids_in(rows: Value) -> set[str]:
    """Return the ids of rows that a file has, those in groups too; it may hold anything."""
    found: set[str] = set()
    for row in cast("list[Any]", rows):
        if isinstance(row, dict):
            options = cast("Row", row)
            if isinstance(options.get("id"), str):
                found.add(options["id"])
            if is_group(options):
                found |= _ids_in(options["config"])
    return found


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
