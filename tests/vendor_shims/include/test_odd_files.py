"""Files that are odd or broken: each is taken as it is meant, or refused with its place."""

from __future__ import annotations

from typing import Any

import pytest

from vendor_shims.expressions import Expression
from vendor_shims.include import (
    ConfigFileError,
    apply_entry_patches,
    parse_rows,
    with_changed_rows,
    with_patches,
)


def row(entry_id: str, **options: Any) -> dict[str, Any]:
    return {"id": entry_id, "name": "m", **options}


def group(entry_id: str, *inner: dict[str, Any]) -> dict[str, Any]:
    return {"id": entry_id, "name": "cordis:group", "group": True, "config": list(inner)}


@pytest.mark.spec("01-J01")
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("- a: *b\n", "no anchor 'b'"),
        ("- &a {x: *a}\n", "inside what it refers to"),
        ("- a: 1\n---\n- b: 2\n", "second document"),
        ("- a: !!str [1]\n", "tag"),
        ("- a: !!int x\n", "is no int"),
        ("- a: !expr [1]\n", "needs a text"),
        ("- a: !other 1\n", "unknown tag"),
        ("- !other {a: 1}\n", "unknown tag"),
        ("- {[1]: 2}\n", "a key must be a text"),
        ("- {!expr a: 2}\n", "only as a value"),
        ("- {!!int 1: 2}\n", "tag"),
        ("- {<<: {a: 1}}\n", "merge keys"),
        ("- a: \x07\n", "U\\+0007"),
        ("- a: .inf\n", "no JSON number"),
        ("- a: 1e999\n", "out of range"),
        ("- a: " + "9" * 5_000 + "\n", "digits"),
        ("- a: 'x\n", r"f\.yml:\d+:\d+"),
        ("- a: 1\n b: 2\n", r"f\.yml:2"),
        ("- \t- a\n", r"f\.yml:1"),
    ],
)
def test_yaml_that_is_not_the_dialect(text, message):
    with pytest.raises(ConfigFileError, match=message) as caught:
        parse_rows(text, file="f.yml")
    assert "f.yml" in str(caught.value)


@pytest.mark.spec("01-J01")
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[{"a": 1}] x', "more text"),
        ('[{"a" 1}]', "expected ':'"),
        ('[{"a": 1 "b": 2}]', "expected ',' or '}'"),
        ('[{"a": 1}, {"a": 1, "a": 2}]', "stands in line 1 already"),
        ("[{a: 1}]", "a key in double quotes"),
        ('[{"a": x}]', "expected a value"),
        ('[{"a": "x]', "does not end well"),
        ('[{"a": "\\ud800"}]', "surrogate"),
        ('[{"a": 1e999}]', "out of range"),
        ('[{"a": ' + "9" * 5_000 + "}]", "digits"),
        ('[{"a": 1}', "expected ',' or ']'"),
        ("[" * 200, "deep|levels"),
        ("", "empty"),
    ],
)
def test_json_that_is_none(text, message):
    with pytest.raises(ConfigFileError, match=message) as caught:
        parse_rows(text, file="f.json", format="json")
    assert "f.json" in str(caught.value)


@pytest.mark.spec("01-K07")
def test_values_of_the_dialect():
    text = (
        "\ufeff- a: [yes, no, 2020-01-01, 0x1F, 0o17, -5, 1.5, 1e3, ~, null, true, 012, 1_000]\r\n"
        "  b: !!str 5\r\n  c: !expr env.X\r\n  d: !!py env.Y\r\n  e: !!js process.env.Z\r\n"
        "  f: &x {deep: [1]}\r\n  g: *x\r\n  h: |\r\n    two\r\n    lines\r\n"
        "  'quoted key': \"\\u00e9\"\r\n"
    )
    [found] = parse_rows(text.removeprefix("\ufeff"), file="f.yml").rows
    assert found["a"] == [
        "yes", "no", "2020-01-01", 31, 15, -5, 1.5, 1000.0, None, None, True, found["a"][11],
        "1_000",
    ]  # fmt: skip
    assert (found["b"], found["c"].source) == ("5", "env.X")
    assert found["d"] == Expression("env.Y", "!!py")
    assert found["e"] == Expression("process.env.Z", "!!js")
    assert found["f"] == found["g"] == {"deep": [1]}
    assert found["h"].split() == ["two", "lines"]
    assert found["quoted key"] == "é"
    json_text = (
        '[{"c": {"!expr": "env.X"}, "n": [1, -2.5, true, false, null, "\\u00e9\\ud83d\\ude00"]}]'
    )
    [found] = parse_rows(json_text, file="f.json", format="json").rows
    assert found == {"c": Expression("env.X"), "n": [1, -2.5, True, False, None, "é😀"]}


@pytest.mark.parametrize(
    "patch",
    [{"id": "a", "remove": 3}, {"id": "a", "merge": 3}, {"id": "b", "merge": {"x": 1}}, {"id": 3}],
)
def test_patch_of_a_wrong_form_is_told_and_skipped(patch):
    told: list[str] = []
    rows = [row("a"), row("b", config=[1])]
    assert apply_entry_patches(rows, [patch], told.append) == rows
    assert len(told) == 1


def meant(value: Any) -> Any:
    """Return rows by id, without what is None: null is the same as absent, order means nothing."""
    if isinstance(value, dict):
        return {key: meant(one) for key, one in value.items() if one is not None}
    if isinstance(value, list):
        items = [meant(one) for one in value]
        is_rows = all(isinstance(one, dict) and "name" in one for one in items)
        return sorted(items, key=lambda one: one["id"]) if is_rows else items
    return value


