"""One row of a tree: its options, where it stands, and the fiber that runs its plugin."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from vendor_shims.cordis import Context, Fiber, FiberState
from vendor_shims.loader.errors import EntryError, Stage
from vendor_shims.loader.events import ENTRY_INIT
from vendor_shims.loader.options import Options, ordered, unknown
from vendor_shims.loader.standing import Standing

if TYPE_CHECKING:
    from vendor_shims.loader.entry_group import EntryGroup
    from vendor_shims.loader.entry_tree import EntryTree


class Entry:
    """One row: options that say what to run, and at most one fiber that does.

    Attributes:
        id: unique within the tree.
        options: the row as it should be written, without members that are `None`.
        group: the group that lists the row.
        ctx: where the row's plugin is mounted; carries the tag `entry`.
        fiber: the running instance, `None` while disabled or when its import failed.
        plugin: what the reference led to, and `module` the name of the module it came from.
        subgroup: the rows below a group row that is mounted.
        subtree: the tree that a mounted include holds.
        failure: why the plugin could not be imported or mounted.

    Invariants: `fiber` belongs to `plugin`; whoever disposes it on the row's behalf takes it out
    of the row first, so that any other disposal counts as the plugin's own wish.
    """

    def __init__(self, group: EntryGroup, options: Options) -> None:
        self.group = group
        self.options = options
        self.id: str = options["id"]
        self.standing = Standing(self)
        self.ctx: Context = self.standing.enter(group.ctx)
        self.fiber: Fiber | None = None
        self.plugin: Any = None
        self.module: str | None = None
        self.subgroup: EntryGroup | None = None
        self.subtree: EntryTree | None = None
        self.failure: EntryError | None = None
        for key in unknown(options):
            self.ctx.logger.warn("row %s: the option %s means nothing", self.path, key)
        group.tree.loader.ctx.emit(ENTRY_INIT, self)

    def __repr__(self) -> str:
        return f"<Entry {self.path} ({self.name})>"

    @property
    def tree(self) -> EntryTree:
        """The tree that the row belongs to."""
        return self.group.tree

    @property
    def name(self) -> str:
        """The reference to the row's plugin."""
        return self.options["name"]

    @property
    def row(self) -> Options:
        """The row as it should be written; the rows in a mounted group are as they are now."""
        if self.subgroup is None or not self.subgroup.is_loaded:
            return ordered(self.options)
        return ordered({**self.options, "config": self.subgroup.rows})

    @property
    def path(self) -> str:
        """The id, after those of the rows whose trees it stands in: `include:web`."""
        outer = self.tree.entry
        return self.id if outer is None else f"{outer.path}:{self.id}"

    @property
    def parent(self) -> Entry | None:
        """The group row that the row stands in, or the row of its tree."""
        return self.group.entry or self.tree.entry

    @property
    def is_group(self) -> bool:
        """Whether the row stays mounted when disabled, and disables the rows in it instead."""
        return self.options.get("group") is True

    @property
    def is_switched_off(self) -> bool:
        """Whether the row's own `disabled` says so; an expression is evaluated now."""
        given = self.options.get("disabled")
        return given is not None and bool(self.tree.loader.evaluate_switch(self, given))

    @property
    def disabled(self) -> bool:
        """Whether the row is not to run: itself or a row around it is switched off."""
        if self.is_group:
            return False
        row: Entry | None = self
        while row is not None:
            if row.is_switched_off:
                return True
            row = row.parent
        return False

    def below(self) -> Iterator[Entry]:
        """Return the rows of a group or an include, depth first."""
        if self.subgroup is not None:
            yield from self.subgroup.entries_below()
        if self.subtree is not None:
            yield from self.subtree.entries()

    def begin(self) -> None:
        """Import the plugin and mount it, unless the row is disabled; `settled` waits for it.

        Raises:
            EntryError: the import failed, or the object is no plugin; `failure` keeps it.
        """
        self.failure = None
        try:
            if self.disabled:
                return
        except Exception as error:
            raise self.failed("apply", error) from error
        try:
            found = self.tree.resolve_plugin(self.name)
        except Exception as error:
            raise self.failed("import", error) from error
        self.mount(*found)

    def mount(self, plugin: object, module: str | None) -> None:
        """Run `plugin` for the row; raises `EntryError` when it is none."""
        self.plugin, self.module = plugin, module
        self.tree.say("apply", self)
        try:
            self.fiber = self.ctx.plugin(plugin, self.options.get("config"))
        except Exception as error:
            raise self.failed("apply", error) from error

    async def settled(self) -> None:
        """Wait until the fiber rests; a missing service counts as rest.

        Raises:
            EntryError: the plugin failed.
        """
        fiber = self.fiber
        if fiber is None:
            return
        try:
            await fiber
        except BaseException as error:
            if error is not fiber.error and not isinstance(error, Exception):
                raise  # the caller's own cancellation, rather than one that the setup raised
            raise self.failed("apply", error, keep=False) from error

    async def end(self) -> None:
        """Dispose the fiber and wait for its cleanup; the row stays."""
        fiber, self.fiber = self.fiber, None
        self.failure = None
        if fiber is not None:
            self.tree.say("unload", self)
            await fiber.dispose()

    def failed(self, stage: Stage, cause: BaseException, *, keep: bool = True) -> EntryError:
        """Return the error of a stage; with `keep` the row remembers it until it is mounted."""
        error = EntryError(stage, entry_id=self.path, plugin=self.name, cause=cause)
        if keep:
            self.failure = error
        return error

    @property
    def ignores_config(self) -> bool:
        """Whether the row has a config that its running plugin does not take."""
        runtime = None if self.fiber is None else self.fiber.runtime
        return runtime is not None and not runtime.takes_config and bool(self.options.get("config"))

    @property
    def fault(self) -> BaseException | None:
        """What keeps the row from running, if something was raised."""
        if self.failure is not None:
            return self.failure
        is_failed = self.fiber is not None and self.fiber.state is FiberState.FAILED
        return self.fiber.error if self.fiber is not None and is_failed else None

    def own_failures(self) -> list[EntryError]:
        """Return why the row itself does not run though it should."""
        found = [] if self.failure is None else [self.failure]
        fiber = self.fiber
        if fiber is not None and fiber.state is FiberState.FAILED and fiber.error is not None:
            found.append(self.failed("apply", fiber.error, keep=False))
        return found

    def failures(self) -> list[EntryError]:
        """Return why the row and the rows below it do not run though they should."""
        below = (one for entry in self.below() for one in entry.own_failures())
        return [*self.own_failures(), *below]
