"""Pictures, diagnoses, change streams and the watchdog (01 section 17.6)."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest

from vendor_shims.cordis import Change, Context, Service, Watch
from vendor_shims.testing import Kernel, kernel


class Db(Service):
    key = "db"

    def provide(self) -> None:
        """A method may bear the name of a declaration."""

    optional = provide


def app(ctx: Context) -> None:
    ctx.on("x", heard)
    ctx.effect(lambda: [ctx.on("y", heard)], "pair")
    ctx.plugin(child)


def child(ctx: Context) -> None:
    ctx.provide("inner", 1)


def heard() -> None: ...


app.inject = ["db"]


async def test_the_picture_is_plain_data(k: Kernel) -> None:
    async def work() -> None:
        await k.clock.sleep(1)

    k.root.plugin(Db)
    fiber = await k.root.plugin(app).active()
    k.root.isolate("db", "mine").provide("db", 2)
    fiber.ctx.spawn(work, name="worker")
    await k.settle()
    seen = json.loads(json.dumps(k.root.tree()))
    assert [one["name"] for one in seen["fibers"]] == ["root", "Db", "app", "child"]
    assert [one["uid"] for one in seen["fibers"]] == [0, 1, 2, 3]
    assert [one["parent"] for one in seen["fibers"]] == [None, 0, 0, 2]
    assert seen["fibers"][2] == {
        "uid": 2,
        "name": "app",
        "parent": 0,
        "entry": None,
        "state": "ACTIVE",
        "since": 0.0,
        "error": None,
        "unsatisfied": {},
        "site": None,
        "effects": [
            {"label": 'ctx.on("x")', "site": None, "children": []},
            {
                "label": "pair",
                "site": None,
                "children": [{"label": 'ctx.on("y")', "site": None, "children": []}],
            },
            {"label": "ctx.plugin()", "site": None, "children": []},
            {"label": 'ctx.spawn("worker")', "site": None, "children": []},
        ],
    }
    assert seen["bindings"] == [
        {"name": "db", "provider": "root", "realm": "mine", "dependents": []},
        {"name": "db", "provider": "Db", "realm": "default", "dependents": ["app"]},
        {"name": "inner", "provider": "child", "realm": "default", "dependents": []},
    ]
    (listener,) = seen["listeners"]["x"]
    assert listener["owner"] == "app"
    assert listener["listener"].endswith("heard")
    assert seen["tasks"] == [{"name": "worker", "owner": "app"}]
    await k.advance(1)


async def test_debug_trees_know_where_everything_was_registered() -> None:
    async with kernel(debug=True) as k:
        k.root.effect(lambda: None, "marked")
        (effect,) = k.root.tree()["fibers"][0]["effects"]
        assert effect["site"].startswith(f"{__file__}:")


async def test_the_diagnosis_names_failures_and_near_misses(k: Kernel) -> None:
    def failing(ctx: Context) -> None:
        raise ValueError("boom")

    failing.provide = {"cache"}

    def waits(ctx: Context) -> None: ...

    waits.inject = ["db", "cache", "unknown"]
    k.root.plugin(failing)
    k.root.isolate("db", "mine").provide("db", 1)
    k.root.plugin(waits)
    await k.settle()
    assert k.root.diagnose().split("\n") == [
        "failing is FAILED: ValueError: boom",
        (
            "waits is PENDING; needs db: nothing provides it (root provides it in another realm)"
            "; needs cache: nothing provides it (failing would, but is FAILED)"
            "; needs unknown: nothing provides it"
        ),
    ]


async def test_a_healthy_tree_needs_no_diagnosis(k: Kernel) -> None:
    await k.root.plugin(child)
    assert k.root.diagnose() == ""


async def test_an_unavailable_provider_is_no_near_miss(k: Kernel) -> None:
    async def slow(ctx: Context) -> None:
        ctx.provide("db", 1)
        await k.clock.sleep(1)

    k.root.plugin(slow)
    k.root.inject(["db"], lambda ctx: None)
    await k.settle()
    assert "needs db: slow is LOADING" in k.root.diagnose()
    await k.advance(1)


@pytest.mark.spec("01-C16")
async def test_every_circle_is_named_and_chains_are_not(k: Kernel) -> None:
    def plugin(name: str, needs: list[str]) -> Any:
        def apply(ctx: Context) -> None: ...

        apply.name, apply.provide, apply.inject = name, name, needs
        return apply

    needs = {"a": ["b", "c"], "b": ["a"], "c": ["a"], "d": ["a"], "e": ["e"], "f": ["a?"]}
    for name, names in needs.items():
        k.root.plugin(plugin(name, names))
    await k.settle()
    circles = [line for line in k.root.diagnose().split("\n") if "circular" in line]
    assert circles == [
        "circular requirement: a -> b -> a",
        "circular requirement: a -> c -> a",
        "circular requirement: e -> e",
    ]


async def test_a_long_circle_does_not_recurse(k: Kernel) -> None:
    n = 3000
    for number in range(n):

        def apply(ctx: Context) -> None: ...

        apply.name, apply.provide = f"p{number}", f"s{number}"
        apply.inject = [f"s{(number + 1) % n}"]
        k.root.plugin(apply)
    last = k.root.diagnose().split("\n")[-1]
    assert last.startswith("circular requirement: p0 -> p1 -> ")
    assert last.endswith(f"-> p{n - 1} -> p0")


async def collect(watch: Watch, note: Callable[[Change], None]) -> None:
    async for change in watch:
        note(change)


async def test_changes_stream_until_the_fiber_ends(k: Kernel) -> None:
    seen: list[Change] = []

    def tool(ctx: Context) -> None:
        watches.append(ctx.watch())

    watches: list[Watch] = []
    viewer = await k.root.plugin(tool)
    reading = asyncio.ensure_future(collect(watches[0], seen.append))
    fiber = await k.root.plugin(child)
    await fiber.dispose()
    await k.settle()
    assert seen == [
        Change("state", 1, "tool", "ACTIVE"),
        Change("mounted", 2, "child"),
        Change("state", 2, "child", "LOADING"),
        Change("state", 2, "child", "ACTIVE"),
        Change("service", None, "inner", "available"),
        Change("disposed", 2, "child"),
        Change("state", 2, "child", "UNLOADING"),
        Change("service", None, "inner", "gone"),
        Change("service", None, "inner", "gone"),
        Change("state", 2, "child", "DISPOSED"),
    ]
    assert not reading.done()
    await viewer.dispose()
    await reading


async def test_a_closed_watch_ends_after_what_it_noticed(k: Kernel) -> None:
    watch = k.root.watch()
    await k.root.plugin(lambda ctx: None)
    watch.close()
    watch.close()
    await k.root.plugin(lambda ctx: None)
    assert [change.kind async for change in watch] == ["mounted", "state", "state"]
    assert k.root.fiber.effects() == [("ctx.plugin()", [])] * 2


async def test_a_slow_reader_loses_the_oldest_changes(k: Kernel) -> None:
    watch = k.root.watch()
    k.root.provide("foo", 1)
    for _ in range(10_004):
        k.root.notify("foo")
    assert watch.n_lost == 5
    watch.close()
    assert len([change async for change in watch]) == 10_000


async def test_the_watchdog_says_what_holds_a_fiber_up(k: Kernel) -> None:
    def stuck_undo(ctx: Context) -> Callable[[], Any]:
        async def undo() -> None:
            await k.clock.sleep(9)

        return undo

    async def stuck_setup(ctx: Context) -> None:
        await k.clock.sleep(12)

    def provider(ctx: Context) -> None:
        ctx.provide("foo", 1)

    def parent(ctx: Context) -> None:
        ctx.plugin(stuck_undo)

    undo = k.root.watchdog(after_s=4)
    stuck_undo.inject = ["foo"]
    fibers = [k.root.plugin(one) for one in (provider, stuck_undo, parent, stuck_setup)]
    await k.settle()
    fibers[2].dispose()
    fibers[0].dispose()
    await k.advance(4)
    warnings = k.logged("warn")
    assert len(warnings) == 5
    reasons = [text.partition("for more than 4 s: ")[2] for text in warnings]
    assert reasons.count("waits for stuck_undo, stuck_undo to unload") == 1
    assert reasons.count("undoes stuck_undo") == 1
    places = [text for text in reasons if "runs " in text and f" > {__file__}:" in text]
    assert len(places) == 3
    assert sum(text.startswith("undoes a disposer; runs ") for text in places) == 2
    await k.advance(4)
    assert len(k.logged("warn")) == 5
    await k.advance(8)
    undo()
    assert all(not fiber.is_moving for fiber in fibers)
    assert k.clock.n_pending == 0


class ManualClock:
    """A clock whose timers run when the test says so, in the same turn of the loop."""

    def __init__(self) -> None:
        self.now_s = 0.0
        self.callbacks: list[Callable[[], object]] = []

    def time(self) -> float:
        return self.now_s

    def call_later(self, delay_s: float, callback: Callable[[], object]) -> ManualClock:
        self.callbacks.append(callback)
        return self

    def cancel(self) -> None:
        self.callbacks.clear()

    async def sleep(self, delay_s: float) -> None:
        raise NotImplementedError


async def test_a_fiber_whose_turn_has_not_come_only_waits() -> None:
    clock = ManualClock()
    async with Context(clock=clock) as root:
        root.watchdog(after_s=1)
        root.plugin(child)
        clock.now_s = 1.0
        clock.callbacks.pop()()
        (record,) = root.logger.buffer.records()
        assert record.args[-1] == "waits for its turn"
        await root.settle()
