"""What the type checker knows about events of every shape, effects, tasks and injection.

Like its neighbour it is only read: each suppressed line is a mistake that must be found.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Generator
from contextlib import asynccontextmanager, contextmanager
from typing import Any, assert_type

from vendor_shims.cordis import (
    AbortController,
    AbortSignal,
    Bail,
    Binding,
    Context,
    Dep,
    Effect,
    EffectMeta,
    Emit,
    Fiber,
    FiberState,
    Latch,
    ListenerEffect,
    Next,
    Parallel,
    Plugin,
    Serial,
    SerialWaterfall,
    Service,
    SyncNext,
    SyncWaterfall,
    Waterfall,
    inject,
    plugin,
    run_abortable,
)

STARTED = Emit[[]]("typing/started")
MOVED = Emit[[str, int, float]]("typing/moved")
CLOSING = Parallel[[]]("typing/closing")
FIND = Serial[[str, int], str]("typing/find")
PICK = Bail[[], str]("typing/pick-one")
ENTER = Waterfall[[str, int], bytes]("typing/enter", is_async=True)
OPEN = Waterfall[[], AsyncIterator[int]]("typing/open")
SUM = SyncWaterfall[[int, int, int], int]("typing/sum")
STEP = Waterfall[[str], bytes]("typing/step", is_async=True, accepts_serial=True)


class Store(Service):
    """Stand for a service."""

    key = "typing_store"
    size = 0


class Cache(Store):
    """Stand for an implementation of it."""

    hits = 0


class User(Plugin):
    """Depend on services in each way there is."""

    store = Dep(Store, config={"name": "mine"})
    cache = Dep(Cache, optional=True, config=1)
    by_name = Dep("typing_store")
    maybe_by_name = Dep("typing_store", optional=True)

    @inject(Store, "typing_clock")
    def connect(self) -> str:
        """Run in a child once both services are there."""
        return "connected"

    def use(self) -> None:
        """Read what was injected."""
        assert_type(self.store, Store)
        assert_type(self.store.size, int)
        assert_type(self.cache, Cache | None)
        assert_type(self.by_name, Any)
        assert_type(self.maybe_by_name, Any)
        assert_type(self.connect(), str)
        assert_type(User.store, Dep[Store])
        _ = self.store.hits  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType, reportUnknownVariableType] - of the implementation only


def read(ctx: Context) -> None:
    """Look services up by class and by name."""
    assert_type(ctx.get(Store), Store | None)
    assert_type(ctx.get(Cache, strict=False), Cache | None)
    assert_type(ctx.get(Store, "none"), Store | str)
    assert_type(ctx.get("typing_store"), Any)
    assert_type(ctx.get("typing_store", 5), Any)
    assert_type(ctx[Cache].hits, int)
    assert_type(ctx.require("typing_store"), Any)
    assert_type("typing_store" in ctx, bool)
    assert_type(ctx.provide("typing_store", 1), Binding)
    ctx.get(int)  # pyright: ignore[reportArgumentType, reportCallIssue] - no service class
    ctx[int]  # pyright: ignore[reportArgumentType] - no service class


async def dispatch(ctx: Context) -> None:
    """Dispatch events of every mode and number of arguments."""
    ctx.emit(STARTED)
    ctx.emit(STARTED, target=ctx, contain=True)
    ctx.emit(MOVED, "a", 1, 0.5, contain=False)
    await ctx.parallel(CLOSING, target=ctx)
    assert_type(await ctx.serial(FIND, "a", 1), str | None)
    assert_type(ctx.bail(PICK), str | None)
    assert_type(ctx.waterfall(ENTER, "a", 1, inner=lambda _, size: bytes(size)), Awaitable[bytes])
    assert_type(ctx.waterfall(SUM, 1, 2, 3, inner=lambda a, b, c: a + b + c), int)
    assert_type(await ctx.waterfall(STEP, "a", inner=str.encode), bytes)
    assert_type(ctx.bail("typing/untyped", 1, 2), Any)
    assert_type(await ctx.serial("typing/untyped"), Any)
    assert_type(ctx.waterfall("typing/untyped", 1), Any)

    ctx.emit(STARTED, 1)  # pyright: ignore[reportArgumentType, reportCallIssue] - takes nothing
    ctx.emit(MOVED, "a", 1)  # pyright: ignore[reportArgumentType, reportCallIssue] - one is missing
    await ctx.parallel(STARTED)  # pyright: ignore[reportArgumentType, reportCallIssue] - another mode
    ctx.bail(FIND, "a", 1)  # pyright: ignore[reportArgumentType, reportCallIssue] - another mode
    await ctx.serial(FIND, 1, "a")  # pyright: ignore[reportArgumentType, reportCallIssue] - swapped
    ctx.waterfall(SUM, 1, 2, 3, inner=lambda a, b: a + b)  # pyright: ignore[reportArgumentType, reportCallIssue] - takes three
    ctx.waterfall(ENTER, "a", 1)  # pyright: ignore[reportArgumentType] - no `inner`


def listen(ctx: Context) -> None:
    """Register listeners of every shape."""

    async def later() -> None: ...

    async def enter(path: str, size: int, go_on: Next[bytes]) -> bytes:
        return await go_on() + path.encode() + bytes(size)

    def stream(go_on: Next[AsyncIterator[int]]) -> Awaitable[AsyncIterator[int]]:
        return go_on()

    def total(a: int, b: int, c: int, go_on: SyncNext[int]) -> int:
        return a + b + c + go_on()

    def step(name: str) -> None:
        del name

    async def step_around(name: str, go_on: Next[bytes]) -> bytes:
        return await go_on() + name.encode()

    def other_next(name: str, go_on: Next[int]) -> Awaitable[int]:
        del name
        return go_on()

    assert_type(STEP, SerialWaterfall[[str], bytes])
    assert_type(ctx.on(STARTED, later, prepend=True), ListenerEffect)
    assert_type(ctx.once(ENTER, enter, unfiltered=True), ListenerEffect)
    ctx.on(CLOSING, later)
    ctx.on(PICK, lambda: "a")
    ctx.on(FIND, lambda name, at: name if at else None)
    ctx.on(OPEN, stream)
    ctx.on(SUM, total)
    ctx.on(STEP, step)
    ctx.once(STEP, step_around)
    ctx.on("typing/untyped", step)
    assert_type(ctx.off(STEP, step), bool)

    @ctx.on(MOVED)
    def moved(name: str, at: int, speed: float) -> str:
        return f"{name} {at} {speed}"

    assert_type(moved("a", 1, 0.5), str)

    ctx.on(ENTER, step_around)  # pyright: ignore[reportArgumentType, reportCallIssue] - one is missing
    ctx.on(SUM, enter)  # pyright: ignore[reportArgumentType, reportCallIssue] - other arguments
    ctx.on(STEP, other_next)  # pyright: ignore[reportArgumentType, reportCallIssue] - another result
    ctx.once(FIND, later)  # pyright: ignore[reportArgumentType, reportCallIssue] - takes two


async def resources(ctx: Context) -> None:
    """Make effects, tasks and children, and adopt what others close."""

    @contextmanager
    def opened() -> Generator[int]:
        yield 1

    @asynccontextmanager
    async def connected() -> AsyncGenerator[str]:
        yield "a"

    async def work() -> bytes:
        return b""

    assert_type(ctx.effect(lambda: None), Effect)
    assert_type(await ctx.effect(lambda: None, "label", dispose_timeout=None), Effect)
    assert_type(ctx.defer(print, "bye"), Effect)
    assert_type(ctx.enter(opened()), int)
    assert_type(await ctx.aenter(connected()), str)
    assert_type(ctx.adopt(asyncio.new_event_loop()), asyncio.AbstractEventLoop)
    assert_type(ctx.spawn(work), asyncio.Task[bytes])
    assert_type(ctx.spawn(work(), name="work", shield=True, on_crash="fail"), asyncio.Task[bytes])
    assert_type(ctx.task_group().start_soon(work), asyncio.Task[bytes])
    ctx.task_group().start_soon(work, 1)  # pyright: ignore[reportArgumentType] - takes nothing
    with ctx.group("together") as together:
        assert_type(together, Effect)
    ctx.spawn(work, on_crash="ignore")  # pyright: ignore[reportArgumentType] - no such policy


async def fibers(ctx: Context) -> None:
    """Mount plugins and follow their fibers."""

    @plugin(inject=["typing_store"], name="typed")
    def typed(ctx: Context, config: int) -> int:
        return config

    assert_type(typed(ctx, 1), int)
    fiber = ctx.plugin(typed, 1)
    assert_type(await fiber, Fiber)
    assert_type(await fiber.active(timeout=1), Fiber)
    assert_type(await fiber.restart(), Fiber)
    assert_type(await fiber.update({}, save=False), Fiber)
    assert_type(fiber.dispose(), Latch)
    assert_type(fiber.state, FiberState)
    assert_type(fiber.effects(), list[EffectMeta])
    assert_type(fiber.unsatisfied, dict[str, str])
    assert_type(ctx.inject([Store], print), Fiber)
    async with Context(debug=True) as root:
        assert_type(root, Context)


class Named(AbortSignal):
    """View the reason of an abort as text."""

    @property
    def name(self) -> str:
        """Give the reason's name."""
        return str(self.reason)


async def aborts(signal: AbortSignal) -> None:
    """Carry a signal's own type, and the result of what it may end."""

    async def fetch(url: str, *, tries: int = 1) -> bytes:
        return url.encode() * tries

    assert_type(AbortController(), AbortController[AbortSignal])
    assert_type(AbortController(Named).signal, Named)
    assert_type(AbortController(Named).signal.name, str)
    assert_type(AbortController().abort("reason"), bool)
    assert_type(AbortSignal.any([signal, AbortSignal.never()]), AbortSignal)
    assert_type(await run_abortable(signal, fetch, "a", tries=2), bytes)
    await run_abortable(signal, fetch, 1)  # pyright: ignore[reportArgumentType] - no text
    AbortController(int)  # pyright: ignore[reportArgumentType] - no signal
