"""Rows come, change and go: one at a time and as whole lists."""

from __future__ import annotations

import asyncio
import re
from typing import Any, cast

import anyio
import pytest

from vendor_shims.cordis import Context, FiberState, ReentrantAwait
from vendor_shims.loader import (
    CyclicGroup,
    DuplicateEntry,
    EntryError,
    InvalidEntry,
    LoaderError,
    UnknownEntry,
)


def rows(*given: Any) -> list[dict[str, Any]]:
    """Return rows from names, or `(name, options)` pairs; a list as config makes a group."""
    made: list[dict[str, Any]] = []
    for one in given:
        name, options = one if isinstance(one, tuple) else (one, {})
        row = {"id": name, "name": name, **options}
        if isinstance(row.get("config"), list):
            row |= {"name": "cordis:group", "group": True}
        made.append(row)
    return made


def group(entry_id: str, *inner: Any, **options: Any) -> dict[str, Any]:
    return {"id": entry_id, "name": "cordis:group", "group": True, "config": rows(*inner)} | options


@pytest.mark.spec("01-I01")
async def test_row_without_id_gets_eight_hex_digits(w):
    entry_id = await w.loader.create({"name": "foo"})
    assert re.fullmatch("[0-9a-f]{8}", entry_id)
    assert w.taken() == ["+foo"]
    assert w.entry(entry_id).options == {"id": entry_id, "name": "foo"}
    assert w.writes == 1


@pytest.mark.spec("01-I02")
async def test_list_is_brought_to_another_list(w):
    await w.loader.update_rows(
        [*rows("foo"), group("g", ("bar", {"config": {"a": 1}}), ("qux", {"disabled": True}))]
    )
    assert sorted(w.taken()) == ["+bar {'a': 1}", "+foo"]
    await w.loader.update_rows(rows("foo", "qux"))
    assert sorted(w.taken()) == ["+qux", "-bar"]
    assert [entry.id for entry in w.loader.entries()] == ["foo", "qux"]


@pytest.mark.spec("01-I03")
async def test_config_that_code_gives_is_kept_in_the_row(w):
    w.plugin("picky", fails=lambda config: config == {"a": 0})
    await w.create("picky", config={"a": 1})
    await w.fiber("picky").update({"a": 3})
    assert w.loader.root.rows == [{"id": "picky", "name": "picky", "config": {"a": 3}}]
    with pytest.raises(ValueError, match="does not like"):
        await w.fiber("picky").update({"a": 0})
    await w.fiber("picky").update({"a": 5}, save=False)
    assert w.entry("picky").options["config"] == {"a": 3}
    assert w.writes == 2


@pytest.mark.spec("01-I03")
async def test_child_of_a_row_is_not_kept(w):
    children = []

    def apply(ctx: Context) -> None:
        children.append(ctx.plugin(lambda ctx, config: None, {"b": 1}))

    w.loader.resolver.register("parent", apply)
    await w.create("parent")
    await children[0].update({"b": 2})
    assert w.entry("parent").options == {"id": "parent", "name": "parent"}
    assert w.loader.locate(children[0]) == "parent"


@pytest.mark.spec("01-I04")
async def test_plugin_that_ends_itself_is_switched_off_for_good(w):
    await w.create("foo")
    await w.fiber("foo").dispose()
    assert w.entry("foo").options["disabled"] is True
    assert w.entry("foo").fiber is None
    assert w.writes == 2


@pytest.mark.spec("01-I04")
async def test_other_ends_are_not_kept(w):
    plugin = w.plugin("gone")
    await w.create("gone")
    await w.root.registry.unload(plugin)
    assert "disabled" not in w.entry("gone").options
    await w.create("foo")
    await w.loader.update("foo", {"disabled": True})
    await w.loader.update("foo", {"disabled": None})
    writes = w.writes
    entry = w.entry("foo")
    await w.root.close()
    assert "disabled" not in entry.options
    assert w.writes == writes


@pytest.mark.spec("01-I05")
async def test_row_that_awaits_the_loader_starts_when_nothing_moves(w):
    gate = anyio.Event()
    w.plugin("slow", before=gate.wait)
    w.plugin("waits", inject=["never"])
    w.plugin("last", inject=["loader"])
    await w.create("waits")
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(w.create, "slow")
        await w.settle()
        tasks.start_soon(lambda: w.create("last", intercept={"loader": {"await": True}}))
        await w.settle()
        assert w.taken() == []
        gate.set()
    await w.settle()
    assert w.taken() == ["+slow", "+last"]
    assert w.fiber("waits").state is FiberState.PENDING


