"""Rows: read and composed from files, mounted, and changed while they run."""

from __future__ import annotations

import tempfile
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from benchmarks.measure import Budget, Meter, Row, row
from vendor_shims.cordis import Context
from vendor_shims.include import Composed, Layer, compose, read_layer
from vendor_shims.loader import Loader

N_ROWS = 300
REPEAT = 7


class Plugin:
    """What each row runs: it depends on the row before, provides for the next, and listens."""

    def __init__(self, number: int) -> None:
        self.name = f"plugin-{number}"
        self.inject = [f"service_{number - 1}"] if number % 10 else []
        self._service = f"service_{number}"

    def apply(self, ctx: Context, config: dict[str, Any]) -> None:
        """Provide the service and register a listener."""
        ctx.provide(self._service, config)
        ctx.on("bench/composition", lambda: None)


PLUGINS = {f"bench-{number}": Plugin(number) for number in range(N_ROWS)}


async def rows(meter: Meter) -> AsyncIterator[Row]:
    """Measure a tree of 300 rows: from text to active plugins, and one row changed."""
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        file = Path(folder) / "rows.yml"
        file.write_text(f"- insert:\n{''.join(map(written, range(N_ROWS)))}", encoding="utf-8")
        for measured in (boots, changes):
            async for one in measured(meter, file):
                yield one


def written(number: int) -> str:
    """Return a row as YAML."""
    return (
        f"    - id: row-{number}\n      name: bench-{number}\n      config:\n"
        f"        port: {8000 + number}\n        text: row number {number}\n"
        "        list: [1, 2, 3]\n"
    )


def composed(file: Path) -> Composed:
    """Read the rows as a bundle's layer, and compose them."""
    layer = read_layer(str(file), name="bench", kind="bundle", required=True)
    assert layer is not None, "a required layer is there"
    return compose([layer])


async def boots(meter: Meter, file: Path) -> AsyncIterator[Row]:
    """Measure reading and mounting; the floor mounts the same plugins without rows."""
    ours: list[float] = []
    floor: list[float] = []
    reading: list[float] = []
    for _ in range(max(3, meter.count(REPEAT))):
        reading.append(await meter.sample(lambda _: composed(file)) / 1e3)
        ours.append(await meter.sample(lambda _: boot(file)) / 1e3)
        floor.append(await meter.sample(lambda _: mount_plainly()) / 1e3)
    yield row("compose_300_rows", "ms", reading)
    yield row("boot_300_rows", "ms", ours, floor, budget=Budget(400))


async def boot(file: Path) -> None:
    """Read, compose and mount the rows, and unload everything."""
    async with Context() as root:
        loader = await with_loader(root)
        config = {"patches": list(composed(file).patches)}
        await loader.create({"id": "include", "name": "cordis:include", "config": config})
        await root.settle()


async def mount_plainly() -> None:
    """Mount the plugins of the rows by hand."""
    async with Context() as root:
        for number, plugin in enumerate(PLUGINS.values()):
            root.plugin(plugin, {"port": 8000 + number})
        await root.settle()


async def with_loader(root: Context) -> Loader:
    """Mount a loader that knows the plugins."""
    root.plugin(Loader)
    await root.settle()
    loader = root[Loader].origin
    for name, plugin in PLUGINS.items():
        loader.resolver.register(name, plugin)
    return loader


async def changes(meter: Meter, file: Path) -> AsyncIterator[Row]:
    """Measure another config for one row of the running tree, composed anew as a file change is."""
    base = composed(file)
    async with Context() as root:
        loader = await with_loader(root)
        config = {"patches": list(base.patches)}
        await loader.create({"id": "include", "name": "cordis:include", "config": config})
        await root.settle()
        ports = iter(range(10_000, 100_000))

        async def change(_: int) -> None:
            patch = {"id": "row-299", "merge": {"port": next(ports)}}
            layers = [*base.layers, Layer("edit", "home", [patch])]
            patches = list(compose(layers).patches)
            await loader.update("include", {"config": {"patches": patches}})

        samples = [await meter.sample(change) / 1e3 for _ in range(max(3, meter.count(REPEAT)))]
        yield row("change_1_of_300_rows", "ms", samples)
