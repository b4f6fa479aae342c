"""Files that hold anything at all: a clear error with a place, or what can be taken of them."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vendor_shims.expressions import ExpressionError
from vendor_shims.include import (
    ConfigFileError,
    Layer,
    apply_entry_patches,
    compose,
    dump,
    parse_rows,
    read_layer,
    read_rows,
    with_changed_rows,
    with_patches,
)

ROW = {"id": "a", "name": "m"}


@pytest.mark.spec("01-J01", "01-J11")
@pytest.mark.parametrize(
    ("text", "place", "problem"),
    [
        ("- a: 1\n  a: 2\n", "2:3", "the key 'a' stands in line 1 already"),
        ("- a: b: c\n", "1:7", "mapping values are not allowed"),
        ("- [1,\n  2\n- 3\n", "4:1", "that begins in line 1"),
        ("- a: 1\n- b: *x\n", "2:6", "no anchor 'x'"),
        ("- &x\n  a: [*x]\n", "2:7", "inside what it refers to"),
        ("- a: 1\n--- # more\n- b: 1\n", "2:1", "second document"),
        ("- a: !!float x\n", "1:6", "'x' is no float"),
        ("- a: !!bool 1\n", "1:6", "'1' is no bool"),
        ("- a: !!timestamp 2020-01-01\n", "1:6", "unknown tag !!timestamp"),
        ("- a: !!set {b}\n", "1:6", "unknown tag !!set"),
        ("- a: !expr {b: 1}\n", "1:6", "!expr needs a text"),
        ("- a: !!js [1]\n", "1:6", "!!js needs a text"),
        ("- a: \U0001f600\n  b: \x1b\n", "2:6", r"U\+001B"),
        ("- \ufeffa: 1\n", "1:3", r"U\+FEFF"),
        ("- a: -.inf\n", "1:6", "no JSON number"),
        ("- a: .NaN\n", "1:6", "no JSON number"),
        ("- a: 1\r\n  b: 0x" + "f" * 2_000 + "\r\n", "2:6", "digits"),
        ("- a: 1\n- - b\n", "2:3", "item 2 must be a mapping, got a list"),
        ("a: 1\n", "1:1", "expected a list of rows, got a mapping"),
        ("--- word\n", "1:5", "got a single value"),
    ],
)
def test_yaml_error_has_its_place(text, place, problem):
    with pytest.raises(ConfigFileError, match=problem) as caught:
        parse_rows(text, file="f.yml")
    assert f" f.yml:{place}: " in str(caught.value)
    assert str(caught.value.place) == f"f.yml:{place}"


@pytest.mark.spec("01-J01")
@pytest.mark.parametrize(
    ("text", "place", "problem"),
    [
        ('[{"a": 1,\r\n  "a": 2}]', "2:3", "stands in line 1 already"),
        ('[\n{"a": NaN}]', "2:7", "expected a value"),
        ('[{"a": -Infinity}]', "1:8", "expected a value"),
        ('[{"a": 1e400}]', "1:8", "out of range"),
        ('[{"a": ' + "1" * 1_001 + "}]", "1:8", "digits"),
        ('[{"a": 01}]', "1:9", "expected ',' or '}'"),
        ('[{"a": 1,}]', "1:10", "a key in double quotes"),
        ("[1,]", "1:4", "expected a value"),
        ('[{"a": "x\ny"}]', "1:8", "does not end well"),
        ('[{"a": "\\x41"}]', "1:8", "does not end well"),
        ("[] // no", "1:4", "more text"),
        ("\ufeff[]", "1:1", "expected a value"),
        ('[{"a": 1}', "1:10", "but the file ends"),
        ('[{"a": [1]}, 2]', "1:14", "item 2 must be a mapping, got 2"),
        ("{}", "1:1", "got a mapping"),
    ],
)
def test_json_error_has_its_place(text, place, problem):
    with pytest.raises(ConfigFileError, match=problem) as caught:
        parse_rows(text, file="f.json", format="json")
    assert str(caught.value.place) == f"f.json:{place}"


@pytest.mark.spec("01-J11")
@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("- id: a\n  merge:\n    x: ${(}\n", "3:8"),
        ("- insert:\n    - name: m\n      config: {x: '${(}'}\n", "3:19"),
        ("- id: g\n  insert:\n    - {id: a, name: m}\n    - {name: m, config: ['${(}']}\n", "4:26"),
        ("- id: a\n  config:\n    x: !expr (\n", "3:8"),
    ],
)
def test_bad_expression_in_a_layer_has_its_place(tmp_path, text, place):
    path = tmp_path / "user.yml"
    path.write_text(text)
    with pytest.raises(ExpressionError) as caught:
        read_layer(str(path), name="user", kind="home", required=True)
    assert f"user.yml:{place}" in str(caught.value)


@pytest.mark.spec("01-J11")
def test_file_of_more_bytes_than_are_read(tmp_path):
    path = tmp_path / "rows.yml"
    path.write_bytes(b"#" * (8 * 1024 * 1024 - 3) + b"\n[]")
    assert read_rows(str(path)).rows == []
    with path.open("ab") as file:
        file.write(b"\n")
    with pytest.raises(ConfigFileError, match="more than 8388608 bytes"):
        read_rows(str(path))


def test_path_that_no_file_can_have():
    with pytest.raises(ConfigFileError, match="null byte") as caught:
        read_rows("a\0.yml")
    assert not caught.value.is_missing


def test_links_in_a_circle(tmp_path):
    os.symlink(tmp_path / "rows.yml", tmp_path / "rows.yml")
    with pytest.raises(ConfigFileError, match="symbolic links"):
        read_rows(str(tmp_path / "rows.yml"))


# -- anything in the place of patches and rows -----------------------------------------------------

ids = st.sampled_from(["a", "b", "g", 3, None, [1], {"x": 1}, True, 1.5, ""])
words = st.one_of(ids, st.sampled_from(["x", "cordis:group"]))


def options(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    some: dict[Any, st.SearchStrategy[Any]] = {
        "id": ids,
        "name": st.sampled_from(["m", "cordis:group", 3, None, [2]]),
        "group": st.sampled_from([True, False, "x", None]),
        **dict.fromkeys(("config", "insert", "merge"), inner),
        **dict.fromkeys(("before", "after"), ids),
        **dict.fromkeys(("remove", "disabled"), words),
    }
    return st.fixed_dictionaries({}, optional=some)


anything = st.recursive(
    words,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        options(inner),
        st.dictionaries(st.sampled_from("pq"), inner, max_size=2),
    ),
    max_leaves=8,
)
odd_patches = st.lists(options(anything), max_size=4)
row_fields = {"id": st.sampled_from("abcd"), "name": st.sampled_from("mn")}
rows: st.SearchStrategy[list[dict[str, Any]]] = st.lists(
    st.fixed_dictionaries(
        row_fields,
        optional={"config": st.dictionaries(st.sampled_from("pq"), anything, max_size=2)},
    ),
    max_size=3,
    unique_by=lambda row: str(row["id"]),
)


@pytest.mark.spec("01-J08", "01-J12")
@pytest.mark.parametrize("name", ["f.yml", "f.json"])
@given(odd=odd_patches, before=rows, after=rows)
def test_anything_in_the_place_of_patches_is_skipped_or_refused(odd, before, after, name):
    told: list[str] = []
    made = apply_entry_patches(before, odd, told.append)
    composed = compose([Layer("b", "bundle", [{"insert": before}]), Layer("o", "home", odd)])
    assert composed.rows == made
    assert [one.message for one in composed.skipped] == told
    assert parse_rows(dump(composed), file="f").rows == made
    text = orjson.dumps(odd).decode()
    kind = "json" if name.endswith("json") else "yaml"
    result = with_patches(text, before, after, file=name)
    parse_rows(result, file=name, format=kind)
    with suppress(ConfigFileError):
        parse_rows(with_changed_rows(text, before, after, file=name), file=name, format=kind)


@pytest.mark.spec("01-J08")
@pytest.mark.parametrize(
    ("text", "place", "problem"),
    [
        ("- {id: 3, name: m}\n", "1:8", "must be a text"),
        ("- {id: g, name: g, group: true, config: [{id: [x]}]}\n", "1:47", "must be a text"),
        ("- {id: g, name: g, group: true, config: [{id: x}, 7]}\n", "1:51", "must be a mapping"),
    ],
)
def test_file_of_rows_that_are_none_is_not_written(text, place, problem):
    with pytest.raises(ConfigFileError, match=problem) as caught:
        with_changed_rows(text, [ROW], [], file="rows.yml")
    assert str(caught.value.place) == f"rows.yml:{place}"


@pytest.mark.parametrize("name", ["f.yml", "f.json"])
@pytest.mark.parametrize("write", [with_patches, with_changed_rows])
@pytest.mark.parametrize("text", ["7", '"word"', "{}", "[1]", "[[]]", "[{}, null]"])
def test_text_that_is_no_list_of_mappings_is_not_written(write, text, name):
    with pytest.raises(ConfigFileError, match="validate"):
        write(text, [], [ROW], file=name)


@pytest.mark.parametrize("name", ["f.yml", "f.json"])
@pytest.mark.parametrize(
    ("value", "problem"),
    [
        (Path("x"), "of type PosixPath"),
        ({"deep": [(object(),)]}, "of type object"),
        ({1: 2}, "a key of type int"),
        ({Path("x"): 2}, "a key of type PosixPath"),
        (float("nan"), "cannot be written in this format"),
        ("\ud800", "cannot be written in this format"),
    ],
)
def test_config_by_code_that_no_file_can_hold(value, problem, name):
    with pytest.raises(ConfigFileError, match=problem):
        with_patches("[]", [ROW], [ROW | {"config": {"x": value}}], file=name)


def test_mapping_that_would_become_an_expression_is_not_written():
    after = [ROW | {"config": {"x": {"!expr": "1"}}}]
    with pytest.raises(ConfigFileError, match="cannot be written"):
        with_patches("", [ROW], after, file="f.json")
    text = with_patches("", [ROW], after, file="f.yml")
    assert parse_rows(text, file="f.yml").rows == [{"id": "a", "config": {"x": {"!expr": "1"}}}]


def test_document_says_where_its_values_stand():
    document = parse_rows("- id: a\n  config: [1,\n    {x: 2}]\n", file="f.yml")
    assert str(document.place(0, "config", 1, "x")) == "f.yml:3:9"
    for nowhere in ((1,), (-1,), ("id",), (0, "name"), (0, "id", 0), (0, "config", "x")):
        assert document.place(*nowhere) is None
