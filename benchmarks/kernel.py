"""The kernel: events, service reads, mounting, cascades and chains."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import AsyncIterator, Callable
from functools import partial
from typing import Any

from benchmarks import kernel_floor
from benchmarks.kernel_floor import Bench, Unit
from benchmarks.measure import Budget, Meter, Row, Step, row
from vendor_shims.cordis import (
    Context,
    Emit,
    Fiber,
    Next,
    Parallel,
    Serial,
    SyncNext,
    SyncWaterfall,
    Waterfall,
)

N_LISTENERS = 10
N_DEPENDANTS = 200
N_EFFECTS = 5000

EMIT = Emit[[int, int]]("bench/emit")
SERIAL = Serial[[int], bool]("bench/serial")
PARALLEL_NONE = Parallel[[int]]("bench/parallel-none")
PARALLEL_ONE = Parallel[[int]]("bench/parallel-one")
PARALLEL_ALL = Parallel[[int]]("bench/parallel-all")
SYNC = SyncWaterfall[[list[int]], int]("bench/waterfall-sync")
ASYNC = Waterfall[[list[int]], int]("bench/waterfall-async", is_async=True)


async def rows(meter: Meter) -> AsyncIterator[Row]:
    """Measure everything that a plugin does through its context."""
    async with Context() as root:
        for measured in (events, parallels, waterfalls, services):
            async for one in measured(meter, root):
                yield one
    for measured in (mounts, memory, effects, cascade, chains):
        async for one in measured(meter):
            yield one


SEEN = [0]
"""What listeners count in, so that none of them does nothing."""


def heard(_a: int, _b: int) -> None:
    """Be a listener of two arguments."""
    SEEN[0] += 1


def quick(_: int) -> None:
    """Be a synchronous listener without an answer."""
    SEEN[0] += 1


async def slow(_: int) -> None:
    """Be an asynchronous listener without an answer."""
    SEEN[0] += 1


async def events(meter: Meter, root: Context) -> AsyncIterator[Row]:
    """Emit and serial with ten listeners."""
    for _ in range(N_LISTENERS):
        root.on(EMIT, heard)
        root.on(SERIAL, slow)

    def emit(count: int) -> None:
        for _ in range(count):
            root.emit(EMIT, 1, 2)

    def emit_by_name(count: int) -> None:
        for _ in range(count):
            root.emit("bench/emit", 1, 2)

    async def serial(count: int) -> None:
        for _ in range(count):
            await root.serial(SERIAL, 1)

    floor = partial(kernel_floor.emit, [heard] * N_LISTENERS)
    yield await meter.compare("emit10", emit, floor, count=50_000, budget=Budget(2.5, 0.7))
    yield await meter.compare(
        "emit10_by_name", emit_by_name, floor, count=50_000, budget=Budget(2.5, 0.7)
    )
    floor = partial(kernel_floor.serial, [slow] * N_LISTENERS)
    yield await meter.compare("serial10", serial, floor, count=20_000, budget=Budget(5, 1.1))


async def parallels(meter: Meter, root: Context) -> AsyncIterator[Row]:
    """Parallel with ten listeners: none, one, or all of them asynchronous."""
    for number in range(N_LISTENERS):
        root.on(PARALLEL_NONE, quick)
        root.on(PARALLEL_ONE, quick if number else slow)
        root.on(PARALLEL_ALL, slow)

    def parallel(event: Parallel[[int]]) -> Step:
        async def step(count: int) -> None:
            for _ in range(count):
                await root.parallel(event, 1)

        return step

    async def one(count: int) -> None:
        for _ in range(count):
            await slow(1)
            for _ in range(N_LISTENERS - 1):
                quick(1)

    def none(count: int) -> None:
        for _ in range(count):
            for _ in range(N_LISTENERS):
                quick(1)

    floor = partial(kernel_floor.gather, [slow] * N_LISTENERS)
    yield await meter.compare(
        "parallel10_none_async", parallel(PARALLEL_NONE), none, count=20_000, budget=Budget(5)
    )
    yield await meter.compare(
        "parallel10_one_async", parallel(PARALLEL_ONE), one, count=20_000, budget=Budget(8)
    )
    yield await meter.compare(
        "parallel10", parallel(PARALLEL_ALL), floor, count=2_000, budget=Budget(70, 57)
    )


def around(value: list[int], go_on: SyncNext[int]) -> int:
    """Be synchronous middleware."""
    value[0] += 1
    return go_on()


async def around_later(value: list[int], go_on: Next[int]) -> int:
    """Be asynchronous middleware."""
    value[0] += 1
    return await go_on()


def innermost(_: list[int]) -> int:
    """End a synchronous chain."""
    return 1


async def innermost_later(_: list[int]) -> int:
    """End an asynchronous chain."""
    return 1


async def waterfalls(meter: Meter, root: Context) -> AsyncIterator[Row]:
    """Waterfalls of depth ten."""
    for _ in range(N_LISTENERS):
        root.on(SYNC, around)
        root.on(ASYNC, around_later)

    def now(count: int) -> None:
        for _ in range(count):
            root.waterfall(SYNC, [0], inner=innermost)

    async def later(count: int) -> None:
        for _ in range(count):
            await root.waterfall(ASYNC, [0], inner=innermost_later)

    floor = partial(kernel_floor.waterfall, [around] * N_LISTENERS)
    yield await meter.compare("waterfall10_sync", now, floor, count=10_000, budget=Budget(15))
    floor = partial(kernel_floor.waterfall_later, [around_later] * N_LISTENERS)
    yield await meter.compare("waterfall10", later, floor, count=10_000, budget=Budget(9, 2.2))


class Value:
    """Hold one number, as a service and on a plain object."""

    def __init__(self) -> None:
        self.value = 1
        self.bench: Value = self


async def services(meter: Meter, root: Context) -> AsyncIterator[Row]:
    """Read a service in a plugin that injected it, and on the root."""
    contexts: list[Context] = []
    root.plugin(providing("bench", Value()))
    root.inject(["bench"], contexts.append)
    await root.settle()

    def reading(holder: Value | Context) -> Step:
        def step(count: int) -> None:
            for _ in range(count):
                holder.bench  # noqa: B018 - the read is what is measured

        return step

    plain = reading(Value())
    yield await meter.compare(
        "lookup_injected", reading(contexts[0]), plain, count=300_000, budget=Budget(0.12, 0.06)
    )
    yield await meter.compare("lookup_root", reading(root), plain, count=50_000)


def providing(name: str, value: object, needs: str | None = None) -> Callable[..., None]:
    """Return a plugin that provides `value` once what it needs is there."""

    def apply(ctx: Context) -> None:
        ctx.provide(name, value)

    apply.inject = [] if needs is None else [needs]
    return apply


def listening() -> Callable[..., None]:
    """Return a plugin of its own that registers one listener."""

    def apply(ctx: Context) -> None:
        ctx.on("bench/x", quick)

    return apply


async def mounts(meter: Meter) -> AsyncIterator[Row]:
    """Mounting and disposing many plugins, per plugin; the cost must not grow with their number."""
    for full in (1_000, 10_000):
        n_plugins = meter.count(full)
        plugins = [listening() for _ in range(n_plugins)]
        async with Context() as root:

            async def ours(_: int, root: Context = root, plugins: list[Any] = plugins) -> None:
                fibers = [root.plugin(plugin) for plugin in plugins]
                await root.settle()
                for fiber in fibers:
                    fiber.dispose()
                await root.settle()

            def floor(count: int) -> None:
                bench = Bench()
                units = [Unit(lambda unit: bench.listen(unit, quick)) for _ in range(count)]
                for unit in units:
                    bench.mount(unit)
                for unit in units:
                    unit.unload()

            samples = [
                (await meter.sample(ours, n_plugins), await meter.sample(floor, n_plugins))
                for _ in range(5 if full == 1_000 else 3)
            ]
        yield row(f"mount_dispose_{full}", "us", *zip(*samples, strict=True), budget=Budget(50))


async def memory(meter: Meter) -> AsyncIterator[Row]:
    """Weigh what one mounted plugin with one listener holds."""
    n_plugins = meter.count(1_000)
    async with Context() as root:
        await root.plugin(listening())
        gc.collect()
        tracemalloc.start()
        fibers = [root.plugin(listening()) for _ in range(n_plugins)]
        await root.settle()
        gc.collect()
        ours = tracemalloc.get_traced_memory()[0] / len(fibers)
        tracemalloc.stop()
    tracemalloc.start()
    bench = Bench()
    units = [bench.mount(Unit(lambda unit: bench.listen(unit, quick))) for _ in range(n_plugins)]
    floor = tracemalloc.get_traced_memory()[0] / len(units)
    tracemalloc.stop()
    yield row("bytes_per_plugin", "B", [ours], [floor])


async def effects(meter: Meter) -> AsyncIterator[Row]:
    """Thousands of effects of one fiber, registered and undone."""
    n_effects = meter.count(N_EFFECTS)

    def undo() -> None:
        """Be a disposer that does nothing."""

    def ours(count: int) -> None:
        for disposer in [root.effect(lambda: undo) for _ in range(count)]:
            disposer()

    def floor(count: int) -> None:
        undone: list[Callable[[], None]] = [undo for _ in range(count)]
        while undone:
            undone.pop()()

    async with Context() as root:
        yield await meter.compare("effect_undo", ours, floor, count=n_effects, budget=Budget(16))


async def cascade(meter: Meter) -> AsyncIterator[Row]:
    """Replace a service that two hundred plugins use: all unload, all load again."""
    loads: list[Context] = []
    async with Context() as root:
        hub = root.plugin(providing("hub", 1))
        for _ in range(N_DEPENDANTS):
            root.inject(["hub"], loads.append)
        await root.settle()

        async def ours(_: int) -> None:
            await hub.restart()
            await root.settle()

        bench = Bench()
        provider = bench.mount(Unit(lambda unit: bench.provide(unit, "hub", 1)))
        for _ in range(N_DEPENDANTS):
            bench.mount(Unit(lambda unit: bench.listen(unit, quick), needs="hub"))

        def floor(_: int) -> None:
            provider.unload()
            provider.setup(provider)

        for step in (ours, floor):
            await meter.sample(step)
        loads.clear()
        samples = [(await meter.sample(ours), await meter.sample(floor)) for _ in range(15)]
        assert len(loads) == 15 * N_DEPENDANTS
    yield milliseconds(f"cascade_{N_DEPENDANTS}", samples, budget=Budget(8))


async def chains(meter: Meter) -> AsyncIterator[Row]:
    """Chain services that each need the one before: the first comes and goes, and all follow."""
    for full, budgets in ((200, (30, 30)), (5_000, (2_000, 2_000))):
        n_links = meter.count(full)
        ups: list[tuple[float, float]] = []
        downs: list[tuple[float, float]] = []
        for _ in range(5 if full == 200 else 3):
            up, down = await one_chain(meter, n_links)
            ups.append(up)
            downs.append(down)
        yield milliseconds(f"chain_{full}_up", ups, budget=Budget(budgets[0]))
        yield milliseconds(f"chain_{full}_down", downs, budget=Budget(budgets[1]))


async def one_chain(meter: Meter, n_links: int) -> tuple[tuple[float, float], tuple[float, float]]:
    """Return microseconds of ours and of the floor, for the way up and the way down."""
    first: list[Fiber] = []
    async with Context() as root:
        links = [
            root.plugin(providing(f"s{number}", number, needs=f"s{number - 1}"))
            for number in range(n_links, 0, -1)
        ]

        async def up(_: int) -> None:
            first.append(root.plugin(providing("s0", 0)))
            await root.settle()

        async def down(_: int) -> None:
            await first[0].dispose()
            await root.settle()

        ours_up = await meter.sample(up)
        assert links[0].is_active
        ours_down = await meter.sample(down)
        assert not links[0].is_active
    floor_up, floor_down = await one_plain_chain(meter, n_links)
    return (ours_up, floor_up), (ours_down, floor_down)


async def one_plain_chain(meter: Meter, n_links: int) -> tuple[float, float]:
    """Return microseconds of tables and calls, for the way up and the way down."""
    loaded: list[int] = []

    def up(_: int) -> None:
        services: dict[str, int] = {}
        for number in range(n_links + 1):
            if number == 0 or f"s{number - 1}" in services:
                services[f"s{number}"] = number
                loaded.append(number)

    def down(_: int) -> None:
        while loaded:
            loaded.pop()

    return await meter.sample(up), await meter.sample(down)


def milliseconds(name: str, samples: list[tuple[float, float]], *, budget: Budget) -> Row:
    """Make a line from pairs of microseconds: ours and the floor's."""
    ours, floor = zip(*samples, strict=True)
    return row(name, "ms", [us / 1e3 for us in ours], [us / 1e3 for us in floor], budget=budget)
