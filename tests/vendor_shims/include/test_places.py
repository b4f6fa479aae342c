"""What a file of rows has wrong is said with its place in it, and no file includes itself."""

from __future__ import annotations

import os

import pytest

from vendor_shims.include import ConfigFileError, compose, parse_rows
from vendor_shims.loader import EntryError


@pytest.mark.spec("01-J01")
@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("- {id: a, name: foo}\n- {id: 5, name: foo}\n", "2:8: the id of a row must be a text"),
        ("- {id: a, name: foo}\n- {id: a, name: bar}\n", "2:8: the id 'a' stands in line 1"),
        (
            "- {id: a, name: foo}\n- {id: g, name: g, group: true, config: [\n  {id: a, name: a}]}",
            "3:8: the id 'a' stands in line 1",
        ),
        ("- {id: g, name: cordis:group, group: true, config: [3]}\n", "1:53: a row must be"),
        ("- id: a\n  config: 1\n", "1:3: row 'a': it names no plugin"),
        ("- id: a\n  name: foo\n  isolate: {db: 5}\n", "3:17: row 'a': isolate.db must be"),
        ("- name: foo\n  group: 7\n", r"2:10: row '\w{8}': group must be true or false"),
        ("- {id: 'a:b', name: foo}\n", "1:8: row 'a:b': an id has no `:`"),
    ],
)
async def test_rows_that_no_tree_takes_are_refused_with_their_place(w, text, problem):
    path = w.file("rows.yml", text)
    with pytest.raises(EntryError, match=rf"rows\.yml:{problem}") as caught:
        await w.include()
    cause = caught.value.__cause__
    assert isinstance(cause, ConfigFileError)
    assert (cause.file, cause.stage) == (str(path), "validate")
    path.write_text("- {id: a, name: foo}\n")
    tree = await w.include()
    path.write_text(text)
    with pytest.raises(ConfigFileError, match=rf"rows\.yml:{problem}"):
        await tree.refresh()
    assert w.running() == {"a": None}


async def test_row_of_a_patch_is_refused_without_a_place_in_the_file(w):
    w.file("rows.yml", "- {id: a, name: foo}\n")
    with pytest.raises(EntryError, match="row 'b': it names no plugin") as caught:
        await w.include(patches=[{"insert": [{"id": "b"}]}])
    assert "rows.yml" not in str(caught.value)


async def test_file_that_includes_itself_by_any_way_is_refused(w):
    w.file("rows.yml", "- {id: in, name: cordis:include, config: {path: sub/two.yml}}\n")
    (w.folder / "sub").mkdir()
    os.symlink(w.folder / "rows.yml", w.folder / "sub" / "link.yml")
    w.file("sub/two.yml", "- {id: in, name: cordis:include, config: {path: link.yml}}\n")
    with pytest.raises(EntryError, match=r"it includes itself: rows\.yml > two\.yml > link\.yml"):
        await w.include()


async def test_file_may_be_included_twice_side_by_side(w):
    w.file("leaf.yml", "- {id: a, name: foo}\n")
    row = "- {{id: {}, name: cordis:include, config: {{path: leaf.yml}}}}\n"
    w.file("rows.yml", row.format("x") + row.format("y"))
    await w.include()
    assert w.taken() == ["+foo", "+foo"]


async def test_place_of_a_row_is_that_in_the_file_as_last_taken(w):
    path = w.file("rows.yml", "- {id: a, name: foo, config: {x: 1}}\n- name: bar\n")
    tree = await w.include()
    assert str(tree.place("a")) == f"{path}:1:3"
    assert str(tree.place("a", "config", "x")) == f"{path}:1:34"
    assert str(tree.place("a", "config", "none")) == f"{path}:1:30"
    [_, bar] = tree.entries()
    assert str(bar.tree.place(bar.id, "name")) == f"{path}:2:9"
    assert tree.place("none") is None
    path.write_text("# moved\n- {id: a, name: foo, config: {x: 1}}\n")
    await tree.refresh()
    assert str(tree.place("a")) == f"{path}:2:3"
    await w.loader.create({"id": "b", "name": "foo"}, parent="inc")
    await tree.refresh()  # waits for the file
    assert str(tree.place("b")) == f"{path}:3:3"
    assert w.loader.place("inc") is None


def test_rows_below_layers_are_a_layer_of_their_own():
    document = parse_rows("- id: a\n  name: foo\n- name: bar\n", file="rows.yml")
    composed = compose([], rows=document)
    assert [row["name"] for row in composed.rows] == ["foo", "bar"]
    assert [(layer.name, layer.kind) for layer in composed.layers] == [("rows.yml", "rows")]
    assert composed.origin("a") == ("rows.yml",)
    assert str(composed.place(composed.rows[1]["id"], "name")) == "rows.yml:3:9"
