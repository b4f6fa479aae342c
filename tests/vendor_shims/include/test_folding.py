"""Where a change goes in a file of patches, and what is said of odd patches and places."""

from __future__ import annotations

from typing import Any

import pytest

from vendor_shims.include import (
    Layer,
    apply_entry_patches,
    compose,
    dump,
    parse_rows,
    read_layer,
    with_patches,
)


def row(entry_id: str, **options: Any) -> dict[str, Any]:
    return {"id": entry_id, "name": "m", **options}


def group(entry_id: str, *inner: Any) -> dict[str, Any]:
    return {"id": entry_id, "name": "cordis:group", "group": True, "config": list(inner)}


def ignore(_: str) -> None:
    pass


def folded(patches: str, base: list[Any], after: list[Any]) -> str:
    """Return a file of patches after a change; what it makes is what was wanted."""
    before = apply_entry_patches(base, parse_rows(patches, file="f.yml").rows, ignore)
    result = with_patches(patches, before, after, file="f.yml")
    found = parse_rows(result, file="f.yml").rows
    assert apply_entry_patches(base, found, ignore) == after
    return result


GROUP = "- insert:\n    - {id: g, name: cordis:group, group: true, config: [{id: x, name: m}]}\n"
SECOND = "- id: g\n  insert:\n    - {id: y, name: m}\n    - {id: v, name: m}\n"


@pytest.mark.spec("01-J08")
@pytest.mark.parametrize(
    ("patches", "base", "after", "expected"),
    [
        pytest.param(
            "- {id: a, name: other, disabled: true}\n- {id: a, name: other, remove: true}\n",
            [row("a")],
            [row("a", disabled=False)],
            "- {id: a, name: other, disabled: true}\n- {id: a, name: other, remove: true}\n"
            "- id: a\n  disabled: false\n",
            id="patches for a row of another name are left alone",
        ),
        pytest.param(
            "- {id: a, name: other, disabled: true}\n",
            [row("a")],
            [row("a", disabled=False)],
            "- {id: a, name: other, disabled: true}\n- id: a\n  disabled: false\n",
            id="one patch for a row of another name is left alone",
        ),
        pytest.param(
            "- insert:\n    - {id: x, name: m} # x\n    - {id: y, name: m} # y\n",
            [row("a")],
            [row("a"), row("x"), row("y", config=1)],
            "- insert:\n    - {id: x, name: m} # x\n    - {id: y, name: m, config: 1} # y\n",
            id="second row of an insertion",
        ),
        pytest.param(
            "- insert:\n    - {id: x, name: m} # x\n    - {id: y, name: m} # y\n",
            [],
            [row("y")],
            "- insert:\n    - {id: y, name: m} # y\n",
            id="first row of an insertion goes",
        ),
        pytest.param(
            GROUP + SECOND,
            [],
            [group("g", row("x"), row("y"), row("z"), row("v"))],
            GROUP + SECOND + "- id: g\n  insert:\n    - id: z\n      name: m\n  after: y\n",
            id="a row beside one that another patch brought into a group of the file",
        ),
        pytest.param(
            GROUP,
            [],
            [group("g", row("z"), row("x"))],
            GROUP.replace("[", "[{id: z, name: m}, "),
            id="a row before one in a group of the file",
        ),
        pytest.param(
            GROUP,
            [],
            [group("g")],
            GROUP.replace("{id: x, name: m}", ""),
            id="the only row in a group of the file goes",
        ),
        pytest.param(
            GROUP + "- insert:\n    - {id: b, name: m}\n  after: g\n",
            [],
            [row("b")],
            GROUP + "- insert:\n    - {id: b, name: m}\n  after: g\n- id: g\n  remove: true\n",
            id="a row beside which another patch puts one is removed by a patch of its own",
        ),
        pytest.param(
            GROUP,
            [row("a")],
            [row("a")],
            "[]\n",
            id="a group of the file goes with all its rows",
        ),
        pytest.param(
            "- id: a\n  merge: {p: 1}\n",
            [row("a", config={"p": {"z": 1}})],
            [row("a", config={"p": {"q": 1}})],
            "- id: a\n  merge: {p: 1}\n- id: a\n  merge:\n    p:\n      q: 1\n",
            id="a mapping that replaces a word of a merge is a merge of its own",
        ),
        pytest.param(
            "- {id: a, merge: 3}\n",
            [row("a", config={"p": 1})],
            [row("a", config={"p": 2})],
            "- {id: a, merge: 3}\n- id: a\n  merge:\n    p: 2\n",
            id="a merge that is none is left alone",
        ),
    ],
)
def test_change_goes_where_the_file_speaks_of_the_row(patches, base, after, expected):
    assert folded(patches, base, after) == expected


