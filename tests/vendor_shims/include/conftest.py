"""A kernel with a loader that runs includes from a folder of files."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from vendor_shims.cordis import Context, Fiber
from vendor_shims.include import Include
from vendor_shims.loader import Entry, Loader, LoaderConfig
from vendor_shims.testing import Kernel, kernel


class World:
    """A root with a loader, plugins that log their starts and ends, and a folder of files."""

    def __init__(self, k: Kernel, loader: Loader, folder: Path) -> None:
        self.k = k
        self.root = k.root
        self.loader = loader
        self.folder = folder
        self.log: list[str] = []
        for name in ("foo", "bar", "qux"):
            self.plugin(name)

    def plugin(
        self,
        name: str,
        *,
        fails: Callable[[Any], bool] | None = None,
        before: Callable[[], Any] | None = None,
    ) -> None:
        """Let rows name a plugin that logs `+name config` and `-name`."""

        async def apply(_: Context, config: Any) -> Any:
            if before is not None:
                await before()
            if fails is not None and fails(config):
                raise ValueError(f"{name} does not like {config!r}")
            self.log.append(f"+{name}" if config is None else f"+{name} {config}")
            return lambda: self.log.append(f"-{name}")

        plugin: Any = apply
        plugin.name = name
        self.loader.resolver.register(name, plugin)

    def file(self, name: str, text: str) -> Path:
        path = self.folder / name
        path.write_text(text)
        return path

    async def include(self, path: str | None = "rows.yml", **config: Any) -> Include:
        given = config if path is None else {"path": path, **config}
        await self.loader.create({"id": "inc", "name": "cordis:include", "config": given})
        return self.tree

    @property
    def tree(self) -> Include:
        tree = self.loader.resolve("inc").subtree
        assert isinstance(tree, Include)
        return tree

    def entry(self, entry_id: str) -> Entry:
        return self.loader.resolve(f"inc:{entry_id}")

    def fiber(self, entry_id: str) -> Fiber:
        fiber = self.entry(entry_id).fiber
        assert fiber is not None
        return fiber

    def running(self) -> dict[str, Any]:
        """Return the configs of the rows that run, by id."""
        return {
            entry.id: entry.fiber.config
            for entry in self.tree.entries()
            if entry.fiber is not None and entry.fiber.is_active
        }

    def taken(self) -> list[str]:
        """Return the log so far and begin a new one."""
        log, self.log = self.log, []
        return log


@pytest.fixture
async def w(tmp_path: Path) -> AsyncIterator[World]:
    async with kernel() as k:
        config = LoaderConfig(env={"PORT": "8080"}, home="/home/of/dsh", version="1.2")
        base = k.root.extend(base_dir=str(tmp_path))
        base.plugin(Loader, config)
        await k.settle()
        yield World(k, k.root[Loader], tmp_path)
        await k.root.close()
