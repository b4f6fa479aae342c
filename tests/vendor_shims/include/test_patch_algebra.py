"""Patches as a whole: they compose, change nothing that was given, and can be made from rows."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import orjson
import pytest
import yaml
from hypothesis import assume, given
from hypothesis import strategies as st

from vendor_shims.include import (
    Layer,
    apply_entry_patches,
    compose,
    dump,
    parse_rows,
    with_changed_rows,
    with_patches,
)

IDS = ["a", "b", "c", "g", "h"]
KEYS = ["p", "q", "r"]


def meant(value: Any) -> Any:
    """Return rows in an order of their own, without what is None."""
    if isinstance(value, dict):
        return {key: meant(one) for key, one in sorted(value.items()) if one is not None}
    if isinstance(value, list):
        items = [meant(one) for one in value]
        is_rows = bool(items) and all(isinstance(one, dict) and "name" in one for one in items)
        return sorted(items, key=repr) if is_rows else items
    return value


small_values = st.recursive(
    st.one_of(st.integers(0, 3), st.none(), st.booleans(), st.sampled_from(["x", "y\n"])),
    lambda inner: st.one_of(
        st.lists(inner, max_size=2), st.dictionaries(st.sampled_from(KEYS), inner, max_size=2)
    ),
    max_leaves=4,
)
configs = st.dictionaries(st.sampled_from(KEYS), small_values, max_size=3)


def plain_rows(ids: list[str]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries(
        {"id": st.sampled_from(ids), "name": st.sampled_from(["m", "n"])},
        optional={"config": configs, "disabled": st.booleans(), "inject": st.just(["s"])},
    )


def distinct(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Leave out rows whose id came before, in groups too."""
    seen: set[str] = set()

    def kept(some: list[dict[str, Any]]) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        for row in some:
            if row["id"] in seen:
                continue
            seen.add(row["id"])
            inner = row.get("config")
            found.append(row | {"config": kept(inner)} if isinstance(inner, list) else row)
        return found

    return kept(rows)


group_rows = st.fixed_dictionaries(
    {
        "id": st.sampled_from(["g", "h"]),
        "name": st.just("cordis:group"),
        "group": st.just(True),
        "config": st.lists(plain_rows(["a", "b", "c"]), max_size=2),
    }
)
rows = st.lists(st.one_of(plain_rows(IDS), group_rows), max_size=5).map(distinct)


def patch_lists(ids: list[str]) -> st.SearchStrategy[list[dict[str, Any]]]:
    """Return lists of patches about these ids; what they insert has names of its own."""
    target = st.sampled_from(ids)
    changes = st.fixed_dictionaries(
        {"id": target},
        optional={
            "disabled": st.one_of(st.booleans(), st.none()),
            "config": configs,
            "merge": configs,
            "inject": st.just(["s"]),
            "name": st.sampled_from(["m", "n"]),
        },
    )
    removals = st.fixed_dictionaries({"id": target, "remove": st.just(True)})
    inserted = st.lists(st.one_of(plain_rows(["x", "y", "z"]), group_rows), max_size=2)
    inserts = st.fixed_dictionaries(
        {"insert": inserted.map(distinct)},
        optional={"id": st.sampled_from(["g", "h"]), "before": target, "after": target},
    )
    return st.lists(st.one_of(changes, changes, removals, inserts), max_size=5)


patches = patch_lists([*IDS, "x", "y"])


pure_overrides = patch_lists(IDS).map(
    lambda some: [one for one in some if not one.keys() & {"insert", "remove"}]
)


def ignore(_: str) -> None:
    pass


@pytest.mark.spec("01-N06")
@given(rows, patches, patches)
def test_patches_in_one_list_are_patches_in_two(rows, first, second):
    at_once = apply_entry_patches(rows, [*first, *second], ignore)
    in_turn = apply_entry_patches(apply_entry_patches(rows, first, ignore), second, ignore)
    assert at_once == in_turn


@pytest.mark.spec("01-N06")
@given(rows, pure_overrides)
def test_overrides_twice_are_overrides_once(rows, overrides):
    once = apply_entry_patches(rows, overrides, ignore)
    assert apply_entry_patches(once, overrides, ignore) == once


@pytest.mark.spec("01-N06", "01-J05")
@given(rows, patches)
def test_what_was_given_is_not_changed_and_not_shared(rows, patches):
    rows_before, patches_before = deepcopy(rows), deepcopy(patches)
    result = apply_entry_patches(rows, patches, ignore)
    assert (rows, patches) == (rows_before, patches_before)
    result_before = deepcopy(result)
    spoil(rows)
    spoil(patches)
    assert result == result_before


def spoil(value: Any) -> None:
    """Change every list and mapping in a value."""
    if isinstance(value, dict):
        for one in list(value.values()):
            spoil(one)
        value["spoiled"] = True
    elif isinstance(value, list):
        for one in list(value):
            spoil(one)
        value.append("spoiled")


@pytest.mark.spec("01-N06", "01-J12")
@given(rows, patches, patches)
def test_layers_make_the_rows_that_their_patches_make(rows, first, second):
    layers = [Layer("base", "bundle", [{"insert": rows}]), Layer("one", "profile", first),
              Layer("two", "home", second)]  # fmt: skip
    composed = compose(layers)
    flat = [patch for layer in layers for patch in layer.patches]
    messages: list[str] = []
    assert composed.rows == apply_entry_patches([], flat, messages.append)
    assert [one.message for one in composed.skipped] == messages
    assert apply_entry_patches([], composed.patches, ignore) == composed.rows
    assert parse_rows(dump(composed), file="f").rows == composed.rows


def ids_of(some: list[dict[str, Any]]) -> list[str]:
    return [
        found
        for row in some
        for found in [row["id"], *(ids_of(row["config"]) if is_group(row) else [])]
    ]


def is_group(row: dict[str, Any]) -> bool:
    return row.get("group") is True and isinstance(row.get("config"), list)


def changed(rows: list[dict[str, Any]], by: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return patched rows; a patch that inserts an id a second time is no patch that we write."""
    messages: list[str] = []
    result = apply_entry_patches(rows, by, messages.append)
    ids = ids_of(result)
    assume(len(ids) == len(set(ids)))
    assume(not any("already" in message for message in messages))
    return result


@pytest.mark.spec("01-J08")
@pytest.mark.parametrize("name", ["user.yml", "user.json"])
@given(rows=rows, given_patches=patches, by=patches)
def test_written_patches_lead_to_the_changed_rows(rows, given_patches, by, name):
    kind = "json" if name.endswith("json") else "yaml"
    before = changed(rows, given_patches)
    after = changed(before, by)
    text = written(given_patches, kind)
    result = with_patches(text, before, after, file=name)
    found = parse_rows(result, file=name, format=kind).rows if result.strip() else []
    assert meant(apply_entry_patches(rows, found, ignore)) == meant(after)
    assert with_patches(result, after, after, file=name) == result


@pytest.mark.spec("01-J08")
@given(rows=rows, by=patches)
def test_written_rows_are_the_changed_rows(rows, by):
    after = changed(rows, by)
    text = dump(compose([Layer("l", "bundle", [{"insert": rows}])])) if rows else ""
    result = with_changed_rows(text, rows, after, file="rows.yml")
    found = parse_rows(result, file="rows.yml").rows if result.strip() else []
    assert meant(found) == meant(after)


def written(some: list[dict[str, Any]], kind: str) -> str:
    if kind == "json":
        return orjson.dumps(some).decode()
    return yaml.safe_dump(some, sort_keys=False)
