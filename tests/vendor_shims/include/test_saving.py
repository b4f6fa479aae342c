"""What an include keeps of changes by code, and when it writes them."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from typing import Any

import anyio
import pytest

from vendor_shims.include import ConfigFileError, read_rows

MIB = 1024 * 1024


def rows_of(w: Any, name: str) -> list[dict[str, Any]]:
    return read_rows(str(w.folder / name)).rows


async def test_changes_without_a_file_for_them_last_as_long_as_the_tree(w):
    tree = await w.include(None, patches=[{"insert": [{"id": "a", "name": "foo", "config": 1}]}])
    await w.fiber("a").update(2)
    await tree.refresh()  # there is nothing to read again
    assert w.running() == {"a": 2}
    assert list(w.folder.iterdir()) == []


@pytest.mark.spec("01-J06")
async def test_changes_without_a_file_for_them_survive_an_edit_of_the_rows(w):
    path = w.file("rows.yml", "- {id: a, name: foo}\n- {id: b, name: bar}\n")
    tree = await w.include(patches=[{"id": "b", "config": 1}])
    await w.fiber("a").update(5)
    await w.loader.create({"id": "c", "name": "qux"}, parent="inc")
    assert path.read_text() == "- {id: a, name: foo}\n- {id: b, name: bar}\n"
    w.file("rows.yml", "- {id: a, name: foo}\n- {id: d, name: bar}\n")
    await tree.refresh()
    assert w.running() == {"a": 5, "c": None, "d": None}


@pytest.mark.spec("01-J06")
async def test_saved_changes_are_part_of_the_tree_when_the_rows_are_edited(w):
    w.file("rows.yml", "- {id: a, name: foo}\n")
    tree = await w.include(writeTo="user.yml")
    await w.fiber("a").update({"x": 1})
    w.file("rows.yml", "- {id: a, name: foo}\n- {id: b, name: bar}\n")
    await tree.refresh()
    await w.fiber("a").update({"x": 1, "y": 2})
    await tree.refresh()
    assert w.running() == {"a": {"x": 1, "y": 2}, "b": None}
    assert rows_of(w, "user.yml") == [{"id": "a", "config": {"x": 1, "y": 2}}]


@pytest.fixture
def held(monkeypatch):
    """Let the first replacement of a file fail as if another program held it; tell when it did."""
    replace, tried = os.replace, anyio.Event()

    def held_once(source: str, target: str) -> None:
        if not tried.is_set():
            tried.set()
            raise OSError(errno.EBUSY, "busy")
        replace(source, target)

    monkeypatch.setattr(os, "replace", held_once)
    return tried


async def until(done: Callable[[], bool]) -> None:
    """Wait without letting time pass on the kernel's clock, so that no retry begins."""
    while not done():
        await anyio.sleep(0.001)


async def passing(w: Any, done: Callable[[], bool]) -> None:
    """Let time pass on the kernel's clock until something is so."""
    while not done():
        await w.k.advance(0.05)
        await anyio.sleep(0.001)


@pytest.mark.spec("01-J09")
async def test_change_that_is_taken_back_while_the_file_is_held_writes_nothing(w, held):
    path = w.file("rows.yml", "- id: a\n  name: foo\n  config: 1\n")
    before = path.stat()
    tree = await w.include()
    await w.fiber("a").update(2)
    await until(held.is_set)
    await w.fiber("a").update(1)
    async with anyio.create_task_group() as tasks:
        done = anyio.Event()

        async def refresh() -> None:
            await tree.refresh()
            done.set()

        tasks.start_soon(refresh)
        await passing(w, done.is_set)
    after = path.stat()
    assert (before.st_ino, before.st_mtime_ns) == (after.st_ino, after.st_mtime_ns)


@pytest.mark.spec("01-J09")
async def test_what_comes_while_a_file_is_held_is_written_before_the_tree_ends(w, held):
    path = w.file("rows.yml", "- {id: a, name: foo}\n")
    await w.include()
    await w.fiber("a").update(1)
    await until(held.is_set)
    await w.fiber("a").update(2)
    async with anyio.create_task_group() as tasks:
        done = anyio.Event()

        async def remove() -> None:
            await w.loader.remove("inc")
            done.set()

        tasks.start_soon(remove)
        await passing(w, done.is_set)
    assert path.read_text() == "- {id: a, name: foo, config: 2}\n"