@pytest.mark.spec("01-I05")
async def test_list_with_a_row_that_awaits_the_loader_is_loaded_whole(w):
    w.plugin("last", inject=["loader"])
    patient = ("last", {"intercept": {"loader": {"await": True}}})
    await w.loader.load_rows(rows(patient, "foo", "bar"))
    await w.settle()
    assert w.taken()[-1] == "+last"


@pytest.mark.spec("01-I06")
async def test_row_whose_plugin_fails_is_gone(w):
    w.plugin("bad", fails=lambda _: True)
    with pytest.raises(
        EntryError, match=r"failed to apply loader entry bad \(bad\): bad does not"
    ) as caught:
        await w.create("bad")
    assert isinstance(caught.value.__cause__, ValueError)
    assert caught.value.stage == "apply"
    assert w.loader.root.rows == []
    assert w.writes == 0
    with pytest.raises(UnknownEntry):
        w.entry("bad")


@pytest.mark.spec("01-I07")
async def test_unknown_plugin_fails_at_import(w):
    with pytest.raises(EntryError, match="failed to import loader entry x") as caught:
        await w.loader.create({"id": "x", "name": "no.such.module"})
    assert caught.value.stage == "import"
    with pytest.raises(EntryError, match=r"cordis:gruop.*did you mean 'cordis:group'"):
        await w.loader.create({"name": "cordis:gruop"})


@pytest.mark.spec("01-I08")
async def test_row_with_a_missing_service_is_fine(w):
    w.plugin("needs", inject=["db"])
    w.plugin("db", provides="db")
    await w.create("needs")
    assert w.fiber("needs").state is FiberState.PENDING
    await w.create("db")
    await w.settle()
    assert w.taken() == ["+db", "+needs"]


@pytest.mark.spec("01-I09")
async def test_other_config_restarts_the_same_fiber_once(w):
    await w.create("foo", config={"a": 1})
    fiber = w.fiber("foo")
    await w.loader.update("foo", {"config": {"a": 2}})
    assert w.fiber("foo") is fiber
    assert w.taken() == ["+foo {'a': 1}", "-foo", "+foo {'a': 2}"]
    await w.loader.update("foo", {"config": {"a": 2, "b": None}})
    assert w.taken() == []


@pytest.mark.spec("01-I10")
async def test_other_name_or_inject_makes_a_new_fiber(w):
    w.plugin("db", provides="db")
    await w.create("db")
    await w.create("foo")
    first = w.fiber("foo")
    w.taken()
    await w.loader.update("foo", {"inject": ["db"]})
    second = w.fiber("foo")
    assert second is not first
    assert "db" in second.inject
    assert w.taken() == ["-foo", "+foo"]
    await w.loader.update("foo", {"name": "bar"})
    assert w.taken() == ["-foo", "+bar"]
    third = w.fiber("foo")
    with pytest.raises(EntryError) as caught:
        await w.loader.update("foo", {"name": "no.such"})
    assert caught.value.stage == "import"
    assert w.fiber("foo") is third
    assert w.entry("foo").name == "bar"
    assert w.taken() == []


@pytest.mark.spec("01-I11")
async def test_failed_replacement_brings_the_old_plugin_back(w):
    w.plugin("bad", fails=lambda _: True)
    await w.create("foo", config={"a": 1})
    old = w.fiber("foo")
    with pytest.raises(EntryError, match="failed to apply"):
        await w.loader.update("foo", {"name": "bad", "config": {"a": 2}})
    assert w.fiber("foo") is not old
    assert w.entry("foo").options == {"id": "foo", "name": "foo", "config": {"a": 1}}
    assert w.taken() == ["+foo {'a': 1}", "-foo", "+foo {'a': 1}"]


