"""Lists of rows in which one provider takes the place of another, and trees in trees."""

from __future__ import annotations

from typing import Any

import pytest

from vendor_shims.cordis import Context, FiberState, ServiceConflict
from vendor_shims.group import Group
from vendor_shims.loader import (
    EXIT,
    DuplicateEntry,
    EntryError,
    EntryTree,
    InvalidEntry,
    LoaderError,
    UnknownEntry,
)


def row(name: str, /, **options: Any) -> dict[str, Any]:
    return {"id": name, "name": name, **options}


def group(entry_id: str, *inner: dict[str, Any], **options: Any) -> dict[str, Any]:
    return {"id": entry_id, "name": "cordis:group", "group": True, "config": list(inner), **options}


@pytest.fixture
async def w(w):
    w.plugin("db", provides="db")
    w.plugin("db2", provides="db")
    w.plugin("uses", inject=["db"])
    return w


async def test_row_that_vanishes_makes_room_for_one_that_provides_the_same(w):
    await w.loader.update_rows([row("db"), row("uses")])
    await w.loader.update_rows([row("db2"), row("uses")])
    await w.settle()
    assert w.fiber("uses").ctx.db == "db2"
    assert [entry.id for entry in w.loader.entries()] == ["db2", "uses"]


async def test_two_rows_can_exchange_what_they_run(w):
    await w.loader.update_rows([row("db"), row("foo"), row("uses")])
    await w.loader.update_rows([row("db", name="foo"), row("foo", name="db"), row("uses")])
    await w.settle()
    assert w.fiber("uses").state is FiberState.ACTIVE
    assert w.fiber("foo").state is FiberState.ACTIVE


async def test_provider_in_a_new_group_takes_over_from_a_vanished_one(w):
    await w.loader.update_rows([row("db"), row("uses")])
    await w.loader.update_rows([group("g", row("db2")), row("uses")])
    await w.settle()
    assert w.fiber("uses").ctx.db == "db2"


async def test_conflict_that_stays_brings_everything_back(w):
    await w.loader.update_rows([row("db"), row("bar"), row("uses")])
    with pytest.raises(EntryError) as caught:
        await w.loader.update_rows([row("db"), row("db2"), row("uses"), row("foo")])
    assert isinstance(caught.value.__cause__, ServiceConflict)
    await w.settle()
    assert [entry.id for entry in w.loader.entries()] == ["db", "bar", "uses"]
    assert {entry.fiber.state for entry in w.loader.entries()} == {FiberState.ACTIVE}


async def test_what_failed_before_an_update_does_not_count_against_it(w):
    w.plugin("bad", fails=lambda _: True)
    await w.loader.load_rows([row("bad"), row("foo")])
    await w.loader.update_rows([row("bad"), row("foo"), row("bar")])
    assert [entry.id for entry in w.loader.entries()] == ["bad", "foo", "bar"]
    assert w.fiber("bad").state is FiberState.FAILED


async def test_what_is_no_plugin_fails_when_it_is_mounted(w):
    w.loader.resolver.register("number", 7)
    with pytest.raises(EntryError, match="expected a function, a class"):
        await w.create("number")
    assert repr(await w.create("foo")) == "<Entry foo (foo)>"


class Inner(EntryTree):
    """A tree of rows inside a row."""

    inject = ("loader",)
    is_config_literal = True

    def __init__(self, ctx: Context, config: list[Any]) -> None:
        super().__init__(ctx, ctx.loader.origin, entry=ctx.fiber.entry)
        self.rows = config

    async def start(self) -> None:
        await self.load_rows(self.rows)


@pytest.fixture
async def nested(w):
    w.loader.resolver.register("inner", Inner)
    await w.create("inner", config=[row("foo"), group("g", row("bar"))])
    return w


async def test_ids_lead_through_nested_trees(nested):
    w = nested
    assert [entry.path for entry in w.loader.entries()] == [
        "inner",
        "inner:foo",
        "inner:g",
        "inner:bar",
    ]
    assert w.loader.locate(w.fiber("inner:bar")) == "inner:bar"
    assert w.loader.locate(w.root.fiber) is None
    assert await w.loader.create(row("qux"), parent="inner:g") == "qux"
    assert await w.loader.create({"id": "qux2", "name": "qux"}, parent="inner") == "qux2"
    await w.loader.update("inner:foo", {"config": 1})
    assert w.fiber("inner:foo").config == 1
    await w.loader.remove("inner:g")
    for wrong in ("inner:bar", "foo", "inner:foo:x", "nowhere:foo"):
        with pytest.raises(UnknownEntry):
            w.loader.resolve(wrong)
    with pytest.raises(UnknownEntry):
        await w.loader.remove("inner:foo:x")
    await w.loader.remove("inner")
    assert list(w.loader.entries()) == []


async def test_row_does_not_move_to_another_tree(nested):
    w = nested
    await w.create("qux")
    with pytest.raises(LoaderError, match="another tree"):
        await w.loader.update("qux", {}, parent="inner")
    assert w.fiber("qux").state is FiberState.ACTIVE


async def test_two_trees_may_use_one_id(nested):
    await nested.create("foo")
    assert nested.fiber("foo") is not nested.fiber("inner:foo")


async def test_group_config_that_is_no_list_of_rows(w):
    for config in ({"a": 1}, "foo", [7]):
        with pytest.raises((EntryError, InvalidEntry)):
            await w.loader.create(group("g") | {"config": config})
    assert list(w.loader.entries()) == []
    await w.loader.create({"id": "empty", "name": "cordis:group", "group": True})
    with pytest.raises(EntryError):
        await w.loader.update("empty", {"config": 3})
    assert w.fiber("empty").state is FiberState.ACTIVE
    fiber = w.root.plugin(Group, [])
    with pytest.raises(InvalidEntry, match="runs in a row"):
        await fiber
    await fiber.dispose()


async def test_id_of_another_group_is_taken(w):
    await w.loader.update_rows([group("g", row("foo")), group("h")])
    with pytest.raises(DuplicateEntry):
        await w.loader.create(row("foo"), parent="h")


async def test_exit_is_announced_and_does_nothing_by_itself(w):
    heard: list[Any] = []
    w.root.on(EXIT, heard.append)
    w.loader.exit("SIGTERM")
    assert heard == ["SIGTERM"]
    assert w.loader.get_tasks() == []