GROUP = "- insert:\n    - id: g\n      name: cordis:group\n      group: true\n"


def same_rows(text: str, before: list[Any], after: list[Any], base: list[Any]) -> str:
    """Write what changed, and check that the file then makes the rows; return its text."""
    result = with_patches(text, before, after, file="user.yml")
    patches = parse_rows(result, file="user.yml").rows if result.strip() else []
    assert meant(apply_entry_patches(base, patches, print)) == meant(after)
    return result


@pytest.mark.spec("01-J08")
@pytest.mark.parametrize(
    ("text", "before", "after"),
    [
        # what the file itself inserted goes, changes and gets neighbours
        ("- insert:\n    - {id: x, name: m}\n", [row("a"), row("x")], [row("a")]),
        (
            "- insert:\n    - {id: x, name: m, disabled: true}\n",
            [row("a"), row("x", disabled=True)],
            [row("a"), row("x", config={"p": 1})],
        ),
        (
            "- insert:\n    - {id: x, name: m, config: 5}\n# end\n",
            [row("a"), row("x", config=5)],
            [row("a"), row("x"), row("y"), row("z")],
        ),
        (
            GROUP + "      config: []\n",
            [row("a"), group("g")],
            [row("a"), group("g", row("x"))],
        ),
        (
            GROUP + "      config:\n        - {id: x, name: m}\n",
            [row("a"), group("g", row("x"))],
            [row("a"), group("g", row("w"), row("x"), row("y"))],
        ),
        # what it changed of others
        ("- id: a\n  merge: {p: 1}\n", [row("a", config={"p": 1})], [row("a", config={"p": 2})]),
        ("- id: a\n  config: {p: 1}\n", [row("a", config={"p": 1})], [row("a", config=7)]),
        ("- id: a\n  merge: {p: {q: 1}}\n", [row("a", config={"p": {"q": 1}})],
         [row("a", config={"p": {"q": 1, "r": 2}})]),
        ("- id: a\n  disabled: true # why\n", [row("a", disabled=True)], [row("a", inject=["s"])]),
        ("[{id: a, disabled: true}]\n", [row("a", disabled=True)], [row("a", disabled=False)]),
        ("- id: a\n  name: m\n  disabled: true\n", [row("a", disabled=True)],
         [row("a", name="n")]),
        # from nothing
        ("", [row("a")], [row("a", config={"long": "text\nof two lines\n"})]),
        ("# only a comment\n", [row("a")], [row("a"), row("b")]),
        ("[]\n", [row("a")], [row("a", disabled=True), group("g", row("b"))]),
        ("- id: gone\n  disabled: true\n", [row("a")], []),
    ],
)  # fmt: skip
def test_changes_go_where_the_file_says_such_things(text, before, after):
    result = same_rows(text, before, after, [row("a")])
    for line in text.split("\n"):
        if line.startswith("#"):
            assert line in result
    again = with_patches(result, after, before, file="user.yml")
    patches = parse_rows(again, file="user.yml").rows if again.strip() else []
    found = apply_entry_patches([row("a")], patches, print)
    assert {one["id"] for one in found} == {one["id"] for one in before}


FILE = """\
# top
- id: a            # first
  name: m
  config:
    x: 1           # one
    y: [1, 2,
        3]

# about g
- id: g
  name: cordis:group
  group: true
  config:
    - id: b
      name: m
    # about c
    - {id: c, name: m, disabled: true}
- id: z
  name: m
# end
"""


@pytest.mark.spec("01-J08", "01-J09")
@pytest.mark.parametrize(
    "change",
    [
        lambda rows: rows[0]["config"].update(x=2),
        lambda rows: rows[0]["config"].update(y=[1, 2, 3, 4]),
        lambda rows: rows[0]["config"].update(y=[]),
        lambda rows: rows[0]["config"].pop("x"),
        lambda rows: rows[0].pop("config"),
        lambda rows: rows[0].update(config={"new": {"deep": [1, {"k": "v"}]}}),
        lambda rows: rows[0].update(name="other", disabled=True),
        lambda rows: rows[1]["config"].pop(0),
        lambda rows: rows[1]["config"].pop(1),
        lambda rows: rows[1]["config"][1].pop("disabled"),
        lambda rows: rows[1]["config"][1].update(config={"x": 1}),
        lambda rows: rows[1]["config"].insert(0, row("new")),
        lambda rows: rows[1]["config"].append(row("new", config="text\nwith lines\n")),
        lambda rows: rows[1]["config"].clear(),
        lambda rows: rows.pop(0),
        lambda rows: rows.pop(),
        lambda rows: rows.insert(1, row("new")),
        lambda rows: rows.insert(0, row("new")),
        lambda rows: rows.reverse(),
        lambda rows: rows.clear(),
    ],
)
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_only_what_changed_is_written(change, newline):
    before = parse_rows(FILE, file="rows.yml").rows
    after = parse_rows(FILE, file="rows.yml").rows
    change(after)
    text = FILE.replace("\n", newline)
    result = with_changed_rows(text, before, after, file="rows.yml")
    found = parse_rows(result, file="rows.yml").rows if result.strip() else []
    assert meant(found) == meant(after)
    if len(after) == 3 and after[0]["id"] == "a":
        assert result.startswith("# top")
        assert result.rstrip().endswith("# end")
