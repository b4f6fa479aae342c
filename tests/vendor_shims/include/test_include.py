"""Rows in a file: mounted, followed, patched, and written back."""

from __future__ import annotations

import os
import stat
from typing import Any

import anyio
import pytest

from vendor_shims.expressions import Expression
from vendor_shims.include import ConfigFileError, read_rows
from vendor_shims.loader import EntryError


def rows_of(w: Any, name: str = "rows.yml") -> list[dict[str, Any]]:
    return read_rows(str(w.folder / name)).rows


@pytest.mark.spec("01-J01")
@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("rows.yml", "- id: a\n  name: foo\n  config: 1\n"),
        ("rows.yaml", "[{id: a, name: foo, config: 1}]\n"),
        ("rows.json", '[{"id": "a", "name": "foo", "config": 1}]'),
    ],
)
async def test_list_of_rows_is_mounted(w, name, text):
    w.file(name, text)
    tree = await w.include(name)
    assert w.running() == {"a": 1}
    assert tree.ctx.base_dir == str(w.folder)
    assert w.entry("a").path == "inc:a"


@pytest.mark.spec("01-J01")
@pytest.mark.parametrize(
    ("name", "text", "stage", "message"),
    [
        ("rows.txt", "[]", None, r'extension "\.txt" not supported'),
        ("rows.yml", "a: 1\n", "validate", "list"),
        ("rows.yml", "", "validate", "list"),
        ("rows.yml", "7\n", "validate", "list"),
        ("rows.yml", "- [1\n", "parse", r"rows\.yml:\d+:\d+"),
        ("rows.json", "[1,", "parse", r"rows\.json:\d+:\d+"),
        ("rows.yml", None, "read", "config file not found"),
        ("rows.yml", b"- id: \xff\n", "read", r"rows\.yml"),
    ],
)
async def test_file_that_cannot_be_taken_says_why_and_stays(w, name, text, stage, message):
    path = w.folder / name
    before = b""
    if text is not None:
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        before = path.read_bytes()
    with pytest.raises(EntryError, match=message) as caught:
        await w.include(name)
    cause = caught.value.__cause__
    assert isinstance(cause, ConfigFileError) or stage is None
    assert stage is None or getattr(cause, "stage", None) == stage
    if text is not None:
        assert path.read_bytes() == before
    else:
        assert not path.exists()


@pytest.mark.spec("01-J01")
async def test_missing_file_is_written_from_initial_rows(w):
    await w.include(initial=[{"id": "a", "name": "foo", "config": 1}])
    assert w.running() == {"a": 1}
    assert rows_of(w) == [{"id": "a", "name": "foo", "config": 1}]
    await w.loader.remove("inc")
    w.file("rows.yml", "- {id: b, name: bar}\n")
    await w.include(initial=[{"id": "a", "name": "foo"}])
    assert w.running() == {"b": None}


@pytest.mark.spec("01-J02")
async def test_refresh_takes_good_edits_and_only_these(w):
    w.plugin("bad", fails=lambda _: True)
    good = "- {id: a, name: foo, config: 1}\n- {id: b, name: bar}\n"
    w.file("rows.yml", good)
    tree = await w.include()
    fiber = w.fiber("b")
    w.file("rows.yml", "- {id: a, name: foo, config: 2}\n- {id: b, name: bar}\n")
    await tree.refresh()
    assert w.running() == {"a": 2, "b": None}
    assert w.fiber("b") is fiber
    for broken in ("- [", "a: 1\n", good + "- {id: c, name: bad}\n"):
        w.file("rows.yml", broken)
        with pytest.raises((ConfigFileError, EntryError)):
            await tree.refresh()
        assert w.running() == {"a": 2, "b": None}
    w.taken()
    w.file("rows.yml", "- {id: a, name: foo, config: 2}\n- {id: b, name: bar}\n")
    await tree.refresh()
    assert w.taken() == []
    w.file("rows.yml", good)
    await tree.refresh()
    assert w.running() == {"a": 1, "b": None}


@pytest.mark.spec("01-I36")
async def test_rows_without_id_keep_their_fibers_when_the_file_is_read_again(w):
    w.file("rows.yml", "- name: foo\n- name: foo\n- name: bar\n")
    tree = await w.include()
    before = {entry.id: entry.fiber for entry in tree.entries()}
    assert len(before) == 3
    w.taken()
    w.file("rows.yml", "# a comment\n- name: foo\n- name: foo\n- name: bar\n- name: qux\n")
    await tree.refresh()
    assert w.taken() == ["+qux"]
    after = {entry.id: entry.fiber for entry in tree.entries()}
    assert {key: after[key] for key in before} == before


