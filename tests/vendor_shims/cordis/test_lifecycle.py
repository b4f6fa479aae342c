"""Fibers: how they load, follow their services, and fail (01 section 15.C, first part)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest

from vendor_shims.cordis import (
    Context,
    Fiber,
    FiberState,
    InactiveEffect,
    Inject,
    InvalidEffect,
    Service,
)
from vendor_shims.testing import Kernel, record_events, snapshot

PENDING, LOADING, ACTIVE, FAILED, DISPOSED, UNLOADING = FiberState


def providing(name: str, value: Any) -> Any:
    def apply(ctx: Context, config: Any) -> None:
        ctx.provide(name, value)

    apply.name = f"provider-of-{name}"
    return apply


def states_of(k: Kernel, fiber: Fiber | None = None) -> list[str]:
    """Record state changes as `OLD->NEW` from now on, those of one fiber or of all."""
    seen: list[str] = []

    def note(changed: Fiber, old: FiberState) -> None:
        if fiber is None or changed is fiber:
            seen.append(f"{old.name}->{changed.state.name}")

    k.root.on("internal/status", note)
    return seen


class Slow:
    """A plugin whose setup and disposer take a second each."""

    inject = ("foo",)
    cancel_stale_load = True

    def __init__(self, k: Kernel) -> None:
        self.k = k
        self.log: list[Any] = []

    async def apply(self, ctx: Context) -> Callable[[], Any]:
        self.log.append(("load", ctx.foo))
        try:
            await self.k.clock.sleep(1)
        except asyncio.CancelledError:
            self.log.append("cancelled")
            raise

        async def undo() -> None:
            self.log.append("undo")
            await self.k.clock.sleep(1)

        return undo


class Stubborn(Slow):
    cancel_stale_load = False


# -- loading ---------------------------------------------------------------------------------


@pytest.mark.spec("01-C01")
async def test_a_plugin_without_needs_loads_at_once(k: Kernel) -> None:
    seen = states_of(k)
    fiber = k.root.plugin(lambda ctx: None)
    before = fiber.since
    await k.advance(1)
    assert seen == ["PENDING->LOADING", "LOADING->ACTIVE"]
    assert [int(state) for state in FiberState] == [0, 1, 2, 3, 4, 5]
    assert fiber.since == before == 0


@pytest.mark.spec("01-C02")
async def test_awaiting_a_fiber(k: Kernel) -> None:
    error = ValueError("boom")

    def failing(ctx: Context) -> None:
        raise error

    active = k.root.plugin(lambda ctx: None)
    assert await active is active
    assert active.state is ACTIVE
    pending = k.root.inject(["foo"], lambda ctx: None)
    assert await pending is pending
    assert pending.state is PENDING
    failed = k.root.plugin(failing)
    with pytest.raises(ValueError, match="boom") as caught:
        await failed
    assert caught.value is error


@pytest.mark.spec("01-C03")
async def test_awaiting_a_disposed_failure_is_silent(k: Kernel) -> None:
    def failing(ctx: Context) -> None:
        raise ValueError("boom")

    fiber = k.root.plugin(failing)
    await k.settle()
    await fiber.dispose()
    assert await fiber is fiber
    assert fiber.state is DISPOSED


@pytest.mark.spec("01-C04")
async def test_active_waits_and_says_what_is_missing(k: Kernel) -> None:
    fiber = k.root.inject(["foo", "bar"], lambda ctx: None)
    k.root.provide("bar", 1)
    impatient = asyncio.ensure_future(fiber.active(timeout=0.01))
    await k.advance(0.01)
    with pytest.raises(TimeoutError, match=r"PENDING after 0\.01 s; missing foo: nothing provides"):
        await impatient
    patient = asyncio.ensure_future(fiber.active(timeout=5))
    await k.settle()
    k.root.provide("foo", 1)
    assert await patient is fiber
    assert await fiber.active(timeout=0) is fiber


@pytest.mark.spec("01-C04")
async def test_active_raises_what_ended_the_fiber(k: Kernel) -> None:
    def failing(ctx: Context) -> None:
        raise ValueError("boom")

    failed = k.root.plugin(failing)
    with pytest.raises(ValueError, match="boom"):
        await failed.active()
    disposed = k.root.inject(["foo"], lambda ctx: None)
    waiting = asyncio.ensure_future(disposed.active())
    await k.settle()
    disposed.dispose()
    with pytest.raises(InactiveEffect, match="disposed"):
        await waiting


@pytest.mark.spec("01-C04")
async def test_cancelling_a_wait_leaves_nothing(k: Kernel) -> None:
    fiber = k.root.inject(["foo"], lambda ctx: None)
    for waiting in (fiber.active(timeout=5), fiber.active()):
        task = asyncio.ensure_future(waiting)
        await k.settle()
        task.cancel()
        await k.settle()
        assert task.cancelled()
    assert k.clock.n_pending == 0


@pytest.mark.spec("01-C05", "01-C06")
async def test_one_of_two_fibers_fails(k: Kernel) -> None:
    log: list[str] = []

    def sometimes(ctx: Context, config: str) -> None:
        ctx.on("x", lambda: log.append(config))
        ctx.effect(lambda: lambda: log.append("undo 1"))
        ctx.effect(lambda: lambda: log.append("undo 2"))
        if config == "bad":
            raise ValueError("boom")

    bad, good = k.root.plugin(sometimes, "bad"), k.root.plugin(sometimes, "good")
    await k.settle()
    assert (bad.state, good.state) == (FAILED, ACTIVE)
    assert log == ["undo 2", "undo 1"]
    assert bad.effects() == []
    errors = k.logged("error")
    assert len(errors) == 1
    assert "sometimes: ValueError: boom" in errors[0]
    log.clear()
    k.root.emit("x")
    assert log == ["good"]


async def test_a_setup_that_raises_its_own_cancellation_has_failed(k: Kernel) -> None:
    async def gives_up(ctx: Context) -> None:
        raise asyncio.CancelledError("of its own")

    def at_once(ctx: Context) -> None:
        raise asyncio.CancelledError("of its own")

    for plugin in (gives_up, at_once):
        fiber = k.root.plugin(plugin)
        await k.settle()
        assert fiber.state is FAILED
        assert isinstance(fiber.error, asyncio.CancelledError)


# -- slow loads ------------------------------------------------------------------------------


@pytest.mark.spec("01-C07")
async def test_a_stubborn_load_runs_to_its_end(k: Kernel) -> None:
    plugin = Stubborn(k)
    binding = k.root.provide("foo", 1)
    fiber = k.root.plugin(plugin)
    await k.advance(0.4)
    binding()
    await k.advance(0.4)
    assert fiber.state is LOADING
    await k.advance(0.4)
    assert fiber.state is UNLOADING
    k.root.provide("foo", 1)
    await k.settle()
    assert fiber.state is UNLOADING
    await k.advance(1.0)
    assert fiber.state is LOADING
    await k.advance(1.0)
    assert fiber.state is ACTIVE
    assert plugin.log == [("load", 1), "undo", ("load", 1)]


@pytest.mark.spec("01-C08")
async def test_a_stale_load_is_cancelled(k: Kernel) -> None:
    plugin = Slow(k)
    binding = k.root.provide("foo", 1)
    fiber = k.root.plugin(plugin)
    await k.advance(0.4)
    binding()
    await k.settle()
    assert fiber.state is PENDING
    assert plugin.log == [("load", 1), "cancelled"]
    assert fiber.error is None
    assert k.logged("error") == []


@pytest.mark.spec("01-C09")
async def test_a_replacement_within_one_load_is_noticed(k: Kernel) -> None:
    plugin = Stubborn(k)
    binding = k.root.provide("foo", 1)
    fiber = k.root.plugin(plugin)
    await k.advance(0.4)
    binding()
    await k.advance(0.4)
    k.root.provide("foo", 2)
    await k.advance(3)
    assert plugin.log == [("load", 1), "undo", ("load", 2)]
    assert fiber.state is ACTIVE
    assert fiber.ctx.foo == 2


async def test_a_check_that_flickers_reloads_the_cancelled_setup(k: Kernel) -> None:
    plugin = Slow(k)
    is_there = True
    k.root.provide("foo", 1, check=lambda _: is_there)
    fiber = k.root.plugin(plugin)
    await k.advance(0.4)
    is_there = False
    k.root.notify("foo")
    is_there = True
    k.root.notify("foo")
    await k.advance(1)
    assert plugin.log == [("load", 1), "cancelled", ("load", 1)]
    assert fiber.state is ACTIVE
    assert fiber.error is None


@pytest.mark.spec("01-C18")
@pytest.mark.parametrize("plugin_type", [Slow, Stubborn])
async def test_an_update_while_loading_wins(k: Kernel, plugin_type: type[Slow]) -> None:
    seen: list[Any] = []

    async def apply(ctx: Context, config: Any) -> None:
        seen.append(config)
        await k.clock.sleep(1)

    apply.cancel_stale_load = plugin_type.cancel_stale_load
    fiber = k.root.plugin(apply, 1)
    await k.advance(0.5)
    updating = asyncio.ensure_future(fiber.update(2))
    await k.advance(3)
    await updating
    assert seen == [1, 2]
    assert (fiber.config, fiber.state) == (2, ACTIVE)


@pytest.mark.spec("01-C18")
async def test_an_update_before_the_first_turn_skips_the_old_config(k: Kernel) -> None:
    seen: list[Any] = []
    fiber = k.root.plugin(lambda ctx, config: seen.append(config), 1)
    await fiber.update(2)
    assert seen == [2]


@pytest.mark.spec("01-C19")
async def test_a_restart_while_loading_runs_the_setup_again(k: Kernel) -> None:
    k.root.provide("foo", 1)
    plugin = Slow(k)
    fiber = k.root.plugin(plugin)
    await k.advance(0.5)
    fiber.restart()
    fiber.restart()
    await k.advance(1)
    assert plugin.log == [("load", 1), "cancelled", ("load", 1)]
    assert fiber.state is ACTIVE


@pytest.mark.spec("01-C53")
async def test_a_setup_that_swallows_its_cancellation_is_left_behind(k: Kernel) -> None:
    log: list[str] = []
    release = asyncio.Event()

    async def deaf(ctx: Context) -> Callable[[], None]:
        while not release.is_set():
            try:
                await release.wait()
            except asyncio.CancelledError:
                log.append("swallowed")
        return lambda: log.append("never")

    fiber = k.root.plugin(deaf)
    await k.settle()
    ended = fiber.dispose()
    await k.settle()
    assert log == ["swallowed"]
    await k.advance(10)
    assert log == ["swallowed", "swallowed"]
    assert fiber.state is LOADING
    await k.advance(10)
    await ended
    assert fiber.state is DISPOSED
    assert "deaf ignores its cancellation" in k.logged("warn")[0]
    release.set()
    await k.settle()
    assert log == ["swallowed", "swallowed"]


async def test_without_a_limit_a_deaf_setup_is_waited_for(k: Kernel) -> None:
    release = asyncio.Event()

    async def deaf(ctx: Context) -> None:
        ctx.fiber.dispose_timeout_s = None
        while not release.is_set():
            with suppress(asyncio.CancelledError):
                await release.wait()

    fiber = k.root.plugin(deaf)
    await k.settle()
    ended = fiber.dispose()
    await k.advance(1000)
    assert not ended.is_open
    release.set()
    await ended


# -- following services ----------------------------------------------------------------------


@pytest.mark.spec("01-C10")
async def test_a_provider_waits_for_its_consumer(k: Kernel) -> None:
    provider = k.root.plugin(providing("foo", 1))

    async def undo() -> None:
        await k.clock.sleep(1)

    consumer = await k.root.inject(["foo"], lambda ctx: undo).active()
    ended = provider.dispose()
    await k.advance(0.9)
    assert not ended.is_open
    await k.advance(0.1)
    await ended
    assert consumer.state is PENDING


@pytest.mark.spec("01-C11")
async def test_a_provider_restart_cycles_its_consumer_once(k: Kernel) -> None:
    log: list[str] = []
    value = 0

    def provider(ctx: Context) -> None:
        nonlocal value
        value += 1
        ctx.provide("foo", value)

    def consumer(ctx: Context) -> Callable[[], None]:
        log.append(f"load {ctx.foo}")
        return lambda: log.append(f"unload {ctx.foo}")

    fiber = k.root.plugin(provider)
    using = await k.root.inject(["foo"], consumer).active()
    await fiber.restart()
    await k.settle()
    assert log == ["load 1", "unload 1", "load 2"]
    assert using.state is ACTIVE


@pytest.mark.spec("01-C12")
async def test_a_replacement_in_one_turn(k: Kernel) -> None:
    log: list[str] = []

    def consumer(ctx: Context) -> Callable[[], None]:
        log.append(f"load {ctx.foo}")
        return lambda: log.append(f"unload {ctx.foo}")

    binding = k.root.provide("foo", 1)
    await k.root.inject(["foo"], consumer).active()
    binding()
    k.root.provide("foo", 2)
    await k.settle()
    assert log == ["load 1", "unload 1", "load 2"]


@pytest.mark.spec("01-C13")
@pytest.mark.parametrize("delay_s", [0.0, 1.0])
async def test_providers_change_in_one_turn(k: Kernel, delay_s: float) -> None:
    seen: list[int] = []

    def consumer(ctx: Context) -> Any:
        seen.append(ctx.foo)

        async def undo() -> None:
            await k.clock.sleep(delay_s)
            seen.append(-ctx.foo)

        return undo if delay_s else None

    old = k.root.plugin(providing("foo", 1))
    using = await k.root.inject(["foo"], consumer).active()
    old.dispose()
    new = k.root.plugin(providing("foo", 2))
    await k.advance(2)
    assert new.state is ACTIVE
    assert old.state is DISPOSED
    assert seen == ([1, -1, 2] if delay_s else [1, 2])
    assert using.ctx.foo == k.root.get("foo") == 2


@pytest.mark.spec("01-C14")
async def test_each_service_starts_once_whatever_the_order(k: Kernel) -> None:
    started: list[str] = []

    def service(key: str, *needs: str) -> type[Service]:
        def start(self: Service) -> None:
            started.append(self.name)

        return type(key, (Service,), {"key": key, "inject": needs, "start": start})

    for one in (service("foo", "qux"), service("bar", "foo", "qux"), service("qux")):
        k.root.plugin(one)
    await k.settle()
    assert started == ["qux", "foo", "bar"]


@pytest.mark.spec("01-C15")
async def test_a_slow_start_holds_the_consumers_back(k: Kernel) -> None:
    gate = asyncio.Event()

    class Foo(Service):
        key = "foo"

        async def start(self) -> None:
            await gate.wait()

    consumer = k.root.inject(["foo"], lambda ctx: None)
    provider = k.root.plugin(Foo)
    await k.settle()
    assert (provider.state, consumer.state) == (LOADING, PENDING)
    assert consumer.unsatisfied == {"foo": "Foo is LOADING"}
    gate.set()
    await k.settle()
    assert (provider.state, consumer.state) == (ACTIVE, ACTIVE)


@pytest.mark.spec("01-C16")
async def test_a_circle_stays_pending_and_is_explained(k: Kernel) -> None:
    def a(ctx: Context) -> None: ...

    def b(ctx: Context) -> None: ...

    a.inject, a.provide = ["sb"], "sa"
    b.inject, b.provide = ["sa"], ["sb"]
    fibers = [k.root.plugin(a), k.root.plugin(b)]
    await k.settle()
    assert [fiber.state for fiber in fibers] == [PENDING, PENDING]
    assert k.logged("error") == []
    text = k.root.diagnose()
    assert "a is PENDING; needs sb: nothing provides it" in text
    assert "circular requirement: a -> b -> a" in text


@pytest.mark.spec("01-C17")
async def test_a_service_may_mount_a_consumer_of_itself(k: Kernel) -> None:
    log: list[Any] = []

    class Foo(Service):
        key = "foo"

        def __init__(self, ctx: Context) -> None:
            super().__init__(ctx)
            ctx.inject(["foo"], lambda inner: log.append((ctx.fiber.state, inner.foo == self)))
            ctx.on("x", lambda: None)

    before = snapshot(k.root)
    await k.root.plugin(Foo)
    await k.settle()
    assert log == [(ACTIVE, True)]
    await k.root.registry.unload(Foo)
    assert snapshot(k.root) == before
    assert k.root.registry.size == 0


@pytest.mark.spec("01-C43")
async def test_an_optional_service_restarts_but_never_gates(k: Kernel) -> None:
    loads: list[Any] = []

    def reactive(ctx: Context) -> None:
        loads.append(ctx.get("m"))

    reactive.inject = ["m?"]
    fiber = await k.root.plugin(reactive)
    assert fiber.state is ACTIVE
    with pytest.raises(AttributeError, match="optional service m is not available"):
        _ = fiber.ctx.m
    binding = k.root.provide("m", 1)
    await k.settle()
    assert loads == [None, 1]
    assert fiber.ctx.m == 1
    binding()
    await k.settle()
    assert loads == [None, 1, None]
    k.root.provide("m", 2)
    await k.settle()
    assert loads == [None, 1, None, 2]


@pytest.mark.spec("01-C43")
async def test_an_optional_service_without_reaction_is_read_as_it_is(k: Kernel) -> None:
    loads: list[int] = []

    def calm(ctx: Context) -> None:
        loads.append(1)

    calm.inject = Inject(optional=["m"], reactive=False)
    fiber = await k.root.plugin(calm)
    assert not hasattr(fiber.ctx, "m")
    binding = k.root.provide("m", 1)
    await k.settle()
    assert (fiber.ctx.m, loads) == (1, [1])
    assert binding() is None
    await k.settle()
    assert not hasattr(fiber.ctx, "m")
    assert loads == [1]


@pytest.mark.spec("01-C44")
async def test_a_check_decides_per_consumer(k: Kernel) -> None:
    allowed: set[str] = set()

    class Foo(Service):
        key = "foo"

        def check(self) -> bool:
            return self.caller.name in allowed

    def one(ctx: Context) -> None: ...

    def two(ctx: Context) -> None: ...

    await k.root.plugin(Foo)
    fibers = [k.root.inject(["foo"], plugin) for plugin in (one, two)]
    await k.settle()
    assert [fiber.state for fiber in fibers] == [PENDING, PENDING]
    assert fibers[0].unsatisfied == {"foo": "Foo says it is unavailable"}
    allowed.add("one")
    k.root.notify("foo")
    await k.settle()
    assert [fiber.state for fiber in fibers] == [ACTIVE, PENDING]
    allowed.clear()
    k.root.notify("foo")
    await k.settle()
    assert [fiber.state for fiber in fibers] == [PENDING, PENDING]


@pytest.mark.spec("01-C44")
@pytest.mark.parametrize("error", [ValueError("boom"), asyncio.CancelledError()])
async def test_a_raising_check_counts_as_no(k: Kernel, error: BaseException) -> None:
    def fail(_: Context) -> bool:
        raise error

    def provider(ctx: Context) -> None:
        ctx.provide("foo", 1, check=fail)

    await k.root.plugin(provider)
    fiber = k.root.inject(["foo"], lambda ctx: None)
    await k.settle()
    assert fiber.state is PENDING
    errors = k.logged("error")
    assert len(errors) == 1
    assert errors[0].startswith(f"provider: {type(error).__name__}") or "Cancelled" in errors[0]


@pytest.mark.spec("01-C45")
async def test_a_chain_of_5000_goes_up_and_down(k: Kernel) -> None:
    n = 5000
    loads = [0] * n

    def link(number: int) -> Any:
        def apply(ctx: Context) -> None:
            loads[number] += 1
            ctx.provide(f"s{number}", number)

        apply.inject = [f"s{number - 1}"] if number else []
        return apply

    fibers = [k.root.plugin(link(number)) for number in reversed(range(n))]
    await k.root.settle()
    assert loads == [1] * n
    assert all(fiber.state is ACTIVE for fiber in fibers)
    await fibers[-1].dispose()
    await k.root.settle()
    assert all(fiber.state is PENDING for fiber in fibers[:-1])
    assert loads == [1] * n


@pytest.mark.spec("01-C46")
async def test_a_fan_out_of_2000_loads_each_once(k: Kernel) -> None:
    loads: list[int] = []

    def consumer(ctx: Context, config: int) -> None:
        loads.append(config)

    consumer.inject = ["foo"]
    for number in range(2000):
        k.root.plugin(consumer, number)
    k.root.provide("foo", 1)
    await k.root.settle()
    assert loads == list(range(2000))


@pytest.mark.spec("01-C47")
async def test_a_consumer_mounted_while_the_provider_unloads_stays_pending(k: Kernel) -> None:
    async def undo() -> None:
        await k.clock.sleep(1)

    def provider(ctx: Context) -> Any:
        ctx.provide("foo", 1)
        return undo

    fiber = await k.root.plugin(provider)
    fiber.dispose()
    await k.settle()
    assert fiber.state is UNLOADING
    consumer = k.root.inject(["foo"], lambda ctx: None)
    await k.settle()
    assert consumer.state is PENDING
    assert consumer.unsatisfied == {"foo": "provider is UNLOADING"}
    assert k.root.get("foo", strict=False) == 1


@pytest.mark.spec("01-C48", "01-E14")
async def test_a_failing_provider_leaves_its_name_free(k: Kernel) -> None:
    loads: list[int] = []

    class Foo(Service):
        key = "foo"

        def start(self) -> None:
            raise ValueError("boom")

    consumer = k.root.inject(["foo"], lambda ctx: loads.append(ctx.foo))
    fiber = k.root.plugin(Foo)
    await k.settle()
    assert fiber.state is FAILED
    assert loads == []
    k.root.provide("foo", 2)
    await consumer.active()
    assert loads == [2]


@pytest.mark.spec("01-C49")
async def test_settle_follows_chains(k: Kernel) -> None:
    async def first(ctx: Context) -> None:
        await asyncio.sleep(0)
        ctx.provide("a", 1)

    async def second(ctx: Context) -> None:
        await asyncio.sleep(0)
        ctx.provide("b", ctx.a)

    second.inject = ["a"]
    fibers = [k.root.inject(["b"], lambda ctx: None), k.root.plugin(second), k.root.plugin(first)]
    await k.root.settle()
    assert [fiber.state for fiber in fibers] == [ACTIVE] * 3
    await k.root.settle()


@pytest.mark.spec("01-C49")
async def test_settle_and_close_name_who_holds_them_up(k: Kernel) -> None:
    async def slow(ctx: Context) -> Any:
        await k.clock.sleep(2)

        async def undo() -> None:
            await k.clock.sleep(2)

        return undo

    fiber = k.root.plugin(slow)
    waiting = asyncio.ensure_future(k.root.settle(timeout=1))
    await k.advance(1)
    with pytest.raises(TimeoutError, match="did not settle within 1 s: slow is LOADING"):
        await waiting
    await k.advance(1)
    await k.root.settle(timeout=1)
    assert fiber.state is ACTIVE
    closing = asyncio.ensure_future(k.root.close(timeout=1))
    await k.advance(1)
    with pytest.raises(TimeoutError, match=r"did not close within 1 s: .*slow is UNLOADING"):
        await closing
    await k.advance(1)
    await k.root.close(timeout=1)


# -- failing and trying again ----------------------------------------------------------------


class Moody:
    """A plugin that fails as long as it is told to."""

    inject = ("foo",)
    name = "moody"

    def __init__(self) -> None:
        self.fails = True
        self.loads = 0

    def apply(self, ctx: Context, config: Any) -> None:
        self.loads += 1
        if self.fails and config != "good":
            raise ValueError(f"failure {self.loads}")


@pytest.mark.spec("01-C20")
async def test_restart_tries_again(k: Kernel) -> None:
    plugin = Moody()
    k.root.provide("foo", 1)
    fiber = k.root.plugin(plugin)
    await k.settle()
    assert fiber.state is FAILED
    with pytest.raises(ValueError, match="failure 2"):
        await fiber.restart()
    plugin.fails = False
    await fiber.restart()
    assert fiber.state is ACTIVE
    assert fiber.error is None
    pending = k.root.inject(["bar"], lambda ctx: None)
    assert await pending.restart() is pending
    assert pending.state is PENDING
    await fiber.dispose()
    with pytest.raises(InactiveEffect):
        fiber.restart()
    with pytest.raises(InactiveEffect):
        await fiber.update(1)


@pytest.mark.spec("01-C21")
async def test_an_update_of_a_pending_fiber_is_for_later(k: Kernel) -> None:
    seen: list[Any] = []

    def apply(ctx: Context, config: Any) -> None:
        seen.append(config)

    apply.inject = ["foo"]
    fiber = k.root.plugin(apply, 1)
    await fiber.update(2)
    assert (fiber.state, seen) == (PENDING, [])
    k.root.provide("foo", 1)
    await k.settle()
    assert seen == [2]


@pytest.mark.spec("01-C22")
async def test_an_update_of_a_failed_fiber_loads_it(k: Kernel) -> None:
    binding = k.root.provide("foo", 1)
    fiber = k.root.plugin(Moody())
    await k.settle()
    with pytest.raises(ValueError, match="failure 2"):
        await fiber.update("bad")
    await fiber.update("good")
    assert fiber.state is ACTIVE
    binding()
    await fiber.update("bad")
    assert fiber.state is PENDING


@pytest.mark.spec("01-C22")
async def test_an_update_of_a_failed_fiber_without_its_service_makes_it_wait(k: Kernel) -> None:
    binding = k.root.provide("foo", 1)
    fiber = k.root.plugin(Moody())
    await k.settle()
    binding()
    await k.settle()
    assert fiber.state is FAILED
    await fiber.update("good")
    assert fiber.state is PENDING
    assert fiber.error is None
    k.root.provide("foo", 1)
    await k.settle()
    assert fiber.state is ACTIVE


@pytest.mark.spec("01-C23")
async def test_a_failure_is_retried_for_a_reason_only(k: Kernel) -> None:
    plugin = Moody()
    binding = k.root.provide("foo", 1)
    k.root.plugin(plugin)
    await k.settle()
    k.root.notify("foo")
    await k.settle()
    assert plugin.loads == 1
    binding()
    k.root.provide("foo", 2)
    await k.settle()
    assert plugin.loads == 2


@pytest.mark.spec("01-C24")
async def test_a_failure_outlives_its_provider(k: Kernel) -> None:
    plugin = Moody()
    binding = k.root.provide("foo", 1)
    fiber = k.root.plugin(plugin)
    await k.settle()
    error = fiber.error
    binding()
    await k.settle()
    assert fiber.state is FAILED
    assert fiber.error is error
    plugin.fails = False
    k.root.provide("foo", 2)
    await k.settle()
    assert fiber.state is ACTIVE


async def test_a_late_error_of_a_stale_setup_is_logged(k: Kernel) -> None:
    async def spoilsport(ctx: Context) -> None:
        try:
            await k.clock.sleep(10)
        finally:
            raise ValueError("in passing")

    spoilsport.inject = ["foo"]
    binding = k.root.provide("foo", 1)
    fiber = k.root.plugin(spoilsport)
    await k.settle()
    binding()
    await k.settle()
    assert fiber.state is PENDING
    assert fiber.error is None
    assert "in passing" in k.logged("error")[0]


@pytest.mark.spec("01-C39")
async def test_a_raising_status_observer_disturbs_nobody(k: Kernel) -> None:
    def fail(fiber: Fiber, old: FiberState) -> None:
        raise ValueError("observer")

    k.root.on("internal/status", fail)
    k.root.plugin(providing("foo", 1))
    consumer = k.root.inject(["foo"], lambda ctx: None)
    await k.settle()
    assert consumer.state is ACTIVE
    assert all("internal/status" in error for error in k.logged("error"))


@pytest.mark.spec("01-C42")
async def test_the_order_of_internal_events(k: Kernel) -> None:
    log = record_events(k.root, "internal/*")
    seen: list[Any] = []

    def note(what: str) -> Callable[..., None]:
        return lambda *args: seen.append((what, *args))

    k.root.on("internal/plugin", lambda fiber: seen.append(("plugin", fiber.uid)))
    k.root.on(
        "internal/status",
        lambda fiber, old: seen.append(("status", old.name, fiber.state.name)),
    )
    k.root.on("internal/service", note("service"))
    fiber = k.root.plugin(providing("foo", 1))
    await k.settle()
    await fiber.dispose()
    assert seen == [
        ("plugin", 1),
        ("status", "PENDING", "LOADING"),
        ("status", "LOADING", "ACTIVE"),
        ("service", "foo", 1),
        ("plugin", None),
        ("status", "ACTIVE", "UNLOADING"),
        ("service", "foo", 1),
        ("service", "foo", None),
        ("status", "UNLOADING", "DISPOSED"),
    ]
    assert len(log) == len(seen)


@pytest.mark.spec("01-C42")
async def test_dependents_turn_before_the_service_event(k: Kernel) -> None:
    provider = await k.root.plugin(providing("foo", 1))
    consumer = await k.root.inject(["foo"], lambda ctx: None).active()
    seen: list[str] = []
    k.root.on("internal/status", lambda fiber, old: seen.append(f"{fiber.uid}->{fiber.state.name}"))
    k.root.on("internal/service", lambda name, value: seen.append(f"{name}={value}"))
    isolated: list[Any] = []
    k.root.isolate("foo").on("internal/service", lambda *args: isolated.append(args))
    provider.dispose()
    assert seen == ["None->UNLOADING", f"{consumer.uid}->UNLOADING", "foo=1"]
    await k.settle()
    assert isolated == []


async def test_observers_inside_a_drain_only_add_to_it(k: Kernel) -> None:
    log: list[str] = []

    def consumer(ctx: Context, config: str) -> None:
        log.append(config)

    consumer.inject = ["bar"]

    def follow(name: str, value: object) -> None:
        log.append(f"{name}={value}")
        if name == "foo" and value is not None:
            k.root.provide("bar", value)
            assert waiting.state is PENDING

    k.root.on("internal/service", follow)
    waiting = k.root.plugin(consumer, "loaded")
    k.root.provide("foo", 1)
    assert waiting.state is LOADING
    await k.settle()
    assert log == ["foo=1", "bar=1", "loaded"]


async def test_two_may_wait_for_the_tree_to_settle(k: Kernel) -> None:
    async def slow(ctx: Context) -> None:
        await k.clock.sleep(1)

    k.root.plugin(slow)
    waits = [asyncio.ensure_future(k.root.settle()) for _ in range(2)]
    await k.settle()
    assert not any(wait.done() for wait in waits)
    await k.advance(1)
    assert all(wait.done() for wait in waits)


@pytest.mark.parametrize("result", [[1], 5, "text", {"a": 1}])
async def test_a_setup_that_returns_nonsense_has_failed(k: Kernel, result: object) -> None:
    log: list[str] = []

    def apply(ctx: Context) -> object:
        ctx.defer(log.append, "undone")
        return result

    fiber = k.root.plugin(apply)
    await k.settle()
    assert fiber.state is FAILED
    assert isinstance(fiber.error, InvalidEffect)
    assert log == ["undone"]


async def test_an_optional_service_that_needs_the_fiber_does_not_restart_it(k: Kernel) -> None:
    """Three plugins on two ways: the last provides what the first would like to have."""
    loads: list[str] = []

    def plugin(name: str, needs: list[str], provides: list[str]) -> Any:
        def apply(ctx: Context) -> None:
            loads.append(name)
            for service in provides:
                ctx.provide(service, name)

        apply.inject = needs
        return apply

    first = k.root.plugin(plugin("first", ["extra?"], ["base", "other"]))
    k.root.plugin(plugin("left", ["base"], ["l"]))
    k.root.plugin(plugin("right", ["base", "other"], ["r"]))
    k.root.plugin(plugin("last", ["l", "r"], ["extra"]))
    await k.settle()
    assert loads == ["first", "left", "right", "last"]
    assert not hasattr(first.ctx, "extra")
    assert first.ctx.get("extra") == "last"


async def test_a_plugin_never_depends_on_itself_or_its_children(k: Kernel) -> None:
    loads: list[str] = []

    def child(ctx: Context) -> None:
        ctx.provide("inner", 1)

    def apply(ctx: Context) -> None:
        loads.append("load")
        ctx.provide("own", 1)
        ctx.plugin(child)

    apply.inject = ["own?", "inner?"]
    fiber = k.root.plugin(apply)
    await k.settle()
    assert loads == ["load"]
    assert fiber.state is ACTIVE


async def test_a_failed_load_is_repeated_after_another_target(k: Kernel) -> None:
    """What failed without the optional service is tried again when that has come and gone."""
    loads: list[Any] = []

    async def picky(ctx: Context) -> None:
        loads.append(ctx.get("m"))
        if ctx.get("m") is None:
            raise ValueError("not without it")
        await k.clock.sleep(1)

    picky.inject = ["m?"]
    fiber = k.root.plugin(picky)
    await k.settle()
    binding = k.root.provide("m", 1)
    await k.settle()
    binding()
    await k.settle()
    assert loads == [None, 1, None]
    assert fiber.state is FAILED


async def test_a_failing_step_does_not_stop_the_others(
    k: Kernel, caplog: pytest.LogCaptureFixture
) -> None:
    def fail() -> None:
        raise ValueError("step")

    k.root.kernel.post(fail)
    fiber = await k.root.plugin(lambda ctx: None)
    assert fiber.state is ACTIVE
    assert "a kernel step failed" in caplog.text