@pytest.mark.spec("01-I12")
async def test_config_that_fails_is_taken_back(w):
    w.plugin("picky", fails=lambda config: config == {"a": 0})
    await w.create("picky", config={"a": 1})
    fiber = w.fiber("picky")
    with pytest.raises(EntryError, match="failed to apply"):
        await w.loader.update("picky", {"config": {"a": 0}})
    assert w.fiber("picky") is fiber
    assert fiber.state is FiberState.ACTIVE
    assert fiber.config == {"a": 1}
    assert w.entry("picky").options["config"] == {"a": 1}
    assert w.writes == 1


async def test_failing_way_back_tells_both_causes(w):
    w.plugin("dies", fails=lambda config: bool(w.log))
    await w.create("dies", config=1)
    with pytest.raises(EntryError, match="failed to rollback") as caught:
        await w.loader.update("dies", {"config": 2})
    assert isinstance(caught.value.__cause__, ExceptionGroup)
    assert len(caught.value.__cause__.exceptions) == 2


@pytest.mark.spec("01-I13")
async def test_disabled_row_stays_and_comes_back(w):
    await w.create("foo")
    await w.loader.update("foo", {"disabled": True})
    assert w.entry("foo").fiber is None
    assert w.entry("foo").options["disabled"] is True
    await w.loader.update("foo", {"disabled": None})
    assert "disabled" not in w.entry("foo").options
    assert w.taken() == ["+foo", "-foo", "+foo"]


@pytest.mark.spec("01-I14")
async def test_failing_row_undoes_the_whole_list(w):
    w.plugin("bad", fails=lambda _: True)
    await w.loader.update_rows(rows(("foo", {"config": 1})))
    with pytest.raises(EntryError, match="loader entry bad"):
        await w.loader.update_rows(rows(("foo", {"config": 2}), "bar", "bad"))
    assert w.fiber("foo").config == 1
    assert [entry.id for entry in w.loader.entries()] == ["foo"]
    assert w.taken()[-1] == "+foo 1"
    await w.loader.update_rows(rows(("foo", {"config": 2}), "bar"))
    assert [entry.id for entry in w.loader.entries()] == ["foo", "bar"]


@pytest.mark.spec("01-I14")
async def test_several_failing_rows_are_all_told(w):
    w.plugin("bad", fails=lambda _: True)
    w.plugin("worse", fails=lambda _: True)
    with pytest.raises(ExceptionGroup) as caught:
        await w.loader.update_rows(rows("bad", "worse"))
    assert len(caught.value.exceptions) == 2
    assert w.loader.root.rows == []


@pytest.mark.spec("01-I15")
async def test_rows_start_at_the_same_time(w):
    gate = anyio.Event()
    w.plugin("slow", before=gate.wait)

    async def fast() -> None:
        gate.set()

    w.plugin("fast", before=fast)
    await w.loader.update_rows(rows("slow", "fast"))
    assert w.taken() == ["+fast", "+slow"]


@pytest.mark.spec("01-I16")
async def test_two_rows_with_one_id_are_refused(w):
    with pytest.raises(DuplicateEntry, match="duplicate loader entry foo") as caught:
        await w.loader.update_rows([*rows("foo"), group("g", "foo")])
    assert isinstance(caught.value, TypeError)
    assert w.taken() == []
    await w.create("foo")
    with pytest.raises(DuplicateEntry):
        await w.create("foo")


@pytest.mark.parametrize(
    "row",
    [
        7,
        {"id": "x"},
        {"id": 3, "name": "foo"},
        {"id": "a:b", "name": "foo"},
        {"id": "x", "name": "foo", "isolate": ["db"]},
        {"id": "x", "name": "foo", "isolate": {"db": 4}},
        {"id": "x", "name": "foo", "group": "yes"},
        {"id": "x", "name": "foo", "disabled": "no"},
        {"id": "x", "name": "foo", "disabled": 0},
        {"id": "x", "name": "foo", "disabled": ["a"]},
        {"id": "x", "name": "foo", "inject": "db"},
        {"id": "x", "name": "foo", "inject": 5},
        {"id": "x", "name": "foo", "inject": [["db"]]},
    ],
)
async def test_what_is_no_row_is_refused(w, row):
    with pytest.raises(InvalidEntry):
        await w.loader.update_rows([row])
    assert list(w.loader.entries()) == []


