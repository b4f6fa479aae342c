"""A loader whose rows name plugins that record what happens to them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Any, cast

import pytest

from vendor_shims.cordis import Context, Fiber
from vendor_shims.loader import Entry, Loader, LoaderConfig
from vendor_shims.testing import Kernel, kernel


class World:
    """A root with a loader, plugins by name, and the log of their starts and ends."""

    def __init__(self, k: Kernel, loader: Loader) -> None:
        self.k = k
        self.root = k.root
        self.loader = loader
        self.log: list[str] = []
        self.writes = 0
        self.seen: dict[str, list[Any]] = {}
        cast("Any", loader).write = self._written
        for name in ("foo", "bar", "qux"):
            self.plugin(name)

    def _written(self) -> None:
        self.writes += 1

    def plugin(
        self,
        name: str,
        *,
        inject: Any = None,
        provides: str | None = None,
        fails: Callable[[Any], bool] | None = None,
        before: Callable[[], Any] | None = None,
    ) -> Any:
        """Let rows name a plugin that logs `+name config` and `-name`."""

        async def apply(ctx: Context, config: Any) -> Any:
            if before is not None:
                await before()
            if fails is not None and fails(config):
                raise ValueError(f"{name} does not like {config!r}")
            shown = "" if config is None else f" {config}"
            needs = [] if inject is None else [getattr(ctx, one) for one in inject]
            self.seen.setdefault(name, []).extend(needs)
            self.log.append(f"+{name}{shown}")
            if provides is not None:
                value = config if config is not None else name
                ctx.provide(provides, value)
            return lambda: self.log.append(f"-{name}")

        plugin = cast("Any", apply)
        plugin.name = name
        if inject is not None:
            plugin.inject = inject
        self.loader.resolver.register(name, apply)
        return apply

    async def create(self, name: str, /, parent: str | None = None, **options: Any) -> Entry:
        given = {"id": name, "name": name, **options}
        return self.loader.resolve(await self.loader.create(given, parent=parent))

    def entry(self, entry_id: str) -> Entry:
        return self.loader.resolve(entry_id)

    def fiber(self, entry_id: str) -> Fiber:
        fiber = self.entry(entry_id).fiber
        assert fiber is not None
        return fiber

    async def settle(self) -> None:
        await self.k.settle()

    def taken(self) -> list[str]:
        """Return the log so far and begin a new one."""
        log, self.log = self.log, []
        return log


@pytest.fixture
async def w() -> AsyncIterator[World]:
    async with kernel() as k:
        config = LoaderConfig(
            env={"PORT": "8080", "NAME": "it"}, home="/home/of/dsh", version="1.2"
        )
        k.root.plugin(Loader, config)
        await k.settle()
        yield World(k, k.root[Loader])
        await k.root.close()
