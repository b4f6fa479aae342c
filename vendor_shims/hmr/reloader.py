"""One round of replacing code: decide, import, exchange, and turn back what does not start."""

from __future__ import annotations

import os
import traceback
from collections.abc import AsyncGenerator, Iterable, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any, Literal

import attrs

from vendor_shims.cordis import Context
from vendor_shims.hmr.events import HMR_CHANGE, HMR_RELOAD, Reload
from vendor_shims.hmr.fiber_swap import Exchange, FiberSwap
from vendor_shims.hmr.graph import ImportGraph
from vendor_shims.hmr.module_swap import SLOW_S, ModuleSwap
from vendor_shims.hmr.stale import Plan, plan
from vendor_shims.loader import Entry, EntryError, EntryTree, Found, Loader


@attrs.define
class Reloader:
    """Replaces the plugins that changed files lead to.

    Attributes:
        ctx: whose log tells what happens.
        loader: the rows.
        graph: the loaded modules.
        rollback: whether a failing setup brings the old code back, or a failing import alone.

    Invariants: after a round the interpreter and the rows agree: a module that rows run is the one
    in `sys.modules`.
    """

    ctx: Context
    loader: Loader
    graph: ImportGraph
    rollback: Literal["setup", "import"]
    _former: set[str] = attrs.field(factory=set[str])
    """Modules of all plugins that rows ever ran."""

    def note(self, entry: Entry) -> None:
        """Note that a row runs a plugin."""
        if entry.module is not None:
            self._former.add(entry.module)

    @asynccontextmanager
    async def turns(self) -> AsyncGenerator[None]:
        """Have all trees of rows for oneself; outer trees first, as their operations do."""
        async with AsyncExitStack() as stack:
            taken: set[EntryTree] = set()
            while (
                tree := next((one for one in self._trees() if one not in taken), None)
            ) is not None:
                taken.add(tree)
                await stack.enter_async_context(tree.turn())
            yield

    async def replace(self, paths: Iterable[str]) -> set[str]:
        """Bring running code in line with changed files; return the paths that remain to be done.

        Those remain whose new code cannot be imported or, by `rollback`, does not start. The caller
        holds the turns.
        """
        changed = {name: path for path in paths for name in self.graph.named(path)}
        rows = self._rows()
        decided = plan(self.graph, changed, plugins=rows, former=self._former - rows.keys())
        self._refuse({changed[name] for name in decided.refused})
        self._forget(decided, changed)
        if not decided.plugins:
            return set()
        swap = ModuleSwap(self.graph)
        stale = [rows[name] for name in decided.plugins]
        left = {changed[name] for name in changed if name in decided.modules}
        exchanges = self._import(swap, decided, stale)
        if exchanges is None:
            return left
        return set() if await self._exchange(swap, exchanges) else left

    async def retry(self) -> None:
        """Start the rows whose plugins could not be imported; tell about new reasons only."""
        for entry in tuple(self.loader.entries()):
            failure = entry.failure
            if failure is None or failure.stage != "import":
                continue
            try:
                entry.begin()
                await entry.settled()
                self.ctx.logger.info("%s can be imported now", entry.path)
            except EntryError as error:
                if str(error) != str(failure):
                    self.ctx.logger.error(error)

    # -- steps -----------------------------------------------------------------------------------

    def _rows(self) -> dict[str, list[Entry]]:
        """Return the rows that run something, by the module of their plugin."""
        found: dict[str, list[Entry]] = {}
        for entry in self.loader.entries():
            if entry.fiber is not None and entry.module is not None:
                found.setdefault(entry.module, []).append(entry)
        return found

    def _trees(self) -> Iterator[EntryTree]:
        yield self.loader
        for entry in self.loader.entries():
            if entry.subtree is not None:
                yield entry.subtree

    def _refuse(self, paths: set[str]) -> None:
        for path in sorted(paths):
            self.ctx.logger.warn("%s changed: only a restart brings it in", self._shown(path))
        if paths:
            self.loader.exit()

    def _forget(self, decided: Plan, changed: dict[str, str]) -> None:
        """Let modules that nothing uses be imported afresh when something does again."""
        ModuleSwap(self.graph).take_out(decided.unused)
        for path in sorted({changed[name] for name in changed if name in decided.unused}):
            self.ctx.emit(HMR_CHANGE, path)

    def _import(
        self, swap: ModuleSwap, decided: Plan, stale: Sequence[Sequence[Entry]]
    ) -> list[Exchange] | None:
        """Import stale plugins again; on failure all modules are as before, and none returned."""
        swap.take_out(decided.modules)
        try:
            for name in decided.plugins:
                _, took_s = swap.fresh_import(name)
                if took_s > SLOW_S:
                    self.ctx.logger.warn("importing %s took %d ms", name, took_s * 1000)
            found = [one for entries in stale for one in self._found(entries)]
            swap.migrate()
        except BaseException as error:
            swap.undo()
            if not isinstance(error, Exception | SystemExit):
                raise
            self.ctx.logger.error("%s", _described(error, decided.plugins))
            return None
        return found

    def _found(self, entries: Sequence[Entry]) -> Iterator[Exchange]:
        """Return one exchange for each plugin of a module."""
        seen: set[Any] = set()
        for entry in entries:
            runtime = self.ctx.registry.get(entry.plugin)
            if runtime is not None and runtime.callback not in seen:
                seen.add(runtime.callback)
                new = entry.tree.resolve_plugin(entry.name)
                path = self.graph.path(new.module or "") or ""
                yield Exchange(path, Found(entry.plugin, entry.module), new, runtime)

    async def _exchange(self, swap: ModuleSwap, exchanges: list[Exchange]) -> bool:
        """Exchange the fibers; return whether the new code stays."""
        fibers = FiberSwap(self.ctx, exchanges)
        failures = await fibers.run()
        names = ", ".join(self._shown(one.path) for one in exchanges)
        for failure in failures:
            self.ctx.logger.error(failure)
        if failures and self.rollback == "setup":
            swap.undo()
            for failure in await fibers.back():
                self.ctx.logger.error(failure)
            self.ctx.logger.error("%s does not start: the code from before runs again", names)
            return False
        reloads: dict[Any, Reload] = {}
        for one in exchanges:
            runtimes = [fiber.runtime for fiber in fibers.fibers(one)]
            reloads |= {rt.callback: Reload(one.path, rt) for rt in runtimes if rt is not None}
            self.ctx.logger.info("reload plugin at %s", self._shown(one.path))
        self.ctx.emit(HMR_RELOAD, reloads)
        return True

    def _shown(self, path: str) -> str:
        """Return a path below the first root that has it, for reading."""
        for folder in self.graph.roots.folders:
            if path.startswith(folder + os.sep):
                return path[len(folder) + 1 :]
        return path


def _described(error: BaseException, plugins: Iterable[str]) -> str:
    """Return why an import failed, with the place; frames of the import system are left out."""
    report = traceback.TracebackException.from_exception(error)
    while report.stack and _is_machinery(report.stack[0].filename):
        report.stack.pop(0)
    text = "".join(report.format()).rstrip()
    return (
        f"the running code of {', '.join(plugins)} stays, the new one cannot be imported:\n{text}"
    )


def _is_machinery(file: str) -> bool:
    return "importlib" in file or file.startswith(os.path.dirname(__file__))