@pytest.mark.spec("01-J08")
@pytest.mark.parametrize(
    ("patches", "expected"),
    [
        ("[]\n", "- id: a\n  merge:\n    x: 2\n"),
        ("- {id: a, merge: {y: 1}}\n", "- {id: a, merge: {y: 1, x: 2}}\n"),
        ("- {id: a, config: {y: 1}}\n", "- {id: a, config: {y: 1, x: 2}}\n"),
        (
            "- {id: a, config: {x: 0}, merge: {y: 1}}\n",
            "- {id: a, config: {x: 0}, merge: {y: 1, x: 2}}\n",
        ),
        ("- {id: a, config: null}\n", "- {id: a, config: null}\n- id: a\n  merge:\n    x: 2\n"),
        ("- insert: [{id: a, name: m}]\n", "- insert: [{id: a, name: m, config: {x: 2}}]\n"),
        (
            "- insert: [{id: a, name: m, config: {x: 1}}]\n",
            "- insert: [{id: a, name: m, config: {x: 2}}]\n",
        ),
    ],
)
def test_what_other_layers_say_of_a_config_is_not_written(patches, expected):
    before = [row("a", config={"x": 1, "key": "of a flag"})]
    after = [row("a", config={"x": 2, "key": "of a flag"})]
    assert with_patches(patches, before, after, file="f.yml") == expected


@pytest.mark.spec("01-J08")
def test_row_with_rows_that_are_none_goes_with_all_of_them():
    patches = "- insert:\n    - {id: g, name: cordis:group, group: true, config: [7, {id: 3}]}\n"
    before = apply_entry_patches([], parse_rows(patches, file="f.yml").rows, ignore)
    assert before == [group("g", 7, {"id": 3})]
    later = "- id: [7]\n  before: {x: 1}\n"
    assert with_patches(patches + later, [group("g")], [], file="f.yml") == later


@pytest.mark.spec("01-I36")
def test_drawn_id_that_is_taken_is_not_given_twice():
    [first] = apply_entry_patches([{"name": "m"}], [], pytest.fail)
    taken = {"id": first["id"], "name": "other"}
    rows = apply_entry_patches([taken, {"name": "m"}], [], pytest.fail)
    assert len({one["id"] for one in rows}) == 2


@pytest.mark.spec("01-J03")
def test_rows_that_are_none_in_a_group_stand_in_nobodys_way():
    base = [group("g", 7, row("a"), {"id": [1], "name": "m"})]
    assert apply_entry_patches(base, [{"id": "a", "disabled": True}], pytest.fail) == [
        group("g", 7, row("a", disabled=True), {"id": [1], "name": "m"})
    ]
    assert apply_entry_patches(base, [{"id": "g", "config": []}], pytest.fail) == [group("g")]
    told: list[str] = []
    patches = [{"insert": [{"id": 3, "name": "m"}]}, {"id": [1], "insert": []}]
    rows = apply_entry_patches([], patches, told.append)
    assert rows == [{"id": 3, "name": "m"}]
    assert told == ["patch insert: entry [1] not found"]
    text = dump(compose([Layer("l", "home", patches)]))
    assert text == "# == a row whose id is no text\n- id: 3\n  name: m\n"


@pytest.mark.spec("01-J12")
def test_place_of_a_value_is_that_of_the_layer_that_supplied_it(tmp_path):
    def layer(name: str, text: str) -> Layer:
        (tmp_path / name).write_text(text)
        found = read_layer(str(tmp_path / name), name=name, kind="home", required=True)
        assert found is not None
        return found

    def supplier(*keys: str, among: list[Layer]) -> str:
        composed = compose(among)
        found = composed.supplier("a", *keys)
        assert (found and found.place) == composed.place("a", *keys)
        return "" if found is None else str(found).rpartition("/")[2]

    base = layer("base.yml", "- insert:\n    - id: a\n      name: m\n      config:\n        x: 1\n")
    user = layer("user.yml", "- id: a\n  merge:\n    y: 2\n")
    flag = Layer("flag", "flag", [{"id": "a", "merge": {"z": 3}}])
    whole = Layer("whole", "flag", [{"id": "a", "config": {"x": 5}}])
    assert supplier("config", "x", among=[base, user, flag]) == "base.yml:5:12"
    assert supplier("config", "y", among=[base, user, flag]) == "user.yml:3:8"
    assert supplier("config", "z", among=[base, user, flag]) == "flag"
    assert supplier("config", "z", "deep", among=[base, user, flag]) == "flag"
    assert supplier("config", "w", among=[base, user, flag]) == "user.yml:3:5"
    assert supplier("config", "w", among=[base, flag]) == "base.yml:5:9"
    assert supplier("name", among=[base, user, flag]) == "base.yml:3:13"
    assert supplier("config", "x", among=[base, user, whole]) == "whole"
    assert supplier("config", "w", among=[base, user, whole]) == "whole"
    assert supplier("disabled", among=[base, user, whole]) == "base.yml:2:7"
    assert supplier("config", among=[whole]) == ""


@pytest.mark.spec("01-J08")
@pytest.mark.parametrize("name", ["[2]", "{x: 1}", "3"])
def test_patch_whose_name_is_no_text_is_left_alone(name):
    odd = f"- {{id: a, name: {name}}}\n"
    assert with_patches(odd, [row("a")], [row("a", config={"x": 1})], file="f.yml") == (
        f"{odd}- id: a\n  config:\n    x: 1\n"
    )
