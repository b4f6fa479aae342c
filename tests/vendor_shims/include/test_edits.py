"""Edits of a text: what did not change keeps every byte."""

from __future__ import annotations

from typing import Any

import pytest

from vendor_shims.expressions import Expression
from vendor_shims.include import apply_entry_patches, parse_rows, with_changed_rows

FILE = """\
# top
- id: a # first
  name: foo
  config:
    x: 1 # one
    y: 2 # two

# about b
- id: b
  name: bar
# about g
- id: g
  name: cordis:group
  group: true
  config:
    # about c
    - id: c
      name: foo
      disabled: true # off
    # about d
    - {id: d, name: bar}
# end
"""


def rows_of(text: str, file: str) -> list[dict[str, Any]]:
    kind = "json" if file.endswith("json") else "yaml"
    return parse_rows(text, file=file, format=kind).rows


def edit(text: str, change: Any, file: str = "f.yml") -> str:
    """Return the text of a file of rows after a change of what is in it."""
    before, after = rows_of(text, file), rows_of(text, file)
    change(after)
    return with_changed_rows(text, before, after, file=file)


def inner(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return rows[2]["config"]


def both(*changes: Any) -> Any:
    return lambda rows: [change(rows) for change in changes]


NEW = {"id": "n", "name": "qux"}


@pytest.mark.spec("01-J08")
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize(
    ("change", "old", "new"),
    [
        pytest.param(lambda rows: rows.pop(1), "- id: b\n  name: bar\n", "", id="row goes"),
        pytest.param(
            lambda rows: rows.append(NEW),
            "# end\n",
            "- id: n\n  name: qux\n# end\n",
            id="row comes",
        ),
        pytest.param(
            lambda rows: inner(rows).pop(1), "    - {id: d, name: bar}\n", "", id="inner row goes"
        ),
        pytest.param(
            lambda rows: inner(rows).append(NEW),
            "    - {id: d, name: bar}\n",
            "    - {id: d, name: bar}\n    - id: n\n      name: qux\n",
            id="inner row comes",
        ),
        pytest.param(
            lambda rows: inner(rows).insert(1, NEW),
            "true # off\n",
            "true # off\n    - id: n\n      name: qux\n",
            id="inner row comes between two",
        ),
        pytest.param(
            lambda rows: inner(rows).insert(0, NEW),
            "    - id: c\n",
            "    - id: n\n      name: qux\n    - id: c\n",
            id="inner row comes before the first",
        ),
        pytest.param(
            lambda rows: rows[0].update(config={"x": 1, "z": 3}),
            "x: 1 # one\n    y: 2 # two\n",
            "x: 1 # one\n    z: 3\n",
            id="last key goes and another comes",
        ),
        pytest.param(
            both(
                lambda rows: inner(rows)[0].pop("disabled"), lambda rows: inner(rows).insert(1, NEW)
            ),
            "      disabled: true # off\n",
            "    - id: n\n      name: qux\n",
            id="last key goes and a row comes after it",
        ),
        pytest.param(
            both(lambda rows: inner(rows)[1].update(disabled=True), lambda rows: rows.append(NEW)),
            "name: bar}\n# end\n",
            "name: bar, disabled: true}\n- id: n\n  name: qux\n# end\n",
            id="flow row changes and a row comes after its group",
        ),
    ],
)
def test_only_the_lines_about_it_change(change, old, new, newline):
    assert FILE.count(old) == 1
    result = edit(FILE.replace("\n", newline), change)
    assert result == FILE.replace(old, new).replace("\n", newline)


def test_moved_inner_row_takes_only_its_own_lines_along():
    def move(rows: list[dict[str, Any]]) -> None:
        rows.append(inner(rows).pop(0))

    assert edit(FILE, move) == FILE.replace(
        "    - id: c\n      name: foo\n      disabled: true # off\n", ""
    ).replace("# end\n", "- id: c\n  name: foo\n  disabled: true\n# end\n")


@pytest.mark.parametrize(
    ("text", "config", "expected"),
    [
        pytest.param(
            "- config: 1 # gone\n  # about the id\n  id: a # kept\n  name: foo\n",
            None,
            "  # about the id\n- id: a # kept\n  name: foo\n",
            id="comments below a first key stay when it goes",
        ),
        pytest.param(
            "- id: a\n  name: foo\n  config:\n    - x: 1\n      # of y\n      y: 2\n"
            "      z: 3 # kept\n      w: 4\n",
            [{"z": 3}],
            "- id: a\n  name: foo\n  config:\n      # of y\n    - z: 3 # kept\n",
            id="several first keys go, and one at the end",
        ),
        pytest.param(
            "- id: a\n  name: foo\n  config: {x: 1, # one\n    y: 2}\n",
            {"x": 1, "y": 2, "z": 3},
            "- id: a\n  name: foo\n  config: {x: 1, # one\n    y: 2,\n    z: 3}\n",
            id="a member comes into brackets over lines",
        ),
        pytest.param(
            "- id: a\n  name: foo\n  config: [5, # five\n    6, ]\n",
            [5, 6, 7],
            "- id: a\n  name: foo\n  config: [5, # five\n    6,\n    7, ]\n",
            id="an item comes before a comma at the end",
        ),
        pytest.param(
            "- id: a\n  name: foo\n  config:\n    - 1\n    - - 2\n    - 3",
            [1, [2], 3, 4],
            "- id: a\n  name: foo\n  config:\n    - 1\n    - - 2\n    - 3\n    - 4",
            id="an item comes at the end of a text without line end",
        ),
        pytest.param(
            "- id: a\n  name: foo\n  config: [\n1, 2\n]\n",
            [2],
            "- id: a\n  name: foo\n  config: [\n2\n]\n",
            id="an item goes from brackets at the edge",
        ),
        pytest.param(
            "- id: a\n  name: foo\n  config:\n    ? x # odd\n    : 1\n    ? y\n    : 2\n",
            {"x": 1},
            "- id: a\n  name: foo\n  config:\n    x: 1\n",
            id="keys with a mark of their own are written anew",
        ),
        pytest.param(
            "- id: a\n  name: foo\n  config: !!map {x: 1}\n",
            {"x": 2},
            "- id: a\n  name: foo\n  config: !!map {x: 2}\n",
            id="a standard tag stays",
        ),
        pytest.param(
            "---\n- id: a\n  name: foo\n  config: 'it''s' # quoted\n...\n",
            "so",
            "---\n- id: a\n  name: foo\n  config: so # quoted\n...\n",
            id="marks of the document stay",
        ),
    ],
)
def test_config_is_changed_in_its_form(text, config, expected):
    def change(rows: list[dict[str, Any]]) -> None:
        rows[0].pop("config")
        if config is not None:
            rows[0]["config"] = config

    assert edit(text, change) == expected


@pytest.mark.parametrize(
    ("text", "config", "expected"),
    [
        (
            '[\n\t{"id": "a",\n\t "name": "m", "config": [\n\t\t{"x": 1}\n\t]}\n]',
            [{"x": 1}, {}],
            '[\n\t{"id": "a",\n\t "name": "m", "config": [\n\t\t{"x": 1},\n\t\t{}\n\t]}\n]',
        ),
        (
            '[{"id": "a", "name": "foo", "config": [\n  {"x": 1},\n  2\n]}]',
            [3],
            '[{"id": "a", "name": "foo", "config": [\n  3\n]}]',
        ),
        (
            '[{"id": "a", "name": "foo", "config": {"x" : 1,\r\n "y": [1, 2]}}]\r\n',
            {"x": Expression("env.X"), "y": [1]},
            '[{"id": "a", "name": "foo", "config": {"x" : {"!expr": "env.X"},\r\n "y": [1]}}]\r\n',
        ),
    ],
)
def test_json_is_changed_in_its_form(text, config, expected):
    assert edit(text, lambda rows: rows[0].update(config=config), "f.json") == expected


def test_row_below_its_dash_goes_and_the_list_is_written_anew():
    text = "# top\n-\n  id: a\n  name: foo\n- id: b # b\n  name: bar\n"
    assert edit(text, lambda rows: rows.pop(0)) == "# top\n- id: b\n  name: bar\n"
    assert edit(text, lambda rows: rows[0].update(name="m")) == text.replace("foo", "m")


def test_rows_without_id_get_none_as_long_as_they_keep_their_place():
    text = "- name: foo # one\n- name: foo # two\n- {name: bar}\n"
    before = apply_entry_patches(rows_of(text, "f.yml"), [], pytest.fail)
    changed = [*before[:2], before[2] | {"disabled": True}]
    assert with_changed_rows(text, before, changed, file="f.yml") == text.replace(
        "{name: bar}", "{name: bar, disabled: true}"
    )
    fewer = with_changed_rows(text, before, before[1:], file="f.yml")
    assert apply_entry_patches(rows_of(fewer, "f.yml"), [], pytest.fail) == before[1:]


def test_many_rows_are_edited_in_one_pass():
    text = "".join(f"- id: r{n} # {n}\n  name: foo\n  config: {n}\n" for n in range(400))
    result = edit(text, lambda rows: [row.update(config="new") for row in rows])
    assert result == "".join(f"- id: r{n} # {n}\n  name: foo\n  config: new\n" for n in range(400))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[ # inside\n]\n", "# inside\n- id: n\n  name: qux\n"),
        (
            "# top\n[\n  # one\n\n  # two\n] # after\n# end\n",
            "# top\n# one\n# two\n# after\n- id: n\n  name: qux\n# end\n",
        ),
        ("[] # after\r\n", "# after\r\n- id: n\r\n  name: qux\r\n"),
    ],
)
def test_comments_of_an_empty_list_come_above_its_first_row(text, expected):
    assert edit(text, lambda rows: rows.append(NEW)) == expected
