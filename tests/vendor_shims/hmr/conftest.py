"""A project folder with plugins in files, a loader that runs them, and hot reload over it."""

from __future__ import annotations

import os
import sys
import textwrap
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from vendor_shims.cordis import Fiber
from vendor_shims.hmr import Hmr
from vendor_shims.loader import Entry, Loader, LoaderConfig
from vendor_shims.testing import Kernel, kernel
from vendor_shims.timer import TimerService

PLUGIN = """
    def apply(ctx, config):
        ctx.emit("log", "+{name} {value}")
        return lambda: ctx.emit("log", "-{name} {value}")
"""


class Project:
    """The folder, what runs from it, and what plugins, events and the log said."""

    def __init__(self, k: Kernel, folder: Path) -> None:
        self.k = k
        self.folder = folder
        self.root = k.root.extend(base_dir=str(folder))
        self.log: list[str] = []
        self.reloads: list[list[str]] = []
        self.changes: list[str] = []
        self.exits: list[Any] = []
        self.failures: list[tuple[str, Exception]] = []
        self.root.on("log", self.log.append)
        self.root.on("hmr/reload", self._reloaded)
        self.root.on("hmr/change", lambda path: self.changes.append(os.path.basename(path)))
        self.root.on("exit", self.exits.append)
        self.root.on(
            "hmr/config-update-failed", lambda path, error: self.failures.append((path, error))
        )

    def _reloaded(self, reloads: dict[Any, Any]) -> None:
        self.reloads.append(sorted(os.path.basename(one.path) for one in reloads.values()))

    @property
    def loader(self) -> Loader:
        found = self.root.get(Loader)
        assert found is not None
        return found

    @property
    def hmr(self) -> Hmr:
        found = self.root.get(Hmr)
        assert found is not None
        return found

    async def start(self, **config: Any) -> None:
        """Mount loader, timers and hot reload, which looks at files only when told to."""
        self.root.plugin(Loader, LoaderConfig(env={}))
        self.root.plugin(TimerService)
        await self.k.settle()
        given = {"polling": True, "debounce": 10, **config}
        await self.loader.create({"id": "hmr", "name": "cordis:hmr", "config": given})

    def path(self, name: str) -> str:
        return str(self.folder / name)

    def write(self, name: str, text: str) -> str:
        """Write a file without telling anybody."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text))
        return str(path)

    def plugin(self, name: str, value: object = 1, *, before: str = "") -> str:
        """Write a plugin that logs `+name value` and `-name value`; `before` goes above it."""
        body = textwrap.dedent(PLUGIN).replace("{name}", name).replace("{value}", str(value))
        return self.write(f"{name}.py", textwrap.dedent(before) + body)

    async def run(self, name: str, **options: Any) -> Entry:
        """Add a row for a plugin file."""
        row = {"id": name, "name": f"./{name}.py", **options}
        return self.loader.resolve(await self.loader.create(row))

    async def edited(self, *names: str) -> None:
        """Tell hot reload about written files, and let it do what follows."""
        for name in names:
            self.hmr.file_changed(self.path(name))
        await self.k.advance(0.02)

    async def edit(self, name: str, text: str) -> None:
        self.write(name, text)
        await self.edited(name)

    def fiber(self, entry_id: str) -> Fiber:
        fiber = self.loader.resolve(entry_id).fiber
        assert fiber is not None
        return fiber

    def taken(self) -> list[str]:
        """Return the log so far and begin a new one."""
        log, self.log[:] = list(self.log), []
        return log


@pytest.fixture(autouse=True)
def restored_modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Forget the modules of a test, so that the next one finds its own files."""
    monkeypatch.syspath_prepend(str(tmp_path / "lib"))
    before = dict(sys.modules)
    yield
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None) or ""
        if before.get(name) is not module and (
            file.startswith(str(tmp_path)) or name.startswith("dsh_local.")
        ):
            del sys.modules[name]


@pytest.fixture
def a_project(tmp_path: Path) -> Callable[[], AbstractAsyncContextManager[Project]]:
    """Make a project over the test's folder; must be empty again at the end."""

    @asynccontextmanager
    async def made() -> AsyncIterator[Project]:
        async with kernel() as k:
            yield Project(k, tmp_path)

    return made


@pytest.fixture
async def bare(a_project: Any) -> AsyncIterator[Project]:
    """A project that the test starts itself."""
    async with a_project() as project:
        yield project


@pytest.fixture
async def p(bare: Project) -> Project:
    """A project whose hot reload runs."""
    await bare.start()
    return bare
