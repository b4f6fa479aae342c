"""Files that get changes: those that cannot take them, and forms that only people write."""

from __future__ import annotations

import os
import stat
from typing import Any

import pytest

from vendor_shims.include import parse_rows, with_changed_rows, with_patches

ROW = {"id": "a", "name": "foo"}


async def saved(tree: Any) -> None:
    """Wait for what is to be written; the file of rows itself has not changed."""
    await tree.refresh()


@pytest.mark.spec("01-J09")
async def test_read_only_file_is_left_alone_and_the_tree_keeps_running(w):
    w.file("rows.yml", "- {id: a, name: foo}\n")
    user = w.file("user.yml", "[]\n")
    os.chmod(user, 0o444)
    tree = await w.include(writeTo="user.yml")
    await w.fiber("a").update(1)
    await saved(tree)
    assert user.read_text() == "[]\n"
    assert w.running() == {"a": 1}
    assert any(f"{user}: it is read-only" in line for line in w.k.logged())
    os.chmod(user, 0o644)
    await w.loader.create({"id": "b", "name": "bar"}, parent="inc")
    await saved(tree)
    assert parse_rows(user.read_text(), file="user.yml").rows == [
        {"insert": [{"id": "b", "name": "bar"}]},
        {"id": "a", "config": 1},
    ]


async def test_file_that_is_broken_at_the_moment_is_not_overwritten(w):
    w.file("rows.yml", "- {id: a, name: foo}\n")
    user = w.file("user.yml", "- {id: a,\n")
    tree = await w.include(writeTo="user.yml")
    await w.fiber("a").update(1)
    await saved(tree)
    assert user.read_text() == "- {id: a,\n"
    assert any("failed to parse config file" in line for line in w.k.logged())


async def test_link_permissions_and_byte_order_mark_stay(w):
    w.file("rows.yml", "- {id: a, name: foo}\n")
    real = w.folder / "dotfiles.yml"
    real.write_bytes(b"\xef\xbb\xbf# mine\r\n[]\r\n")
    os.chmod(real, 0o600)
    (w.folder / "user.yml").symlink_to(real)
    tree = await w.include(writeTo="user.yml")
    await w.fiber("a").update(1)
    await saved(tree)
    assert (w.folder / "user.yml").is_symlink()
    assert real.read_bytes() == b"\xef\xbb\xbf# mine\r\n- id: a\r\n  config: 1\r\n"
    assert stat.S_IMODE(real.stat().st_mode) == 0o600


async def test_file_and_its_folder_are_made_when_there_is_something_to_write(w):
    w.file("rows.yml", "- {id: a, name: foo}\n")
    tree = await w.include(writeTo="home/own/user.json")
    await saved(tree)
    assert not (w.folder / "home").exists()
    await w.fiber("a").update(1)
    await saved(tree)
    text = (w.folder / "home/own/user.json").read_text()
    assert parse_rows(text, file="f", format="json").rows == [{"id": "a", "config": 1}]


def changed(text: str, config: Any, *, file: str = "f.yml", **more: Any) -> str:
    """Return a text of rows in which row `a` got another config and options."""
    kind = "json" if file.endswith("json") else "yaml"
    before = parse_rows(text, file=file, format=kind).rows
    after = [row | {"config": config} | more if row["id"] == "a" else row for row in before]
    return with_changed_rows(text, before, after, file=file)


