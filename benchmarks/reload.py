"""Hot reload: how long an edit takes to run, and what a round costs by the number of plugins.

The floor of the first row is a bare watcher that runs the edited file, with the same pause before.
The floor of the others is importing the edited file again.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import statistics
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager

import anyio

from benchmarks.measure import Budget, Meter, Row
from vendor_shims.cordis import Context
from vendor_shims.hmr import Hmr
from vendor_shims.loader import Loader, LoaderConfig, import_local
from vendor_shims.timer import TimerService

EDITS = 15
DEBOUNCE_MS = 100
PLUGIN = """
from .shared import VALUE

def apply(ctx):
    ctx.emit("running", {value})
"""


async def rows(meter: Meter) -> AsyncIterator[Row]:
    """Measure an edit on the real clock, then rounds over 10 and 300 plugins."""
    if importlib.util.find_spec("watchfiles") is not None:
        yield await edit_to_running(max(3, meter.count(EDITS)))
    for n_plugins in (10, 300):
        async with project(n_plugins, debounce_ms=0) as (root, folder):
            yield await one_round(meter, root, folder, n_plugins=n_plugins)


async def edit_to_running(n_edits: int) -> Row:
    """Return the median wall milliseconds from the write of a file to its new code running."""
    ours: list[float] = []
    async with project(10, debounce_ms=DEBOUNCE_MS) as (root, folder):
        waiting = {"event": anyio.Event()}
        root.on("running", lambda _: waiting["event"].set())
        for value in range(1, n_edits + 1):  # 0 is what the files say already
            waiting["event"] = anyio.Event()
            started = time.perf_counter()
            write(folder, "p0.py", PLUGIN.format(value=value))
            await waiting["event"].wait()
            ours.append((time.perf_counter() - started) * 1e3)
            await anyio.sleep(0.05)
    floor = await bare_watcher(n_edits)
    best = statistics.median(ours)
    spread = (statistics.quantiles(ours, n=4)[2] - best) / best
    return Row("edit_to_running", "ms", best, floor, Budget(150.0), spread)


async def bare_watcher(n_edits: int) -> float:
    """Return the median milliseconds from a write to the end of a watcher's own execution."""
    from watchfiles import awatch

    took: list[float] = []
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        write(folder, "p.py", "")
        watch = awatch(folder, debounce=50, step=10, rust_timeout=100, yield_on_timeout=True)
        await anext(watch)
        for value in range(n_edits):
            started = time.perf_counter()
            path = write(folder, "p.py", f"VALUE = {value}")
            while not await anext(watch):
                continue
            await anyio.sleep(DEBOUNCE_MS / 1e3)
            run(path)
            took.append((time.perf_counter() - started) * 1e3)
        await watch.aclose()
    return statistics.median(took)


async def one_round(meter: Meter, root: Context, folder: str, *, n_plugins: int) -> Row:
    """Return the CPU of an edit among so many plugins, without any waiting."""
    hmr = root.get(Hmr)
    assert hmr is not None
    values: Iterator[int] = iter(range(1, 1_000_000))
    waiting = {"event": anyio.Event()}
    root.on("running", lambda _: waiting["event"].set())

    async def ours(count: int) -> None:
        for _ in range(count):
            waiting["event"] = anyio.Event()
            hmr.file_changed(write(folder, "p0.py", PLUGIN.format(value=next(values))))
            await waiting["event"].wait()

    def floor(count: int) -> None:
        for _ in range(count):
            path = write(folder, "p1.py", PLUGIN.format(value=next(values)))
            spec = importlib.util.spec_from_file_location(import_local(path).__name__, path)
            assert spec is not None
            assert spec.loader is not None
            spec.loader.exec_module(importlib.util.module_from_spec(spec))

    return await meter.compare(f"reload_round_{n_plugins}", ours, floor, count=20)


@asynccontextmanager
async def project(n_plugins: int, *, debounce_ms: int) -> AsyncIterator[tuple[Context, str]]:
    """Run so many plugins from files of a new folder, with hot reload over it."""
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        write(folder, "shared.py", "VALUE = 1")
        for number in range(n_plugins):
            write(folder, f"p{number}.py", PLUGIN.format(value=0))
        async with Context() as top:
            root = top.extend(base_dir=folder)
            root.plugin(Loader, LoaderConfig(env={}))
            root.plugin(TimerService)
            await root.settle()
            loader = root.get(Loader)
            assert loader is not None
            config = {"debounce": debounce_ms, "polling": debounce_ms == 0}
            await loader.create({"id": "hmr", "name": "cordis:hmr", "config": config})
            for number in range(n_plugins):
                await loader.create({"id": f"p{number}", "name": f"./p{number}.py"})
            yield root, folder


def run(path: str) -> None:
    """Run a file as importing does."""
    with open(path, "rb") as file:
        exec(compile(file.read(), path, "exec"), {})  # noqa: S102 - that is what is measured


def write(folder: str, name: str, text: str) -> str:
    """Write a file and return its path."""
    path = os.path.join(folder, name)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path