@pytest.mark.spec("01-I17")
async def test_group_switches_the_rows_in_it(w):
    await w.loader.update_rows([group("out", ("in", {"config": rows("foo")}), "bar")])
    w.taken()
    await w.loader.update("in", {"disabled": True})
    assert w.taken() == ["-foo"]
    await w.loader.update("out", {"disabled": True})
    assert w.taken() == ["-bar"]
    await w.loader.update("in", {"disabled": None})
    assert w.taken() == []
    assert w.fiber("in").state is FiberState.ACTIVE
    await w.loader.update("out", {"disabled": None})
    assert sorted(w.taken()) == ["+bar", "+foo"]


@pytest.mark.spec("01-I18")
async def test_moving_between_groups_reloads_nothing(w):
    await w.loader.update_rows([group("a", "foo"), group("b", "bar"), group("off", disabled=True)])
    fiber = w.fiber("foo")
    w.taken()
    await w.loader.update("foo", {}, parent="b")
    assert w.taken() == []
    assert w.fiber("foo") is fiber
    assert fiber.parent is w.fiber("b")
    assert [entry.id for entry in w.entry("b").subgroup.entries] == ["bar", "foo"]
    await w.loader.update("foo", {}, parent="off")
    assert w.taken() == ["-foo"]
    await w.loader.create({"id": "off2", "name": "cordis:group", "group": True, "disabled": True})
    await w.loader.update("foo", {}, parent="off2")
    assert w.taken() == []
    await w.loader.update("foo", {}, parent=None, position=0)
    assert w.taken() == ["+foo"]
    assert w.loader.root.entries[0].id == "foo"
    await w.loader.remove("a")
    assert w.fiber("foo").state is FiberState.ACTIVE


async def test_moved_row_ends_with_its_new_group(w):
    await w.loader.update_rows([group("a", "foo"), group("b")])
    await w.loader.update("foo", {}, parent="b")
    w.taken()
    await w.loader.remove("b")
    assert w.taken() == ["-foo"]
    with pytest.raises(UnknownEntry):
        w.entry("foo")


async def test_group_cannot_stand_below_itself(w):
    await w.loader.update_rows([group("a", ("b", {"config": rows("foo")}))])
    with pytest.raises(CyclicGroup):
        await w.loader.update("a", {}, parent="b")
    with pytest.raises(CyclicGroup):
        await w.loader.update("a", {}, parent="a")
    with pytest.raises(LoaderError, match="not a mounted group"):
        await w.loader.update("a", {}, parent="foo")


async def test_row_that_moves_in_a_list_starts_in_its_new_group(w):
    await w.loader.update_rows([*rows("foo"), group("g", "bar")])
    w.taken()
    await w.loader.update_rows([*rows("bar"), group("g", "foo")])
    assert sorted(w.taken()) == ["+bar", "+foo", "-bar", "-foo"]
    assert w.entry("foo").group.entry is w.entry("g")
    w.plugin("bad", fails=lambda _: True)
    with pytest.raises(EntryError):
        await w.loader.update_rows([*rows("foo", "bad"), group("g", "bar")])
    assert w.entry("foo").group.entry is w.entry("g")
    assert w.entry("bar").group is w.loader.root


@pytest.mark.spec("01-I27")
async def test_failed_move_is_undone(w):
    w.plugin("picky", fails=lambda config: config == 0)
    await w.loader.update_rows([group("a", "foo", ("picky", {"config": 1})), group("b")])
    with pytest.raises(EntryError):
        await w.loader.update("picky", {"config": 0}, parent="b", position=0)
    assert w.entry("picky").group.entry is w.entry("a")
    assert [entry.id for entry in w.entry("a").subgroup.entries] == ["foo", "picky"]
    assert w.entry("picky").options["config"] == 1
    assert w.fiber("picky").parent is w.fiber("a")


@pytest.mark.spec("01-I28")
async def test_removed_row_is_unknown(w):
    await w.create("foo")
    await w.loader.remove("foo")
    assert w.taken() == ["+foo", "-foo"]
    assert w.loader.root.rows == []
    with pytest.raises(UnknownEntry, match="cannot resolve entry foo"):
        w.entry("foo")