@pytest.mark.spec("01-J06")
async def test_patches_lie_over_the_file_and_can_change_in_place(w):
    w.file("rows.yml", "- {id: a, name: foo, config: 1}\n- {id: b, name: bar}\n")
    tree = await w.include(patches=[{"id": "a", "config": 5}])
    assert w.running() == {"a": 5, "b": None}
    w.file("rows.yml", "- {id: a, name: foo, config: 2}\n- {id: b, name: bar, config: 1}\n")
    await tree.refresh()
    assert w.running() == {"a": 5, "b": 1}
    include, untouched = w.loader.resolve("inc").fiber, w.fiber("b")
    w.taken()
    patches = [{"id": "a", "config": 6}]
    await w.loader.update("inc", {"config": {"path": "rows.yml", "patches": patches}})
    assert w.taken() == ["-foo", "+foo 6"]
    await w.loader.update("inc", {"config": {"path": "rows.yml"}})
    assert w.running() == {"a": 2, "b": 1}
    assert w.fiber("b") is untouched
    assert w.loader.resolve("inc").fiber is include


@pytest.mark.spec("01-J06")
async def test_patches_that_fail_leave_everything_as_it_was(w):
    w.plugin("picky", fails=lambda config: config == 0)
    await w.include(None, patches=[{"insert": [{"id": "p", "name": "picky", "config": 1}]}])
    broken = [{"insert": [{"id": "p", "name": "picky", "config": 0}]}]
    with pytest.raises(EntryError):
        await w.loader.update("inc", {"config": {"patches": broken}})
    assert w.running() == {"p": 1}


@pytest.mark.spec("01-J07")
async def test_expression_in_a_patched_row_belongs_to_the_row(w):
    port = Expression("env.PORT")
    patches = [{"insert": [{"id": "a", "name": "foo", "config": {"at": port, "t": "${env.PORT}"}}]}]
    await w.include(None, patches=patches)
    assert w.running() == {"a": {"at": "8080", "t": "8080"}}
    assert w.entry("a").options["config"] == {"at": port, "t": "${env.PORT}"}
    config = {"patches": patches, "interpolate": "tags-only"}
    await w.loader.update("inc", {"config": config})
    assert w.running() == {"a": {"at": "8080", "t": "${env.PORT}"}}


@pytest.mark.spec("01-J08")
async def test_changes_by_code_go_into_the_user_layer_as_few_patches(w):
    base = w.file(
        "rows.yml", "# mine\n- {id: a, name: foo, config: {x: 1}}\n- {id: b, name: bar}\n"
    )
    user = w.file("user.yml", "# kept\n- id: b   # too\n  disabled: true\n\n# end\n")
    before = base.read_bytes()
    patches = [{"id": "b", "disabled": True}]
    tree = await w.include(patches=patches, writeTo="user.yml")
    await w.fiber("a").update({"x": 2})
    await w.loader.create({"id": "c", "name": "qux"}, parent="inc")
    await w.loader.update("inc:b", {"disabled": None})
    await tree.refresh()  # which waits for what is to be written
    assert base.read_bytes() == before
    text = user.read_text()
    assert text.startswith("# kept\n")
    assert "# end\n" in text
    layered = rows_of(w, "user.yml")
    assert {"id": "a", "merge": {"x": 2}} in layered
    running = w.running()
    await w.loader.remove("inc")
    await w.include(patches=layered)
    assert w.running() == running == {"a": {"x": 2}, "b": None, "c": None}


@pytest.mark.spec("01-J09")
async def test_changes_of_one_turn_are_written_once_into_the_file_itself(w):
    path = w.file("rows.yml", "# mine\n- id: a\n  name: foo\n# about b\n- id: b\n  name: bar\n")
    os.chmod(path, 0o640)
    tree = await w.include()
    await w.fiber("a").update(1)
    await w.fiber("a").update(2)
    await tree.refresh()  # which waits for what is to be written
    assert path.read_text() == (
        "# mine\n- id: a\n  name: foo\n  config: 2\n# about b\n- id: b\n  name: bar\n"
    )
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert [one.name for one in w.folder.iterdir()] == ["rows.yml"]


async def written(w: Any, tree: Any) -> None:
    """Let time pass on the kernel's clock until everything is written, or given up."""
    done = anyio.Event()

    async def wait() -> None:
        await tree.refresh()
        done.set()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(wait)
        while not done.is_set():
            await w.k.advance(0.05)
            await anyio.sleep(0.001)


