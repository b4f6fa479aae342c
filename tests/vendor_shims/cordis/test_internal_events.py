"""The kernel's own events: vetoes, replaced registrations, updates (01 sections 7.7, 15.F)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from vendor_shims.cordis import Context, Effect, Fiber, FiberState, ReentrantAwait
from vendor_shims.testing import Kernel, record_events

MODES = ["emit", "parallel", "serial", "bail", "waterfall"]


async def dispatch(ctx: Context, mode: str, name: str, *args: Any, target: Any = None) -> Any:
    answer = getattr(ctx, mode)(name, *args, target=target)
    return await answer if mode in ("parallel", "serial") else answer


async def mounted(k: Kernel, setup: Callable[[Context], Any], config: Any = None) -> Fiber:
    """Mount a plugin named `user`, once active."""

    def user(ctx: Context) -> Any:
        return setup(ctx)

    return await k.root.plugin(user, config)


@pytest.mark.spec("01-F24", "01-F26")
@pytest.mark.parametrize("mode", MODES)
async def test_each_public_dispatch_is_announced_before_it_happens(k: Kernel, mode: str) -> None:
    log: list[Any] = []
    target = object()
    k.root.on("event", lambda *args: log.append("delivered"))
    k.root.on("internal/dispatch", lambda *args: log.append(args))
    await dispatch(k.root, mode, "event", 1, 2, target=target)
    assert log == [(mode, "event", (1, 2), target), "delivered"]


@pytest.mark.spec("01-F24")
async def test_internal_dispatches_are_not_announced(k: Kernel) -> None:
    seen = record_events(k.root)
    await mounted(k, lambda ctx: ctx.provide("thing"))
    k.root.emit("internal/anything")
    assert seen.names == []


@pytest.mark.spec("01-F25")
@pytest.mark.parametrize("mode", MODES)
async def test_an_observer_can_veto_a_dispatch(k: Kernel, mode: str) -> None:
    log: list[Any] = []

    def veto(*args: Any) -> None:
        raise ValueError("veto")

    k.root.on("event", lambda *args: log.append("delivered"))
    k.root.on("internal/dispatch", veto)
    with pytest.raises(ValueError, match="veto"):
        await dispatch(k.root, mode, "event")
    assert log == []
    k.root.off("internal/dispatch", veto)
    await dispatch(k.root, mode, "event")
    assert log == ["delivered"]


@pytest.mark.spec("01-F29")
async def test_an_answer_replaces_a_registration(k: Kernel) -> None:
    log: list[Any] = []
    options: list[Any] = []

    def redirecting(ctx: Context, name: str, listener: Any, chosen: dict[str, bool]) -> Any:
        if name != "event":
            return None
        options.append(chosen)
        return ctx.effect(lambda: lambda: log.append("undone"), "replaced")

    k.root.on("internal/listener", redirecting)
    made = k.root.on("event", print, prepend=True)
    assert isinstance(made, Effect)
    assert options == [{"once": False, "prepend": True, "unfiltered": False}]
    assert not k.root.events.has_listeners("event")
    assert k.root.on("other", print).active
    made()
    assert log == ["undone"]


# -- updates ---------------------------------------------------------------------------------


@pytest.mark.spec("01-F30", "01-F31")
@pytest.mark.parametrize("prepend", [False, True])
async def test_a_plugin_hears_each_of_its_updates_once(k: Kernel, *, prepend: bool) -> None:
    log: list[Any] = []

    def setup(ctx: Context) -> None:
        async def heard(fiber: Fiber, config: Any, save: bool, go_on: Any) -> Any:
            log.append((config, save))
            return await go_on()

        ctx.on("internal/update", heard, prepend=prepend)

    fiber = await mounted(k, setup, 0)
    other = await mounted(k, setup, 0)
    for config in (1, 2, 3):
        assert await fiber.update(config, save=config != 2) is fiber
        assert fiber.state is FiberState.ACTIVE
        assert fiber.config == fiber.raw_config == config
    assert log == [(1, True), (2, False), (3, True)]
    assert other.config == 0
    assert fiber.effects() == [('ctx.on("internal/update")', [])]


@pytest.mark.spec("01-F30")
async def test_an_unfiltered_listener_hears_the_updates_of_all(k: Kernel) -> None:
    log: list[Any] = []

    def heard(fiber: Fiber, config: Any, save: bool, go_on: Any) -> Any:
        log.append(config)
        return go_on()

    k.root.on("internal/update", heard, unfiltered=True)
    k.root.on("internal/update", lambda *args: log.append("filtered"))
    fiber = await mounted(k, lambda ctx: None, 0)
    await fiber.update(1)
    assert log == [1]
    assert fiber.config == 1


@pytest.mark.spec("01-F30")
async def test_going_on_waits_for_the_restart_and_raises_its_error(k: Kernel) -> None:
    log: list[Any] = []

    def setup(ctx: Context) -> None:
        if ctx.config == "bad":
            raise ValueError("bad config")

        async def heard(fiber: Fiber, config: Any, save: bool, go_on: Any) -> Any:
            log.append(fiber.state)
            await go_on()
            log.append(fiber.state)

        ctx.on("internal/update", heard)

    fiber = await mounted(k, setup, "good")
    await fiber.update("better")
    assert log == [FiberState.ACTIVE, FiberState.ACTIVE]
    with pytest.raises(ValueError, match="bad config"):
        await fiber.update("bad")
    assert fiber.state is FiberState.FAILED
    assert fiber.raw_config == "bad"


@pytest.mark.spec("01-F30")
async def test_a_disposer_cannot_wait_for_the_update_of_its_own_fiber(k: Kernel) -> None:
    async def stop() -> None:
        await fibers[0].update(1)

    fibers: list[Fiber] = []
    fiber = await mounted(k, lambda ctx: fibers.append(ctx.fiber) or stop, 0)
    fiber.restart()
    await k.settle()
    assert [type(error) for error in fiber.cleanup_errors] == [ReentrantAwait]
    assert fiber.state is FiberState.ACTIVE


@pytest.mark.spec("01-G11")
async def test_a_config_class_needs_a_validate_method(k: Kernel) -> None:
    class Plugin:
        Config = dict

        def apply(self, ctx: Context) -> None: ...

    fiber = k.root.plugin(Plugin())
    with pytest.raises(TypeError, match="has no validate method"):
        await fiber
