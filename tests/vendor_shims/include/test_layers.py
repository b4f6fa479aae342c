"""Layers of patches: read from files, composed, traced back, and printed."""

from __future__ import annotations

import os
from typing import Any

import pytest

from vendor_shims.expressions import Expression, ExpressionError
from vendor_shims.include import (
    ConfigFileError,
    Layer,
    apply_entry_patches,
    compose,
    dump,
    parse_rows,
    read_layer,
)


@pytest.fixture
def layer(tmp_path):
    def read(name: str, text: str | None, *, required: bool = True, kind: Any = "home"):
        path = tmp_path / name
        if text is not None:
            path.write_text(text)
        return read_layer(str(path), name=name, kind=kind, required=required)

    return read


@pytest.mark.spec("01-J11")
def test_optional_layer_may_be_missing_and_a_named_one_may_not(layer):
    assert layer("none.yml", None, required=False) is None
    with pytest.raises(ConfigFileError, match=r"config file not found: .*none\.yml"):
        layer("none.yml", None)


@pytest.mark.spec("01-J11")
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: 1\n", r"user\.yml.*list"),
        ("7\n", r"user\.yml.*list"),
        ("- id: a\n- 7\n", r"user\.yml:2:3.*(item|number) 2|user\.yml.*item 2"),
        ("- id: [\n", r"user\.yml:\d+:\d+"),
        ("- id: a\n  id: b\n", r"user\.yml:2:3"),
        ("- !what a\n", r"user\.yml:1:3"),
        ("- insert: 3\n", r"user\.yml:1"),
        ("- insert: [3]\n", r"user\.yml:1"),
        ("&a [*a]\n", r"user\.yml"),
    ],
)
@pytest.mark.parametrize("required", [True, False])
def test_file_that_is_no_list_of_patches_is_an_error_with_its_place(layer, text, message, required):
    with pytest.raises(ConfigFileError, match=message):
        layer("user.yml", text, required=required)


@pytest.mark.spec("01-J11")
def test_folder_in_the_place_of_a_layer(tmp_path):
    (tmp_path / "user.yml").mkdir()
    with pytest.raises(ConfigFileError, match=r"user\.yml"):
        read_layer(str(tmp_path / "user.yml"), name="user", kind="home", required=False)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
@pytest.mark.spec("01-J11")
def test_layer_that_may_not_be_read(layer, tmp_path):
    (tmp_path / "user.yml").write_text("[]")
    (tmp_path / "user.yml").chmod(0)
    with pytest.raises(ConfigFileError, match="ermission"):
        layer("user.yml", None, required=False)


def test_hostile_document_ends_soon(layer):
    deep = "- " + "[" * 5_000 + "]" * 5_000 + "\n"
    bomb = "- a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
        f"- {chr(98 + n)}: &{chr(98 + n)} [{', '.join(['*' + chr(97 + n)] * 9)}]\n"
        for n in range(9)
    )
    for text in (deep, bomb):
        with pytest.raises(ConfigFileError):
            layer("user.yml", text)


@pytest.mark.spec("01-K05")
@pytest.mark.parametrize("key", ["inject", "name", "id"])
def test_expression_where_none_is_evaluated_is_refused_when_it_is_read(layer, key):
    with pytest.raises(ExpressionError, match=rf"{key}"):
        layer("user.yml", f"- insert:\n    - {{id: a, name: m, {key}: !expr env.X}}\n"
              if key == "inject" else f"- insert:\n    - {key}: !expr env.X\n")  # fmt: skip


BASE = """\
- insert:
    - id: web
      name: web
      config:
        port: !expr env.PORT ?? 3080
        text: ${env.HOME}
    - id: g
      name: cordis:group
      group: true
      config:
        - {id: inner, name: m}
    - {id: last, name: m}
"""


@pytest.fixture
def composed(layer):
    return compose(
        [
            layer("base.yml", BASE, kind="bundle"),
            layer("user.yml", "- id: web\n  merge:\n    host: here\n- id: wbe\n  disabled: true\n"),
            Layer("--set", "flag", [{"id": "web", "merge": {"host": "there"}}]),
        ]
    )


@pytest.mark.spec("01-J12")
def test_rows_know_who_made_them(composed):
    assert composed.origin("web") == ("base.yml", "user.yml", "--set")
    assert composed.origin("inner") == ("base.yml",)
    assert composed.origin("nobody") == ()
    place = composed.place("web", "config", "port")
    assert (os.path.basename(place.file), place.line) == ("base.yml", 5)
    assert composed.place("inner", "name").line == 11
    assert composed.place("nobody") is None
    [skipped] = composed.skipped
    assert (skipped.layer, skipped.kind, skipped.id) == ("user.yml", "home", "wbe")
    assert skipped.nearest == ("web",)
    assert skipped.place.line == 4
    assert str(skipped).startswith("[user.yml] ")


@pytest.mark.spec("01-J12")
def test_dump_has_origins_and_expressions_and_can_be_read_again(composed):
    text = dump(composed)
    assert text.startswith("# == base.yml, patched by user.yml, --set\n")
    assert text.count("# ==") == 2
    assert "!expr env.PORT ?? 3080" in text
    assert "${env.HOME}" in text
    read = parse_rows(text, file="dump.yml").rows
    assert read == list(composed.rows)
    assert read[0]["config"]["port"] == Expression("env.PORT ?? 3080")
    patches = list(composed.patches)
    assert apply_entry_patches([], patches, print) == list(composed.rows)


@pytest.mark.spec("01-J12")
def test_dump_of_nothing_is_an_empty_list():
    assert parse_rows(dump(compose([])), file="dump.yml").rows == []


def test_relative_plugin_path_starts_at_the_file_of_its_layer(layer, tmp_path):
    found = layer("user.yml", "- insert: [{id: a, name: ./mine.py}]\n- {id: b, name: ../x.py}\n")
    assert found.patches[0]["insert"][0]["name"] == str(tmp_path / "mine.py")
    assert found.patches[1]["name"] == str(tmp_path.parent / "x.py")


def test_files_of_an_include_start_at_the_folder_of_the_layer(layer, tmp_path):
    read = layer(
        "user.yml",
        "- insert:\n  - {id: a, name: cordis:include, config: {path: ./a.yml, writeTo: u.yml}}\n"
        "  - {id: g, name: cordis:group, group: true, config: [\n"
        "      {id: b, name: cordis:include, config: {path: ../b.yml}},\n"
        "      {id: c, name: cordis:include, config: {path: /c.yml}}]}\n"
        "  - {id: d, name: other, config: {path: ./d.yml}}\n"
        "- {id: e, name: cordis:include, merge: {path: e.yml}}\n",
    )
    a, g, d = read.patches[0]["insert"]
    assert a["config"] == {"path": f"{tmp_path}/a.yml", "writeTo": f"{tmp_path}/u.yml"}
    assert [row["config"]["path"] for row in g["config"]] == [f"{tmp_path.parent}/b.yml", "/c.yml"]
    assert d["config"] == {"path": "./d.yml"}
    assert read.patches[1]["merge"] == {"path": f"{tmp_path}/e.yml"}
