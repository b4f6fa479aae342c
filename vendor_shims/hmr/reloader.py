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
from vendor_shims.loader import Entry, EntryError, EntryTree, Found, Loader, contained


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
        failed = await self._replaced(decided)
        return {changed[name] for part in failed for name in part.modules & changed.keys()}

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

    async def _replaced(self, decided: Plan) -> list[Plan]:
        """Replace all stale plugins at once or, if that fails, those that can be; tell why.

        Return the parts of the plan that remain.
        """
        if not decided.plugins:
            return []
        failures = await self._attempt(decided)
        parts = decided.parts()
        if failures and len(parts) > 1:
            outcomes = [(part, await self._attempt(part)) for part in parts]
        else:
            outcomes = [(decided, failures)]
        failed = [(part, found) for part, found in outcomes if found]
        for part, found in failed:
            names, reasons = ", ".join(sorted(part.plugins)), "; ".join(found)
            self.ctx.logger.error("the code from before keeps running for %s: %s", names, reasons)
        return [part for part, _ in failed]

    async def _attempt(self, part: Plan) -> list[str]:
        """Replace some plugins; return why that failed, and then all is as it was."""
        rows = self._rows()
        swap = ModuleSwap(self.graph)
        swap.take_out(part.modules)
        try:
            with contained():
                for name in part.plugins:
                    _, took_s = swap.fresh_import(name)
                    if took_s > SLOW_S:
                        self.ctx.logger.warn("importing %s took %d ms", name, took_s * 1000)
                exchanges = [
                    one for name in part.plugins for one in self._exchanges(rows.get(name, ()))
                ]
                swap.migrate()
        except Exception as error:  # noqa: BLE001 - modules raise anything
            swap.undo()
            return [_described(error)]
        except BaseException:
            swap.undo()
            raise
        return await self._exchange(swap, exchanges)

    def _exchanges(self, entries: Sequence[Entry]) -> Iterator[Exchange]:
        """Return one exchange for each plugin of a module that was imported again."""
        seen: set[Any] = set()
        for entry in entries:
            runtime = self.ctx.registry.get(entry.plugin)
            if runtime is not None and runtime.callback not in seen:
                seen.add(runtime.callback)
                new = entry.tree.resolve_plugin(entry.name)
                name = new.module or entry.name
                path = self.graph.path(name) or name
                yield Exchange(path, Found(entry.plugin, entry.module), new, runtime)

    async def _exchange(self, swap: ModuleSwap, exchanges: list[Exchange]) -> list[str]:
        """Exchange the fibers; return why the new code does not stay, if it does not."""
        fibers = FiberSwap(self.ctx, exchanges)
        failures = list(map(_named, await fibers.run()))
        if failures and self.rollback == "setup":
            swap.undo()
            again = await fibers.back()
            return [*failures, *(f"and neither does the old code: {_named(one)}" for one in again)]
        for failure in failures:
            self.ctx.logger.error("new code does not run: %s", failure)
        reloads: dict[Any, Reload] = {}
        for one in exchanges:
            runtimes = [fiber.runtime for fiber in fibers.fibers(one)]
            reloads |= {rt.callback: Reload(one.path, rt) for rt in runtimes if rt is not None}
            self.ctx.logger.info("reload plugin at %s", self._shown(one.path))
        self.ctx.emit(HMR_RELOAD, reloads)
        return []

    def _shown(self, path: str) -> str:
        """Return a path below the nearest root, for reading."""
        return min((os.path.relpath(path, one) for one in self.graph.roots.folders), key=len)


def _named(error: Exception) -> str:
    """Return an error in a line; where it came from, the log of the plugin says."""
    return f"{type(error).__name__}: {error}"


def _described(error: BaseException) -> str:
    """Return why an import failed, with the place; frames of the import system are left out."""
    report = traceback.TracebackException.from_exception(error)
    while report.stack and _is_machinery(report.stack[0].filename):
        report.stack.pop(0)
    text = "".join(report.format()).rstrip()
    return f"new code cannot be imported:\n{text}"


def _is_machinery(file: str) -> bool:
    return "importlib" in file or file.startswith(os.path.dirname(__file__))