@pytest.mark.spec("01-J09")
async def test_file_that_refuses_is_tried_again_and_then_logged(w, monkeypatch):
    path = w.file("rows.yml", "- id: a\n  name: foo\n")
    tree = await w.include()
    failures = iter([PermissionError(13, "held"), PermissionError(13, "held")])
    replace = os.replace

    def stubborn(source: str, target: str) -> None:
        for failure in failures:
            raise failure
        replace(source, target)

    monkeypatch.setattr(os, "replace", stubborn)
    await w.fiber("a").update(1)
    await written(w, tree)
    assert rows_of(w) == [{"id": "a", "name": "foo", "config": 1}]

    def never(_: str, __: str) -> None:
        raise PermissionError(13, "held")

    monkeypatch.setattr(os, "replace", never)
    await w.fiber("a").update(2)
    await written(w, tree)
    assert w.running() == {"a": 2}
    assert rows_of(w) == [{"id": "a", "name": "foo", "config": 1}]
    assert any("held" in line or "rows.yml" in line for line in w.k.logged())
    assert [one.name for one in path.parent.iterdir()] == ["rows.yml"]


@pytest.mark.spec("01-J09")
async def test_what_is_to_be_written_is_written_before_the_tree_ends(w):
    path = w.file("rows.yml", "- id: a\n  name: foo\n")
    await w.include()
    await w.fiber("a").update(1)
    await w.root.close()
    assert "config: 1" in path.read_text()


@pytest.mark.spec("01-J10")
async def test_refreshes_and_updates_come_one_after_another(w):
    gate = anyio.Event()
    w.plugin("slow", before=gate.wait, fails=lambda config: config == 0)
    w.file("rows.yml", "- {id: a, name: foo}\n")
    tree = await w.include()
    outcomes: list[str] = []

    async def refresh(name: str) -> None:
        try:
            await tree.refresh()
        except EntryError:
            outcomes.append(f"{name} failed")
        else:
            outcomes.append(name)

    async with anyio.create_task_group() as tasks:
        w.file("rows.yml", "- {id: s, name: slow, config: 0}\n")
        tasks.start_soon(refresh, "first")
        await w.k.settle()
        w.file("rows.yml", "- {id: b, name: bar}\n")
        tasks.start_soon(refresh, "second")
        patches = [{"insert": [{"id": "q", "name": "qux"}]}]
        config = {"path": "rows.yml", "patches": patches}
        tasks.start_soon(w.loader.update, "inc", {"config": config})
        await w.k.settle()
        assert outcomes == []
        gate.set()
    assert outcomes == ["first failed", "second"]
    assert w.running() == {"b": None, "q": None}


@pytest.mark.spec("01-J15")
async def test_include_that_ends_during_a_refresh_waits_for_it(w):
    gate = anyio.Event()
    w.plugin("slow", before=gate.wait)
    w.file("rows.yml", "- {id: a, name: foo}\n")
    tree = await w.include()
    w.file("rows.yml", "- {id: s, name: slow}\n")
    ended: list[str] = []

    async def refresh() -> None:
        try:
            await tree.refresh()
        except Exception as error:  # noqa: BLE001 - any ending will do, but there must be one
            ended.append(type(error).__name__)
        else:
            ended.append("refreshed")

    async def remove() -> None:
        await w.loader.remove("inc")
        ended.append("removed")

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(refresh)
        await w.k.settle()
        tasks.start_soon(remove)
        await w.k.settle()
        gate.set()
    assert "removed" in ended
    assert len(ended) == 2
    assert list(w.loader.entries()) == []


@pytest.mark.spec("01-I14")
@pytest.mark.parametrize("is_grouped", [False, True])
async def test_include_that_cannot_go_back_with_the_rows_around_it_is_told(w, is_grouped):
    seen: list[Any] = []

    def fails(config: Any) -> bool:
        seen.append(config)
        return config == 1 and seen.count(1) > 1  # it runs with 1 only once

    w.plugin("flaky", fails=fails)
    w.plugin("picky", fails=lambda _: True)

    def rows(config: int) -> list[dict[str, Any]]:
        patches = [{"insert": [{"id": "a", "name": "flaky", "config": config}]}]
        include = {"id": "inc", "name": "cordis:include", "config": {"patches": patches}}
        group = {"id": "g", "name": "cordis:group", "group": True, "config": [include]}
        return [group if is_grouped else include]

    await w.loader.load_rows(rows(1))
    with pytest.raises(ExceptionGroup) as caught:
        await w.loader.update_rows([*rows(2), {"id": "p", "name": "picky"}])
    first, second = map(str, caught.value.exceptions)
    assert "entry p (picky)" in first
    assert ("entry g" if is_grouped else "flaky does not like 1") in second
    assert [entry.id for entry in w.loader.entries()] == ["g", "inc", "a"][not is_grouped :]


async def test_named_pipe_is_refused_at_once(w):
    os.mkfifo(w.folder / "rows.yml")
    with pytest.raises(EntryError, match="is a named pipe, no file"):
        await w.include()