@pytest.mark.spec("01-J08")
@pytest.mark.parametrize(
    ("text", "config", "expected"),
    [
        pytest.param(
            "- id: a # one\n  config: 5 # two\n  name: foo\n",
            {"x": 1},
            "- id: a # one\n  config: # two\n    x: 1\n  name: foo\n",
            id="a block in the place of a word leaves the comment on the line of the key",
        ),
        pytest.param(
            "- id: a\n  config:\n    x: 1\n  name: foo # end\n",
            7,
            "- id: a\n  config: 7\n  name: foo # end\n",
            id="a word in the place of a block",
        ),
        pytest.param(
            "- config:\n    x: 1\n    y: 2 # kept\n  id: a\n  name: foo\n",
            {"y": 2},
            "- config:\n    y: 2 # kept\n  id: a\n  name: foo\n",
            id="the first of two keys goes",
        ),
        pytest.param(
            "- id: a\n  name: foo\n  config:\n    - 1 # one\n    - 2 # two\n    # after\n    - 3\n",
            [1, 3, 4],
            "- id: a\n  name: foo\n  config:\n    - 1 # one\n    # after\n    - 3\n    - 4\n",
            id="items come and go by line",
        ),
        pytest.param(
            "- id: a\n  name: foo\n  config:\n    - 2\n    - 3\n",
            [1, 2, 3],
            "- id: a\n  name: foo\n  config:\n    - 1\n    - 2\n    - 3\n",
            id="an item before the first",
        ),
        pytest.param(
            "- id: a\n  name: foo\n  config: {x: 1, y: [1, 2]} # flow\n",
            {"y": [1]},
            "- id: a\n  name: foo\n  config: {y: [1]} # flow\n",
            id="brackets stay brackets",
        ),
        pytest.param(
            "- id: a\n  name: foo\n  config: [\n    1, # one\n    2\n  ]\n",
            [1, 2, 3],
            "- id: a\n  name: foo\n  config: [\n    1, # one\n    2,\n    3\n  ]\n",
            id="an item at the end of brackets over lines",
        ),
        pytest.param(
            "- id: a\n  name: foo\n  config: [\n    1,\n    2\n  ]\n",
            [2],
            "- id: a\n  name: foo\n  config: [\n    2\n  ]\n",
            id="an item goes from brackets over lines",
        ),
        pytest.param(
            "- id: a\n  name: foo\n  config:\n    t: |+\n      text\n\n# end\n",
            {"t": "text\n\n", "u": 1},
            "- id: a\n  name: foo\n  config:\n    t: |+\n      text\n\n    u: 1\n# end\n",
            id="a text that keeps its empty lines",
        ),
        pytest.param(
            "- id: a\n  name: foo\n  config:\n    x: # nothing yet\n",
            {"x": "y"},
            "- id: a\n  name: foo\n  config:\n    x: y # nothing yet\n",
            id="a value for a key without one",
        ),
        pytest.param(
            "# mine\n- id: a\n  name: foo\n  config: &c {x: 1}\n- {id: b, name: bar, config: *c}\n",
            {"x": 2},
            "# mine\n- id: a\n  name: foo\n  config:\n    x: 2\n"
            "- id: b\n  name: bar\n  config:\n    x: 1\n",
            id="what an alias refers to is written anew, below the comments at the top",
        ),
        pytest.param(
            "- id: a\n  name: foo\n  config:\n    - - 1\n      - 2\n",
            [[2]],
            "- id: a\n  name: foo\n  config:\n    - - 2\n",
            id="a list on the line of a dash is written anew",
        ),
        pytest.param(
            "- id: a\n  name: foo\n  config:\n    - # why\n      x: 1\n    - y: 2\n",
            [{"y": 2}],
            "- id: a\n  name: foo\n  config:\n    - # why\n      {y: 2}\n",
            id="a comment between dash and item",
        ),
        pytest.param(
            "- id: a\n  name: foo",
            1,
            "- id: a\n  name: foo\n  config: 1",
            id="no line end at the end",
        ),
    ],
)
def test_change_keeps_the_form_around_it(text, config, expected):
    result = changed(text, config)
    assert result == expected
    assert parse_rows(result, file="f.yml").rows[0]["config"] == config


@pytest.mark.parametrize(
    ("text", "config", "expected"),
    [
        ('[{"id": "a", "p": 1}]', {"x": "é\n"}, '[{"id": "a", "p": 1, "config": {"x": "é\\n"}}]'),
        ('[\n  {\n    "id": "a",\n    "config": [1, 2]\n  }\n]\n', [],
         '[\n  {\n    "id": "a",\n    "config": []\n  }\n]\n'),
    ],
)  # fmt: skip
def test_json_stays_json(text, config, expected):
    assert changed(text, config, file="f.json") == expected


def test_row_with_nothing_left_of_it_but_its_id():
    before = [{"id": "a", "name": "foo", "disabled": True}]
    text = "- disabled: true\n  inject: [x]\n  id: a # mine\n"
    after = [{"id": "a", "name": "foo"}]
    result = with_patches(text, before, after, file="f.yml")
    (patch,) = parse_rows(result, file="f.yml").rows
    assert patch == {"disabled": None, "inject": ["x"], "id": "a"}
    assert "id: a # mine\n" in result


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_empty_list_becomes_lines_of_rows_below_its_comments(newline):
    text = "# mine\n[] # none yet\n# end\n".replace("\n", newline)
    expected = "# mine\n# none yet\n- id: a\n  disabled: true\n# end\n".replace("\n", newline)
    assert with_patches(text, [ROW], [ROW | {"disabled": True}], file="f.yml") == expected


def test_file_of_comments_gets_its_first_patch_below_them():
    after = [ROW | {"config": {"x": 1}}]
    assert with_patches("# mine", [ROW | {"config": {}}], after, file="f.yml") == (
        "# mine\n- id: a\n  merge:\n    x: 1\n"
    )
