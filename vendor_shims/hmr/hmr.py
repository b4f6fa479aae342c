"""The service `hmr`: watches files, and has code and configuration brought in line with them."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from typing import ClassVar, Protocol, runtime_checkable

from anyio.lowlevel import checkpoint

from vendor_shims.cordis import Context, Effect, Fiber, FiberState, InactiveEffect, Service
from vendor_shims.hmr.config import HmrConfig
from vendor_shims.hmr.config_watch import LOOK_S, ConfigWatches, Refresh
from vendor_shims.hmr.events import CONFIG_UPDATE_FAILED, HMR_CHANGE
from vendor_shims.hmr.graph import ImportGraph
from vendor_shims.hmr.reloader import Reloader
from vendor_shims.hmr.roots import Roots
from vendor_shims.hmr.rounds import Rounds, running_rounds
from vendor_shims.hmr.source_loader import digest_of
from vendor_shims.hmr.watching import Watch, look, open_watch
from vendor_shims.loader import Entry, Loader
from vendor_shims.timer import TimerService


@runtime_checkable
class _Refreshed(Protocol):
    """A tree of rows in a file that can be read again, as includes are."""

    path: str | None

    async def refresh(self) -> None: ...
    def turn(self) -> AbstractAsyncContextManager[None]: ...


class Hmr(Service):
    """Replaces changed plugin code in the running tree, and refreshes changed configuration.

    Attributes:
        graph: the loaded modules below the roots.

    Invariants: `_stash` holds files whose running code is not what they say; one round replaces
    code at a time, and so does each file of configuration.
    """

    key = "hmr"
    name = "hmr"
    inject: ClassVar[list[str]] = ["loader", "timer"]
    Config = HmrConfig

    def __init__(self, ctx: Context, config: HmrConfig) -> None:
        super().__init__(ctx)
        self.config = config
        folder = os.path.join(ctx.base_dir or os.getcwd(), config.base or "")
        self.roots = Roots([os.path.join(folder, one) for one in config.root], config.ignored)
        self.graph = ImportGraph(self.roots)
        self._loader = ctx[Loader].origin
        self._reloader = Reloader(ctx, self._loader, self.graph, config.rollback)
        self._reload = Rounds(ctx, self._round, name="hmr reload")
        self._refreshes: dict[str, Rounds] = {}
        """Refreshes of includes, by canonical path."""
        self._configs = ConfigWatches(ctx, self._refreshed)
        self._refused: dict[Rounds, None] = {}
        """Refreshes that failed the last time; other code may let them in."""
        self._stash: set[str] = set()
        self._has_new_file = False
        self._cause: Rounds | None = None
        """Whose round ends this fiber, while it ends."""

    async def start(self) -> AsyncIterator[Callable[[], object]]:
        """Begin to watch.

        Raises:
            WatchFailed: a root is missing or cannot be watched.
        """
        ctx = self.ctx
        self.graph.install()
        yield self.graph.uninstall
        yield self._finish
        self._later = ctx[TimerService].debounce(self._reload.request, self.config.debounce / 1000)
        ctx.on("internal/status", self._note_cause, unfiltered=True)
        ctx.on("internal/plugin", self._note_plugin, unfiltered=True)
        for entry in self._loader.entries():
            self._reloader.note(entry)
        ctx[TimerService].interval(LOOK_S, self._configs.look)
        ctx.spawn(self._read_ahead, name="read ahead")
        watch = open_watch(
            self.roots, ctx.kernel.clock, polling=self.config.polling, tell=ctx.logger.warn
        )
        ctx.spawn(self.follow(watch), name="watch")

    # -- for others ------------------------------------------------------------------------------

    def imports(self, path: str) -> list[str]:
        """Return the names of the modules that a loaded file imports; empty for an unknown one."""
        return self.graph.imports(path)

    def file_changed(self, path: str) -> None:
        """Take notice of a file that came, changed or went, without waiting for the watcher."""
        if not self.ctx.fiber.is_active:
            return
        real = os.path.realpath(path)
        self._configs.look()
        tree = self._include_at(real)
        if tree is not None:
            self._refresh(real, tree)
        elif self.roots.has(real):
            self._code_changed(real)

    async def follow(self, watch: Watch) -> None:
        """Take notice of what a watch reports until it ends; look at the files if it breaks."""
        try:
            async for paths in watch:
                for path in sorted(paths):
                    self.file_changed(path)
        except Exception as error:  # noqa: BLE001 - the system may end a watch for any reason
            self.ctx.logger.warn("watching ended, files are looked at from now on: %s", error)
            await self.follow(look(self.roots, self.ctx.kernel.clock))

    async def register_config(self, path: str, refresh: Refresh) -> Effect:
        """Have `refresh()` awaited when a file comes, changes or goes, and now if it exists.

        The file may lie anywhere, and need not exist, nor its folders. Refreshes never overlap;
        changes during one cause one more. Failures are logged and announced as
        `hmr/config-update-failed`. The result undoes the registration and then waits for a refresh
        that runs; the calling plugin's end does that too.

        Raises:
            DuplicateConfigPath: the file is registered, be it under another spelling.
            InactiveEffect: hot reload is not running, so the program is ending.
        """
        await checkpoint()
        if self.ctx.fiber.state is not FiberState.ACTIVE:
            raise InactiveEffect("hot reload is not running, so it watches no configuration")
        watch = self._configs.add(path, refresh)

        async def undo() -> None:
            self._configs.remove(watch)
            await watch.rounds.finish(running_rounds())

        return self.caller.effect(lambda: undo, f"ctx.hmr.register_config({path!r})")

    # -- what happens on disk ----------------------------------------------------------------------

    def _include_at(self, path: str) -> _Refreshed | None:
        for entry in self._loader.entries():
            tree = entry.subtree
            if isinstance(tree, _Refreshed) and tree.path and os.path.realpath(tree.path) == path:
                return tree
        return None

    def _refresh(self, path: str, tree: _Refreshed) -> None:
        rounds = self._refreshes.get(path)
        if rounds is None:

            async def work(rounds: Rounds) -> None:
                rounds.is_waiting = True
                async with tree.turn():
                    rounds.is_waiting = False
                found = self._include_at(path)
                if found is not None:
                    await self._refreshed(rounds, path, found.refresh)

            rounds = self._refreshes[path] = Rounds(self.ctx, work, name=f"refresh {path}")
        rounds.request()

    async def _refreshed(self, rounds: Rounds, path: str, refresh: Refresh) -> None:
        """Run one refresh; its failure is logged and announced."""
        self._refused.pop(rounds, None)
        try:
            await refresh()
        except Exception as error:  # noqa: BLE001 - rows and files fail in any way
            self._refused[rounds] = None
            event = str(CONFIG_UPDATE_FAILED)
            self.ctx.logger.error("config reload at %s failed", path, event=event)
            self.ctx.logger.error(error, event=event)
            try:
                await self.ctx.parallel(CONFIG_UPDATE_FAILED, path, error)
            except Exception as observers:  # noqa: BLE001 - observers must not stop the next refresh
                self.ctx.logger.error(observers)

    def _code_changed(self, path: str) -> None:
        names = self.graph.named(path) if os.path.exists(path) else []
        if not names:
            self.ctx.emit(HMR_CHANGE, path)
            if path.endswith(".py"):
                self._has_new_file = True
                self._later()
            return
        digest = digest_of(path)
        sources = [self.graph.source(name) for name in names]
        if all(source is not None and source.digest == digest for source in sources):
            self._stash.discard(path)
        else:
            self._stash.add(path)
        if self._stash:
            self._later()

    async def _round(self, rounds: Rounds) -> None:
        """Bring the code in line with the files that changed until now."""
        rounds.is_waiting = True
        async with self._reloader.turns():
            rounds.is_waiting = False
            paths, self._stash = self._stash, set()
            has_new_file, self._has_new_file = self._has_new_file, False
            left = await self._reloader.replace(paths)
            self._stash |= left
            if has_new_file or paths - left:
                await self._reloader.retry()
                refused, self._refused = self._refused, {}
                for refresh in refused:
                    refresh.request()

    async def _read_ahead(self) -> None:
        """Read what was loaded before, a file at a time, so that the first reload is quick."""
        for _ in self.graph.read_ahead():
            await checkpoint()

    # -- the end -----------------------------------------------------------------------------------

    def _note_plugin(self, fiber: Fiber) -> None:
        if isinstance(fiber.entry, Entry):
            self._reloader.note(fiber.entry)

    def _note_cause(self, fiber: Fiber, _: object) -> None:
        if fiber is self.ctx.fiber and fiber.state is FiberState.UNLOADING:
            self._cause = running_rounds()

    async def _finish(self) -> None:
        """Wait for what runs, except for what ends this fiber and waits for it."""
        everything = [self._reload, *self._refreshes.values()]
        everything += [watch.rounds for watch in self._configs]
        for rounds in everything:
            rounds.close()
        for rounds in everything:
            await rounds.finish(self._cause)