@pytest.mark.spec("01-J09")
async def test_file_of_rows_may_be_edited_while_code_changes_it(w):
    w.file("rows.yml", "- {id: a, name: foo}\n")
    tree = await w.include()
    await w.fiber("a").update(1)
    w.file("rows.yml", "# new\n- {id: a, name: foo}\n- {id: b, name: bar}\n")
    await tree.refresh()
    assert w.running() == {"a": 1, "b": None}
    assert (w.folder / "rows.yml").read_text() == (
        "# new\n- {id: a, name: foo, config: 1}\n- {id: b, name: bar}\n"
    )


@pytest.mark.spec("01-J09")
@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"- id: \xff\n", "not UTF-8"),
        (b"#" * (8 * MIB + 1), "more than 8388608 bytes"),
        (b"a: 1\n", "expected a list of rows"),
        (b"- {id: [1]}\n- 7\n", "item 2 must be a mapping"),
    ],
)
async def test_file_that_cannot_be_read_is_left_alone(w, content, problem):
    w.file("rows.yml", "- {id: a, name: foo}\n")
    user = w.folder / "user.yml"
    user.write_bytes(content)
    tree = await w.include(writeTo="user.yml")
    await w.fiber("a").update(1)
    await tree.refresh()
    assert user.read_bytes() == content
    assert w.running() == {"a": 1}
    assert any("changes are not saved" in line and problem in line for line in w.k.logged())


@pytest.mark.spec("01-J09")
async def test_folder_in_the_place_of_the_draft_is_left_alone(w):
    path = w.file("rows.yml", "- {id: a, name: foo}\n")
    (w.folder / "rows.yml.tmp").mkdir()
    tree = await w.include()
    await w.fiber("a").update(1)
    await tree.refresh()
    assert path.read_text() == "- {id: a, name: foo}\n"
    assert any("failed to write config file" in line for line in w.k.logged())


@pytest.mark.spec("01-J09")
async def test_content_that_could_not_be_read_again_is_not_written(w):
    text = '[{"id": "a", "name": "foo"}]'
    path = w.file("rows.json", text)
    tree = await w.include("rows.json")
    await w.fiber("a").update("x" * 8 * MIB)
    await tree.refresh()
    assert path.read_text() == text
    assert any("would have more than 8388608 bytes" in line for line in w.k.logged())
    await w.fiber("a").update("x")
    await tree.refresh()
    assert rows_of(w, "rows.json")[0]["config"] == "x"


def nested(depth: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(depth):
        value = [value]
    return value


def circle() -> dict[str, Any]:
    value: dict[str, Any] = {"x": 1}
    value["self"] = value
    return value


@pytest.mark.spec("01-J09")
@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ({"x": object()}, "no file can hold a value of type object"),
        ([{"x": {1, 2}}], "no file can hold a value of type set"),
        ({"x": {(1, 2): 3}}, "no file can hold a key of type tuple"),
        (nested(64), "no file can hold values nested deeper than 64 levels"),
        (nested(400), "nested"),
        (circle(), "a config set by code holds itself, or is nested too deep"),
    ],
)
async def test_value_that_no_file_can_hold_stays_in_the_tree_alone(w, value, problem):
    path = w.file("rows.yml", "- {id: a, name: foo}\n")
    tree = await w.include()
    await w.fiber("a").update(value)
    await tree.refresh()
    assert w.fiber("a").config is value
    assert path.read_text() == "- {id: a, name: foo}\n"
    assert any("changes are not saved" in line and problem in line for line in w.k.logged())
    await w.fiber("a").update(2)
    await tree.refresh()
    assert path.read_text() == "- {id: a, name: foo, config: 2}\n"


@pytest.mark.spec("01-J06")
async def test_edit_of_the_rows_waits_for_a_config_that_can_be_compared(w):
    w.file("rows.yml", "- {id: a, name: foo}\n")
    tree = await w.include(writeTo="user.yml")
    await w.fiber("a").update(circle())
    w.file("rows.yml", "- {id: a, name: foo}\n- {id: b, name: bar}\n")
    with pytest.raises(ConfigFileError, match="holds itself"):
        await tree.refresh()
    await w.fiber("a").update(3)
    await tree.refresh()
    assert w.running() == {"a": 3, "b": None}


@pytest.mark.spec("01-J01")
async def test_initial_rows_are_written_as_json_into_a_file_of_json(w):
    await w.include("new/rows.json", initial=[{"config": [1], "name": "foo", "id": "a"}])
    text = (w.folder / "new/rows.json").read_text()
    assert text.startswith('[\n  {\n    "id": "a",\n    "name": "foo",\n')
    assert w.running() == {"a": [1]}
