"""A tree of rows that share ids and one queue of operations."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, contextmanager
from types import EllipsisType
from typing import TYPE_CHECKING, Any, cast
from uuid import uuid4

from vendor_shims.cordis import Context
from vendor_shims.loader.change import change_or_restore
from vendor_shims.loader.entry import Entry
from vendor_shims.loader.entry_group import EntryGroup
from vendor_shims.loader.errors import CyclicGroup, EntryError, LoaderError, UnknownEntry
from vendor_shims.loader.events import CONFIG_UPDATE
from vendor_shims.loader.options import Options, checked, require_distinct
from vendor_shims.loader.turns import Turns

if TYPE_CHECKING:
    from vendor_shims.expressions import Place
    from vendor_shims.loader.loader import Loader
    from vendor_shims.loader.references import Found


class EntryTree:
    """Rows in groups, with operations that are serialised and leave no half-done state.

    Subclasses hold the rows of a file: they override `write` and `place`, and `path` names the
    file.

    Invariants: `store` holds every row of every mounted group of this tree by its id; a row that
    failed in an operation is not in it afterwards, and nothing was written.
    """

    path: str | None = None
    enable_logs: bool = False
    is_restoring: bool = False

    def __init__(self, ctx: Context, loader: Loader, *, entry: Entry | None = None) -> None:
        self.ctx = ctx
        self.loader = loader
        self.entry = entry
        self.store: dict[str, Entry] = {}
        self.root = EntryGroup(ctx, self)
        self._turns = Turns(self, self._keep)
        if entry is not None:
            entry.subtree = self
        ctx.effect(lambda: self._forget, "rows")  # undone last: after the fibers of all rows

    # -- looking -----------------------------------------------------------------------------

    def entries(self) -> Iterator[Entry]:
        """Return the rows, and those of the trees in them, depth first."""
        return self.root.entries_below()

    def resolve(self, entry_id: str) -> Entry:
        """Return the row that `a`, or `outer:a` in a nested tree, names.

        Raises:
            UnknownEntry: there is none.
        """
        tree: EntryTree | None = self
        entry: Entry | None = None
        for segment in entry_id.split(":"):
            entry = None if tree is None else tree.store.get(segment)
            tree = None if entry is None else entry.subtree
        if entry is None:
            raise UnknownEntry(entry_id)
        return entry

    def resolve_plugin(self, reference: str) -> Found:
        """Import what a row names; relative paths start at the tree's folder."""
        return self.loader.resolver.resolve(reference, base_dir=self.ctx.base_dir)

    def place(self, entry_id: str, *keys: str | int) -> Place | None:  # noqa: ARG002 - for files
        """Return where a row, or a value in it, is written; a tree in memory does not know."""
        return None

    @property
    def is_alive(self) -> bool:
        """Whether the tree may still change."""
        return self.root.is_alive

    # -- operations --------------------------------------------------------------------------

    async def create(
        self, options: Mapping[str, Any], parent: str | None = None, position: int | None = None
    ) -> str:
        """Add a row and wait until it rests; return its id, which is drawn when not given.

        Args:
            options: the row.
            parent: the id of a group row, or of an include whose tree gets the row.
            position: an index among the rows there; at the end by default.

        Raises:
            EntryError: the row failed; it is gone and nothing was written.
            UnknownEntry, InvalidEntry, DuplicateEntry: the arguments fit nothing.
        """
        group = self._group_of(parent)
        tree = group.tree
        async with tree.turn():
            row = {"id": tree.draw_id(), **options}
            [checked_row] = tree.checked_rows([*group.rows, row], group)[-1:]
            entry = Entry(group, checked_row)
            group.insert(entry, position)
            try:
                entry.begin()
                await entry.settled()
                _raise_all(entry.failures())
            except BaseException:
                if entry in group.entries:
                    await entry.end()
                    group.remove(entry)
                raise
            tree.changed()
            return entry.id

    async def update(
        self,
        entry_id: str,
        options: Mapping[str, Any],
        parent: str | EllipsisType | None = ...,
        position: int | None = None,
    ) -> None:
        """Merge options into a row; `None` removes one. Move it when a parent is given.

        Args:
            entry_id: the row.
            options: what changes.
            parent: the group row to move into, `None` for the top level of the same tree.
            position: an index among the rows of its group.

        Raises:
            EntryError: the change failed and was undone.
            CyclicGroup: the row would stand below itself.
        """
        tree, last = self._tree_of(entry_id)
        async with tree.turn():
            entry = tree.resolve(last)
            group = entry.group if isinstance(parent, EllipsisType) else tree._group_of(parent)
            tree._require_other_branch(entry, group)
            home, order = entry.group, list(entry.group.entries)
            merged = checked({**entry.row, **options, "id": entry.id})
            try:
                await change_or_restore(entry, merged, group=group)
            except BaseException:
                home.entries[:] = [one for one in order if one in home.entries]
                raise
            if position is not None:
                group.entries.remove(entry)
                group.entries.insert(position, entry)
            tree.changed()

    async def remove(self, entry_id: str) -> None:
        """End a row and forget it."""
        tree, last = self._tree_of(entry_id)
        async with tree.turn():
            entry = tree.resolve(last)
            await entry.end()
            entry.group.remove(entry)
            tree.changed()

    async def load_rows(self, rows: Sequence[object]) -> None:
        """Mount the first rows of the tree; failing ones stay and say why. See `wait`."""
        async with self.turn():
            await self.root.load(rows)

    async def update_rows(self, rows: Sequence[object]) -> None:
        """Bring the whole tree to these rows or, when one fails, back; see `EntryGroup.update`.

        A row that moved to another group is ended first and started there.
        """
        async with self.turn():
            wanted = self.checked_rows(rows, self.root)
            before = self.root.rows
            broken = self.root.faults()
            has_moved = False
            homes = dict(_homes(wanted, None))
            for entry in [one for one in self.store.values() if one.id in homes]:
                inside = None if entry.group.entry is None else entry.group.entry.id
                if homes[entry.id] != inside and entry.id in self.store:
                    has_moved = True
                    await entry.end()
                    entry.group.remove(entry)
            try:
                await self.root.update(wanted)
            except Exception as error:
                failures: list[Exception] = []
                if self.is_alive and has_moved:
                    failures = await self.root.go_back(before, broken)
                if failures:
                    raise ExceptionGroup("rows failed", [error, *failures]) from error
                raise

    async def wait(self) -> None:
        """Wait until no row is imported, starting or ending; rows that wait for services are fine.

        Raises:
            EntryError: one row failed.
            ExceptionGroup: several did.
        """
        while True:
            async with self.turn():
                moving = [
                    fiber for entry in self.entries() if (fiber := entry.fiber) and fiber.is_moving
                ]
            if not moving:
                break
            await moving[0].next_transition()
        self.loader.look_again()
        _raise_all([one for entry in self.entries() for one in entry.own_failures()])

    # -- for groups, rows and subclasses -------------------------------------------------------

    def write(self) -> None:
        """Keep the rows; the tree in memory has nowhere to."""

    def changed(self) -> None:
        """Have the rows written when no operation runs, unless the tree is ending."""
        self._turns.changed()

    @contextmanager
    def restoring(self) -> Generator[None]:
        """Let groups take rows that they had as a whole, whatever fails on the way."""
        outer, self.is_restoring = self.is_restoring, True
        try:
            yield
        finally:
            self.is_restoring = outer

    def say(self, what: str, entry: Entry) -> None:
        """Log what happens to a row, if the tree logs and the row is no group."""
        if self.enable_logs and not entry.is_group:
            self.loader.ctx.logger.info("%s plugin %s", what, entry.name)

    def draw_id(self) -> str:
        """Return eight hex digits that no row has."""
        while (drawn := uuid4().hex[:8]) in self.store:
            continue
        return drawn

    def checked_rows(self, rows: Sequence[object], group: EntryGroup) -> list[Options]:
        """Return rows for `group` with ids, after a look at the whole list and what is below.

        Raises:
            InvalidEntry, DuplicateEntry: as their names say.
        """
        wanted = [checked(row) for row in rows]
        for options in wanted:
            options.setdefault("id", self.draw_id())
        ids = [entry_id for entry_id, _ in _homes(wanted, None)]
        below = {entry.id for entry in group.entries_below() if entry.tree is self.root.tree}
        if group is not self.root:
            ids += [entry_id for entry_id in self.store if entry_id not in below]
        require_distinct(ids)
        return wanted

    def turn(self) -> AbstractAsyncContextManager[None]:
        """Wait for the operations that came before; raise instead of waiting for oneself."""
        return self._turns.take()

    def _keep(self) -> None:
        if self.is_alive:
            self.loader.ctx.emit(CONFIG_UPDATE)
            self.write()

    def _forget(self) -> None:
        self.root.clear()
        if self.entry is not None:
            self.entry.subtree = None

    def _tree_of(self, entry_id: str) -> tuple[EntryTree, str]:
        """Return the tree that an id leads into, and the id of the row there."""
        outer, _, last = entry_id.rpartition(":")
        tree = self.resolve(outer).subtree if outer else self.root.tree
        if tree is None:
            raise UnknownEntry(entry_id)
        return tree, last

    def _group_of(self, parent: str | None) -> EntryGroup:
        if parent is None:
            return self.root
        entry = self.resolve(parent)
        group = entry.subgroup if entry.subtree is None else entry.subtree.root
        if group is None:
            raise LoaderError(f"entry {parent} is not a mounted group")
        return group

    def _require_other_branch(self, entry: Entry, group: EntryGroup) -> None:
        if group.tree is not self.root.tree:
            raise LoaderError(f"entry {entry.path} cannot move to another tree")
        row = group.entry
        while row is not None:
            if row is entry:
                raise CyclicGroup(f"entry {entry.path} cannot move into a group below itself")
            row = row.parent


def _homes(rows: Sequence[object], group: str | None) -> Iterator[tuple[str, str | None]]:
    """Return the id of every row with that of its group, for rows that have ids."""
    for row in rows:
        if not isinstance(row, Mapping):
            continue
        options = cast("Mapping[str, Any]", row)
        entry_id = options.get("id")
        if isinstance(entry_id, str):
            yield entry_id, group
        if options.get("group") is True and isinstance(options.get("config"), list):
            yield from _homes(options["config"], entry_id)


def _raise_all(failures: list[EntryError]) -> None:
    if len(failures) == 1:
        raise failures[0]
    if failures:
        raise ExceptionGroup("rows failed", failures)