@pytest.mark.spec("01-I32")
async def test_waiting_for_the_tree_raises_what_failed(w):
    w.plugin("bad", fails=lambda _: True)
    w.plugin("worse", fails=lambda _: True)
    w.plugin("needs", inject=["never"])
    await w.loader.load_rows(rows("foo", "needs"))
    await w.loader.wait()
    await w.loader.root.load(rows("bad"))
    with pytest.raises(EntryError, match="bad"):
        await w.loader.wait()
    await w.loader.root.load(rows(("nowhere", {"name": "no.such"})))
    with pytest.raises(ExceptionGroup) as caught:
        await w.loader.wait()
    stages = [one.stage for one in caught.value.exceptions if isinstance(one, EntryError)]
    assert stages == ["apply", "import"]


@pytest.mark.spec("01-I32")
async def test_waiting_follows_a_row_that_still_starts(w):
    gate = anyio.Event()
    w.plugin("slow", before=gate.wait, inject=["db"])
    w.plugin("db", provides="db")
    await w.create("slow")
    await w.create("db")
    async with anyio.create_task_group() as tasks:
        done = anyio.Event()

        async def wait() -> None:
            await w.loader.wait()
            done.set()

        tasks.start_soon(wait)
        await w.settle()
        assert not done.is_set()
        gate.set()


@pytest.mark.spec("01-I33")
async def test_operations_come_one_after_another(w):
    async with anyio.create_task_group() as tasks:
        for number in range(5):
            tasks.start_soon(lambda n=number: w.loader.create({"id": f"r{n}", "name": "foo"}))
        tasks.start_soon(lambda: w.loader.update("r0", {"config": 1}))
        tasks.start_soon(lambda: w.loader.remove("r1"))
    assert [entry.id for entry in w.loader.entries()] == ["r0", "r2", "r3", "r4"]
    assert w.fiber("r0").config == 1


@pytest.mark.spec("01-I34")
async def test_tree_that_ends_during_an_operation_keeps_nothing(w):
    gate = anyio.Event()
    w.plugin("slow", before=gate.wait)
    ended = []

    async def create() -> None:
        try:
            await w.loader.create({"id": "slow", "name": "slow"})
        except EntryError as error:
            ended.append(error)
        else:
            ended.append(None)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(create)
        await w.settle()
        await w.root.close()
    assert len(ended) == 1
    assert w.writes == 0


async def test_setup_that_awaits_an_operation_on_its_own_tree_is_told(w):
    async def apply(ctx: Context) -> None:
        await ctx.loader.create({"name": "foo"})

    apply.inject = ["loader"]
    w.loader.resolver.register("self-made", apply)
    with pytest.raises(EntryError) as caught:
        await w.create("self-made")
    assert isinstance(caught.value.__cause__, ReentrantAwait)


@pytest.mark.spec("01-I38")
async def test_rows_are_logged_when_the_tree_logs(w):
    await w.create("foo")
    assert w.k.logged("info") == []
    w.loader.enable_logs = True
    await w.loader.update("foo", {"config": 1})
    await w.loader.remove("foo")
    await w.loader.create(group("g", "bar"))
    assert w.k.logged("info") == [
        "loader: reload plugin foo",
        "loader: unload plugin foo",
        "loader: apply plugin bar",
    ]


async def test_option_without_meaning_is_kept_and_told_once(w):
    entry_id = await w.loader.create({"name": "foo", "colour": "red"})
    await w.loader.update(entry_id, {"config": {"a": 1}})
    assert w.entry(entry_id).row["colour"] == "red"
    warnings = [line for line in w.k.logged("warn") if "colour" in line]
    assert len(warnings) == 1
    assert f"row {entry_id}: the option colour means nothing" in warnings[0]


@pytest.mark.spec("01-I04")
async def test_plugin_that_ends_itself_beside_an_operation_is_written_when_that_is_over(w):
    written: list[list[dict[str, Any]]] = []
    cast("Any", w.loader).write = lambda: written.append(w.loader.root.rows)
    gate = anyio.Event()
    w.plugin("slow", before=gate.wait, fails=lambda config: config == "no")
    await w.create("foo")
    written.clear()
    async with anyio.create_task_group() as tasks:

        async def create() -> None:
            with pytest.raises(EntryError):
                await w.create("slow", config="no")

        tasks.start_soon(create)
        await w.k.advance(1)
        await w.fiber("foo").dispose()
        assert written == []
        gate.set()
    assert written == [[{"id": "foo", "name": "foo", "disabled": True}]]


