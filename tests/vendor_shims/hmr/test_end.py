"""Ending hot reload, also while it works, and starting it where it cannot work."""

from __future__ import annotations

import asyncio
import sys

import anyio
import pytest

from vendor_shims.cordis import FiberState
from vendor_shims.hmr import Hmr, WatchFailed

HELD = """
    from anyio import Event
    gate = Event()
    async def apply(ctx):
        ctx.emit("log", "+a {value}")
        await gate.wait()
"""


@pytest.mark.spec("01-M17")
async def test_ending_during_a_reload_waits_for_it(p):
    p.plugin("a", 1)
    entry = await p.run("a")
    await p.edit("a.py", HELD.replace("{value}", "2"))
    end = p.fiber("hmr").dispose()
    await p.k.settle()
    assert not end.is_open
    sys.modules[entry.module].gate.set()
    await end
    assert entry.fiber.state is FiberState.ACTIVE
    assert p.taken() == ["+a 1", "-a 1", "+a 2"]
    assert not [one for one in asyncio.all_tasks() if one.get_name() in ("watch", "hmr reload")]


@pytest.mark.spec("01-M17")
async def test_a_reload_that_waits_for_its_turn_is_called_off(p):
    p.plugin("a", 1)
    old = (await p.run("a")).fiber
    async with p.loader.turn():
        p.plugin("a", 2)
        await p.edited("a.py")
        await p.fiber("hmr").dispose()
    await p.k.settle()
    assert p.fiber("a") is old


@pytest.mark.spec("01-M17")
async def test_removing_the_row_of_hot_reload_while_it_waits_does_not_hang(p):
    p.plugin("a", 1)
    await p.run("a")
    p.plugin("a", 2)
    p.hmr.file_changed(p.path("a.py"))
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(p.loader.remove, "hmr")
        await p.k.advance(0.02)
    assert p.root.get(Hmr) is None
    assert p.k.logged("warn") == []


async def test_nothing_is_left_of_it(p):
    hmr, finders = p.hmr, list(sys.meta_path)
    await p.loader.remove("hmr")
    assert len(sys.meta_path) == len(finders) - 1
    hmr.file_changed(p.write("x.txt", ""))
    assert p.changes == []


async def test_a_plugin_that_holds_hot_reload_may_be_reloaded(p):
    await p.loader.remove("hmr")
    text = """
        from vendor_shims.hmr import Hmr
        def apply(ctx):
            ctx.emit("log", {value})
            ctx.plugin(Hmr, {"polling": True, "debounce": 10})
    """
    p.write("host.py", text.replace("{value}", "1"))
    await p.run("host")
    await p.k.settle()
    for value in ("2", "3"):
        p.write("host.py", text.replace("{value}", value))
        await p.edited("host.py")
        await p.k.settle()
    assert p.taken() == [1, 2, 3]
    assert p.k.logged("warn") == []


async def test_a_missing_root_fails_the_start(bare):
    p = bare
    with pytest.raises(Exception, match=r"cannot watch .*missing.* is no folder") as caught:
        await p.start(root=["missing"])
    assert isinstance(caught.value.__cause__, WatchFailed)
    assert not any(type(one).__name__ == "FreshFinder" for one in sys.meta_path)
