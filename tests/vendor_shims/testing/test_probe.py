"""Probes, fakes and recorded events."""

from __future__ import annotations

from typing import Any

import pytest

from vendor_shims.cordis import Context, Emit, Fiber, Parallel
from vendor_shims.testing import (
    Kernel,
    LeakError,
    RecordedEvent,
    fake_service,
    kernel,
    plugin_probe,
    record_events,
)


def good(ctx: Context, config: Any) -> None:
    ctx.on("x", lambda: None)
    ctx.provide("foo", config)


async def slow(ctx: Context) -> Any:
    await ctx.kernel.clock.sleep(2)

    async def undo() -> None:
        await ctx.kernel.clock.sleep(2)
        raise ValueError("on the way out")

    return undo


@pytest.mark.spec("01-N03")
async def test_a_probe_reports_what_a_plugin_does() -> None:
    used: list[Any] = []

    def use(k: Kernel, fiber: Fiber) -> None:
        used.append((fiber.state.name, k.root.get("foo")))

    report = await plugin_probe(good, config=7, exercise=use)
    assert report.name == "good"
    assert [meta.label for meta in report.effects] == ['ctx.on("x")', 'ctx.provide("foo")']
    assert report.services == ["foo"]
    assert report.errors == []
    assert used == [("ACTIVE", 7)] * 2


@pytest.mark.spec("01-N03")
async def test_a_probe_gives_slow_plugins_the_time_they_need() -> None:
    used: list[str] = []

    async def use(k: Kernel, fiber: Fiber) -> None:
        used.append(fiber.name)

    report = await plugin_probe(slow, exercise=use)
    assert used == ["slow", "slow"]
    assert len(report.errors) == 2


async def test_a_probe_provides_services() -> None:
    seen: list[Any] = []

    def needy(ctx: Context) -> None:
        seen.append((ctx.plain, ctx.faked.answer(1)))

    needy.inject = ["plain", "faked"]
    faked = fake_service("faked", answer=lambda number: number + 1)
    await plugin_probe(needy, services={"plain": "value", "faked": faked})
    assert seen == [("value", 2)] * 2


async def test_a_probe_finds_what_is_left() -> None:
    def leaky(ctx: Context) -> None:
        ctx.root.on("left/behind", lambda: None)

    with pytest.raises(LeakError, match="left/behind"):
        await plugin_probe(leaky)


async def test_a_probe_says_what_is_missing_or_wrong() -> None:
    def needy(ctx: Context) -> None: ...

    def failing(ctx: Context) -> None:
        raise ValueError("boom")

    async def endless(ctx: Context) -> None:
        await ctx.kernel.clock.sleep(10_000)

    needy.inject = ["foo"]
    with pytest.raises(TimeoutError, match=r"needy is PENDING; missing \{'foo'"):
        await plugin_probe(needy)
    with pytest.raises(ValueError, match="boom"):
        await plugin_probe(failing)
    with pytest.raises(TimeoutError, match="endless is LOADING"):
        await plugin_probe(endless)


async def test_a_fake_service_records_its_calls() -> None:
    faked = fake_service("faked", version=3, ask=lambda text, *, loud=False: text)
    async with kernel() as k:
        fiber = await k.root.plugin(faked, {"a": 1})
        using = await k.root.inject(["faked"], good).active()
        assert using.ctx.faked.ask("hi", loud=True) == "hi"
        assert using.ctx.faked.version == 3
        assert using.ctx.faked.config == {"a": 1}
        assert fiber.name == "fake-faked"
        (call,) = faked.calls
        assert (call.method, call.args, call.kwargs) == ("ask", ("hi",), {"loud": True})
        assert call.caller is using.ctx


SAID = Emit[[str]]("probe/said")
FLUSH = Parallel[[]]("probe/flush")


async def test_events_are_recorded_by_pattern() -> None:
    async with kernel() as k:
        target = object()
        everything = record_events(k.root)
        some = record_events(k.root, "probe/*")
        kernels = record_events(k.root, "internal/plugin", "internal/dispatch")
        k.root.emit(SAID, "hello", target=target)
        await k.root.parallel(FLUSH)
        k.root.emit("other/event")
        fiber = k.root.plugin(good)
        assert everything.names == ["probe/said", "probe/flush", "other/event"]
        assert some.names == ["probe/said", "probe/flush"]
        assert len(some) == 2
        assert some[0] == RecordedEvent("emit", "probe/said", ("hello",), target)
        assert [event.mode for event in some] == ["emit", "parallel"]
        assert some.of("probe/flush") == [some[1]]
        assert [event.args for event in kernels] == [(fiber,)]
        some.clear()
        assert len(some) == 0