@pytest.mark.spec("01-I04")
async def test_config_by_code_beside_an_operation_is_written_without_what_is_undone(w):
    written: list[list[dict[str, Any]]] = []
    cast("Any", w.loader).write = lambda: written.append(w.loader.root.rows)
    gate = anyio.Event()
    w.plugin("picky", before=gate.wait, fails=lambda config: config == "no")
    await w.loader.load_rows(rows("foo", ("slow", {"name": "foo", "config": "yes"})))
    written.clear()
    async with anyio.create_task_group() as tasks:

        async def update() -> None:
            with pytest.raises(EntryError):
                await w.loader.update("slow", {"name": "picky", "config": "no"})

        tasks.start_soon(update)
        await w.k.advance(1)
        await w.fiber("foo").update(7)
        assert written == []
        gate.set()
    assert written == [
        [
            {"id": "foo", "name": "foo", "config": 7},
            {"id": "slow", "name": "foo", "config": "yes"},
        ]
    ]


@pytest.mark.spec("01-I14")
async def test_failed_update_restores_even_how_an_option_was_written(w):
    w.plugin("picky", fails=lambda config: config == "bad")
    before = [group("g") | {"isolate": {}}]
    await w.loader.load_rows(before)
    after = [group("g", ("picky", {"config": "bad"})) | {"isolate": {"db": None}}]
    with pytest.raises(EntryError):
        await w.loader.update_rows(after)
    assert w.loader.root.rows == before


def services(w: Any) -> None:
    w.plugin("db", provides="db")
    w.plugin("uses-db", inject=["db"], fails=lambda config: config == "bad")
    w.plugin("picky", fails=lambda config: config == "bad")


@pytest.mark.spec("01-I14", "01-I33")
async def test_way_back_is_not_stopped_by_a_row_that_only_fails_on_it(w):
    services(w)
    waits = ("c", {"name": "uses-db", "config": "bad"})  # as long as there is no db
    before = rows(("b", {"name": "foo"}))
    before.insert(0, group("h", ("a", {"name": "foo"}), waits))
    await w.loader.load_rows(before)
    after = [
        group("h", ("c", {"name": "foo"}), ("b", {"name": "db"})),
        *rows(("a", {"name": "picky", "config": "bad"})),
    ]
    with pytest.raises(EntryError, match="entry a"):
        await w.loader.update_rows(after)
    assert w.loader.root.rows == before
    assert w.fiber("c").state is FiberState.PENDING


@pytest.mark.spec("01-I14", "01-I33")
async def test_conflict_of_a_row_that_failed_before_is_not_overlooked(w):
    services(w)
    before = [
        group("h", ("e", {"name": "uses-db", "config": "bad"})),
        group("g", ("b", {"name": "db"})),
    ]
    await w.loader.load_rows(before)
    await w.settle()
    assert w.fiber("e").state is FiberState.FAILED
    after = [
        group("h", ("e", {"name": "db"}), ("c", {"name": "db"})),
        *rows(("b", {"name": "foo"})),
    ]
    with pytest.raises(EntryError, match="has been registered"):
        await w.loader.update_rows(after)
    assert w.loader.root.rows == before
    assert w.fiber("b").state is FiberState.ACTIVE


@pytest.mark.parametrize("error", [asyncio.CancelledError("of its own"), BaseException("odd")])
async def test_setup_that_raises_what_is_no_exception_is_a_row_that_failed(w, error):
    async def raises() -> None:
        raise error

    w.plugin("odd", before=raises)
    with pytest.raises(EntryError) as caught:
        await w.create("odd")
    assert caught.value.__cause__ is error
    assert list(w.loader.entries()) == []


async def test_cancelled_caller_is_no_failure_of_the_row(w):
    w.plugin("slow", before=asyncio.Event().wait)
    creating = asyncio.create_task(w.create("slow"))
    await w.settle()
    creating.cancel()
    with pytest.raises(asyncio.CancelledError):
        await creating
    assert list(w.loader.entries()) == []


async def test_setup_whose_error_has_no_text_is_a_row_that_failed(w):
    class Odd(Exception):
        def __str__(self) -> str:
            raise RuntimeError("no text")

    async def raises() -> None:
        raise Odd

    w.plugin("odd", before=raises)
    with pytest.raises(EntryError, match=r"entry odd \(odd\): \[unprintable Odd\]"):
        await w.create("odd")
    assert list(w.loader.entries()) == []
