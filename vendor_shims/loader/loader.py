"""The service `loader`: the tree in memory at the top, and what all trees share."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from vendor_shims.cordis import Context, Fiber, Service
from vendor_shims.loader.entry import Entry
from vendor_shims.loader.entry_tree import EntryTree
from vendor_shims.loader.events import EXIT
from vendor_shims.loader.references import PluginResolver
from vendor_shims.loader.saved_config import saved_config
from vendor_shims.loader.standing import Labels

if TYPE_CHECKING:
    from vendor_shims.expressions import Names


class LoaderConfig(NamedTuple):
    """What expressions in rows may read besides services, and whether rows log.

    Attributes:
        env: environment variables; those of the process by default.
        home: the home directory of the program.
        version: its version.
        enable_logs: log `apply`, `reload` and `unload` of the rows of the top tree.
    """

    env: Mapping[str, str] | None = None
    home: str | None = None
    version: str | None = None
    enable_logs: bool = False


class Loader(EntryTree, Service):
    """Runs plugins from rows: the top tree, which lives in memory, and trees in files below it.

    A plugin that injects `loader` with the config `{await: true}` waits until no operation runs
    and no row is starting or ending.

    Invariants: `operations` counts the operations of all trees that run or wait for their turn.
    """

    key = "loader"

    def __init__(self, ctx: Context, config: LoaderConfig | None = None) -> None:
        Service.__init__(self, ctx)
        self.config = config or LoaderConfig()
        self.resolver = PluginResolver()
        self.labels = Labels()
        self.operations = 0
        self.enable_logs = self.config.enable_logs
        env = os.environ if self.config.env is None else self.config.env
        self._env = dict(env)
        EntryTree.__init__(self, ctx, self)
        ctx.on("internal/plugin", self._fiber_came_or_goes, prepend=True, unfiltered=True)
        ctx.on("internal/config", self._interpolated, unfiltered=True)
        ctx.on("internal/updated", self._config_taken, unfiltered=True)
        ctx.on("internal/status", self._fiber_moved, unfiltered=True)

    def locate(self, fiber: Fiber) -> str | None:
        """Return the id of the row that a fiber runs for, directly or further up."""
        return fiber.entry.path if isinstance(fiber.entry, Entry) else None

    def get_tasks(self) -> list[Fiber]:
        """Return the fibers of rows that are starting or ending."""
        return [fiber for fiber in self.ctx.kernel.busy if fiber.entry is not None]

    def exit(self, signal: str | None = None) -> None:
        """Ask the program to end or restart; without a listener nothing happens."""
        self.ctx.emit(EXIT, signal)

    def check(self) -> bool:
        """Let those who asked to wait in only while nothing moves; see the class."""
        reader = self.caller.fiber
        if not _waits_for_rest(self.caller) or reader in self._committers():
            return True
        return not self.operations and all(fiber is reader for fiber in self.get_tasks())

    def look_again(self) -> None:
        """Let those in who waited for rest, if there is rest."""
        if self.ctx.fiber.accepts and not self.operations and not self.get_tasks():
            self.ctx.notify(self.name)

    def evaluate_switch(self, entry: Entry, given: object) -> object:
        """Return the value of a row's `disabled`; expressions see the loader's services."""
        from vendor_shims.expressions import interpolate

        ctx = entry.tree.ctx
        names = self._names(ctx)
        path = ("disabled",)
        return interpolate(given, names, row=entry.path, path=path, templates=_has_templates(ctx))

    def _names(self, ctx: Context) -> Names:
        from vendor_shims.expressions import Names

        settings: LoaderConfig = self.config
        return Names(
            env=self._env,
            ctx=ctx,
            home=settings.home,
            base_dir=ctx.base_dir,
            version=settings.version,
        )

    # -- what the kernel tells -------------------------------------------------------------------

    def _fiber_came_or_goes(self, fiber: Fiber) -> None:
        if fiber.uid is None:
            self._fiber_goes(fiber)
            return
        fiber.entry = entry = fiber.ctx.own_tags.get("entry")
        if isinstance(entry, Entry) and _is_root_fiber(fiber):
            declared = entry.options.get("inject")
            if declared is not None:
                from vendor_shims.cordis import normalise_inject

                fiber.inject.update(normalise_inject(declared))

    def _fiber_goes(self, fiber: Fiber) -> None:
        """Switch a row off whose plugin ended itself; the loader forgets a fiber before it does."""
        entry, owner = fiber.entry, fiber.parent
        if not isinstance(entry, Entry) or entry.fiber is not fiber or owner is None:
            return
        runtime = fiber.runtime
        is_deleted = runtime is None or self.ctx.registry.get(runtime.callback) is not runtime
        if owner.is_ending or owner.uid is None or is_deleted:
            return
        entry.fiber = None
        entry.options = {**entry.options, "disabled": True}
        entry.tree.changed()

    def _interpolated(self, fiber: Fiber, _: object, next: Callable[[], object]) -> object:
        """Evaluate the expressions in the config of a row's own plugin."""
        raw, entry = next(), fiber.entry
        if not isinstance(entry, Entry) or not _is_root_fiber(fiber):
            return raw
        if getattr(entry.plugin, "is_config_literal", False):
            return raw
        return self._meaning(fiber, raw)

    def _meaning(self, fiber: Fiber, config: object) -> object:
        """Return a config with the values of its expressions, as a row's plugin sees them."""
        from vendor_shims.expressions import interpolate

        row = None if fiber.entry is None else cast("Entry", fiber.entry).path
        templates = _has_templates(fiber.ctx)
        return interpolate(config, self._names(fiber.ctx), row=row, templates=templates)

    def _config_taken(self, fiber: Fiber, save: bool) -> None:  # noqa: FBT001 - the event's form
        entry = fiber.entry
        if not save or not isinstance(entry, Entry) or entry.fiber is not fiber:
            return
        config = saved_config(
            fiber,
            entry.options.get("config"),
            lambda written: self._meaning(fiber, written),
            templates=_has_templates(fiber.ctx),
        )
        entry.options = {**entry.options, "config": config}
        entry.tree.changed()

    def _fiber_moved(self, fiber: Fiber, _: object) -> None:
        if fiber.entry is not None and not fiber.is_moving and self._has_waiting():
            self.ctx.kernel.next_turn(self.look_again)

    def _has_waiting(self) -> bool:
        committers = self._committers()
        watchers = self.ctx.realm(self.name).watchers
        return any(fiber not in committers for fiber in watchers)

    def _committers(self) -> Mapping[Fiber, None]:
        binding = self.ctx.realm(self.name).binding
        return {} if binding is None else binding.committers


def _is_root_fiber(fiber: Fiber) -> bool:
    """Return whether a fiber is the one a row mounted, not a child of it."""
    return fiber.parent is None or fiber.parent.entry is not fiber.entry


def _has_templates(ctx: Context) -> bool:
    """Return whether `${…}` in texts is evaluated here, besides tagged expressions."""
    return ctx.own_tags.get("interpolate") != "tags-only"


def _waits_for_rest(ctx: Context) -> bool:
    layers = ctx.intercept_layers("loader")
    return any(
        cast("Mapping[str, Any]", layer).get("await")
        for layer in layers
        if isinstance(layer, Mapping)
    )
