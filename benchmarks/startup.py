"""Starting up: what importing, mounting and a whole run cost, each in a fresh process.

The floor is the same interpreter that imports only the libraries which the same thing cannot do
without.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from typing import NamedTuple

from benchmarks.measure import CALIBRATION_MS, Budget, Meter, Row, calibrate, row

REPEAT = 9
LIBRARIES = "import asyncio, anyio, attrs, orjson, anyio._backends._asyncio"
WITH_HTTP = f"{LIBRARIES}, httpx; httpx.create_ssl_context()"
HARNESS = "import harness; harness.HarnessError"
READY = """
import asyncio
from harness.http import HttpService
from harness_plugins import agent_core
from harness_plugins.llm_deepseek import DeepSeekPlugin
from vendor_shims.cordis import Context

async def main():
    async with Context() as root:
        root.plugin(agent_core)
        root.plugin(HttpService)
        root.plugin(DeepSeekPlugin, {"apiKey": "unused"})
        await root.settle()
        await root[HttpService].warm()

asyncio.run(main())
"""
_BOOT = """
import asyncio, sys
from pathlib import Path
from harness.launch import capture_environment, resolve_home
from harness_plugins.launcher.boot import boot
from harness_plugins.launcher.composition import composition, run_patches
from harness_plugins.launcher.launch_options import LaunchOptions
from harness_plugins.launcher.target import Target
from vendor_shims.cordis import Context

async def booted(root, route):
    home = resolve_home(sys.argv[1], {})
    environment = capture_environment({}, project_dir=Path(sys.argv[1]), home_dir=home.root)
    patches = tuple(run_patches(Target(route=route)))
    rows = composition(LaunchOptions(), home, environment, patches=patches)
    await boot(root, home, rows.composed, env=rows.env)
"""
READY_DSH = f"""{_BOOT}
async def main():
    async with Context() as root:
        await booted(root, None)

asyncio.run(main())
"""
READY_DSH_HTTP = f"""{_BOOT}
from harness.http import HttpService
from harness_plugins.launcher.route import Route

async def main():
    route = Route(
        provider="bench", dialect="openai", base_url="http://127.0.0.1:9/v1", key_name="BENCH_KEY"
    )
    async with Context() as root:
        await booted(root, route)
        await root[HttpService].warm()

asyncio.run(main())
"""
COMMAND = """
import sys
from harness_plugins.launcher import main
home, *arguments = sys.argv[1:]
assert main([*arguments, "--home", home]) == 0
"""
PEAK = """
import sys
for line in open("/proc/self/status"):
    if line.startswith("VmHWM:"):
        sys.stderr.write(line.split()[1])
"""


class Program(NamedTuple):
    """A piece of Python for fresh processes, its arguments, and where their byte code is kept."""

    text: str
    cache: str
    arguments: tuple[str, ...] = ()


class Cost(NamedTuple):
    """What one process took: scaled CPU and wall milliseconds, and its peak memory in MiB."""

    cpu_ms: float
    wall_ms: float
    peak_mib: float


async def rows(meter: Meter) -> AsyncIterator[Row]:
    """Measure an import, three compositions, and the command.

    `ready` is the default composition: loop, tools, prompt, sessions in memory, one adapter with
    its HTTP client and certificates loaded. `ready_dsh` is all that `dsh run --offline` mounts, and
    `ready_dsh_http` what `dsh run` mounts for an endpoint. The design does not say which of these
    its budget means, so the two with HTTP are both held to it.
    """
    repeat = max(3, meter.count(REPEAT))
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        home, cache = f"{folder}/home", f"{folder}/cache"
        for name, text, libraries in (
            ("import_harness", HARNESS, LIBRARIES),
            ("ready", READY, WITH_HTTP),
            ("ready_dsh", READY_DSH, LIBRARIES),
            ("ready_dsh_http", READY_DSH_HTTP, WITH_HTTP),
        ):
            ours, floor = Program(text, cache, (home,)), Program(libraries, cache)
            for one in beside_floor(name, ours, floor, repeat):
                yield one
        version = Program(COMMAND, cache, (home, "--version"))
        for one in whole("dsh_version", version, repeat, (Budget(60), Budget(15))):
            yield one
        run = Program(COMMAND, cache, (home, "run", "--offline", "--quiet", "run true"))
        for one in whole("dsh_run", run, repeat, (Budget(800), Budget(80))):
            yield one


# The budgets of the design: CPU with the floor that it was set beside, and memory.
BUDGETS = {
    "import_harness": (Budget(110, 89), Budget(26)),
    "ready": (Budget(260, 143), Budget(45)),
    "ready_dsh": (None, Budget(45)),
    "ready_dsh_http": (Budget(260, 143), Budget(45)),
}


def beside_floor(name: str, ours: Program, floor: Program, repeat: int) -> Iterator[Row]:
    """Measure a program and its floor in turns: a row of CPU time, then one of memory."""
    cost(ours)
    cost(floor)
    ours_costs: list[Cost] = []
    floor_costs: list[Cost] = []
    for _ in range(repeat):
        ours_costs.append(cost(ours))
        floor_costs.append(cost(floor))
    cpu, memory = BUDGETS[name]
    yield row(
        name,
        "ms",
        [one.cpu_ms for one in ours_costs],
        [one.cpu_ms for one in floor_costs],
        budget=cpu,
    )
    yield row(
        f"{name}_memory",
        "MiB",
        [one.peak_mib for one in ours_costs],
        [one.peak_mib for one in floor_costs],
        budget=memory,
    )


def whole(
    name: str, program: Program, repeat: int, budgets: tuple[Budget, Budget]
) -> Iterator[Row]:
    """Measure a command from its start to its end as a user waits for it: wall clock, memory."""
    cost(program)
    costs = [cost(program) for _ in range(repeat)]
    yield row(f"{name}_wall", "ms", [one.wall_ms for one in costs], budget=budgets[0])
    yield row(f"{name}_memory", "MiB", [one.peak_mib for one in costs], budget=budgets[1])


def cost(program: Program) -> Cost:
    """Run a program in a fresh interpreter; all but the first find their byte code ready."""
    command = [sys.executable, "-c", program.text + PEAK, *program.arguments]
    environ = {**os.environ, "PYTHONPYCACHEPREFIX": program.cache}
    environ.pop("PYTHONDONTWRITEBYTECODE", None)
    before_ms = calibrate()
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    started = time.perf_counter()
    done = subprocess.run(command, env=environ, capture_output=True, text=True, check=True)
    wall_ms = (time.perf_counter() - started) * 1e3
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu_s = after.ru_utime + after.ru_stime - used.ru_utime - used.ru_stime
    scale = 2 * CALIBRATION_MS / (before_ms + calibrate())
    return Cost(cpu_s * 1e3 * scale, wall_ms, int(done.stderr.split()[-1]) / 1024)
