"""A list of rows below one fiber, brought to another list as a whole or not at all."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import anyio

from vendor_shims.cordis import Context, ServiceConflict
from vendor_shims.loader.change import change
from vendor_shims.loader.entry import Entry
from vendor_shims.loader.errors import EntryError
from vendor_shims.loader.options import Options

if TYPE_CHECKING:
    from vendor_shims.loader.entry_tree import EntryTree


class EntryGroup:
    """The rows of a tree's top level, or of one group row.

    Attributes:
        entry: the group row; `None` at the top.
        is_loaded: whether `entries` are the rows of the group, rather than not yet listed.

    Invariants: `entries` are in the order of the file, and each of them is in the tree's store.
    """

    def __init__(self, ctx: Context, tree: EntryTree, *, entry: Entry | None = None) -> None:
        self.ctx = ctx
        self.tree = tree
        self.entry = entry
        self.entries: list[Entry] = []
        self.is_loaded = False

    @property
    def rows(self) -> list[Options]:
        """The rows as they should be written."""
        return [entry.row for entry in self.entries]

    @property
    def is_alive(self) -> bool:
        """Whether rows may still be mounted here."""
        return self.ctx.fiber.accepts

    def entries_below(self) -> Iterator[Entry]:
        """Return the rows and the rows below them, depth first."""
        for entry in tuple(self.entries):
            yield entry
            yield from entry.below()

    async def load(self, rows: Sequence[object]) -> None:
        """Mount the rows of a group that has none, and wait until they rest.

        A row that fails stays, with its reason, so that the others run; see `Entry.failures`.

        Raises:
            InvalidEntry, DuplicateEntry: the list is no list of rows; nothing was mounted.
        """
        added = [self._add(options) for options in self.tree.checked_rows(rows, self)]
        self.is_loaded = True
        for entry in added:
            _begin(entry)
        for entry in added:
            await _outcome(entry.settled)

    async def update(self, rows: Sequence[object]) -> None:
        """Bring the group to these rows, all at once.

        New rows start and known ones change concurrently; vanished rows end last. When any of
        them fails everything is brought back.

        Raises:
            EntryError: one row failed.
            ExceptionGroup: several did, or the way back failed too.
            InvalidEntry, DuplicateEntry: the list is no list of rows; nothing was touched.
        """
        wanted = self.tree.checked_rows(rows, self)
        if self.tree.is_restoring:
            left = await self._restore(wanted)
            if left:
                raise ExceptionGroup("rows failed", left)
            return
        before = self.rows
        broken = self.faults()
        failures = await self._converge(wanted)
        if failures and all(map(_is_conflict, failures)):
            await self._end_vanished(wanted)  # what it provides may be what a new row provides
            failures = await self._converge(wanted)
            failures += (await self._retry(broken)).values()
        if not self.is_alive:
            return
        if failures:
            failures += await self.go_back(before, broken)
            raise failures[0] if len(failures) == 1 else ExceptionGroup("rows failed", failures)
        await self._arrange([options["id"] for options in wanted])

    def faults(self) -> dict[str, BaseException]:
        """Return why rows here and below do not run, by path."""
        found = {entry.path: entry.fault for entry in self.entries_below()}
        return {path: fault for path, fault in found.items() if fault is not None}

    async def go_back(
        self, before: list[Options], broken: Mapping[str, BaseException]
    ) -> list[Exception]:
        """Give the group rows that it had; return why some do not run as they did.

        On the way nothing is undone, not even in the groups below: what fails because another row
        is not back yet is tried again at the end.

        Args:
            before: the rows.
            broken: the faults of then.
        """
        with self.tree.restoring():
            left = await self._restore(before)
        failures = await self._retry(broken)
        return [*left, *(error for path, error in failures.items() if path not in broken)]

    async def _restore(self, rows: Sequence[Options]) -> list[Exception]:
        """Take rows whatever fails; return why a tree in a row below is not as it was."""
        ids = [options["id"] for options in rows]
        await self._drop([entry for entry in self.entries if entry.id not in ids])
        failures = await self._converge(rows)
        await self._arrange(ids)
        trees = [one.path for one in self.entries if one.subtree or one.subgroup]
        return [
            one
            for one in failures
            if isinstance(one, EntryError)
            and any(f"{one.entry_id}:".startswith(f"{path}:") for path in trees)
        ]

    async def _converge(self, wanted: Sequence[Options]) -> list[Exception]:
        """Start and change rows towards `wanted`; return what failed."""
        known = {entry.id: entry for entry in self.entries}
        added = [self._add(options) for options in wanted if options["id"] not in known]
        failures: list[Exception] = []
        for entry in added:
            _begin(entry)

        async def alter(entry: Entry, options: Options) -> None:
            failures.extend(await _outcome(lambda: change(entry, options)))

        async with anyio.create_task_group() as tasks:
            for options in wanted:
                entry = known.get(options["id"])
                if entry is not None:
                    tasks.start_soon(alter, entry, options)
        for entry in added:
            await _outcome(entry.settled)
            failures.extend(entry.failures())
        return failures

    async def _retry(self, before: Mapping[str, BaseException]) -> dict[str, Exception]:
        """Start rows once more whose fault is new; return what still fails, by path."""
        failed = [
            entry
            for entry in self.entries_below()
            if entry.fiber is not None and entry.fault not in (None, before.get(entry.path))
        ]
        for entry in failed:
            assert entry.fiber is not None  # selected so
            entry.fiber.forget_failure()  # what it needed to fail may be gone
            entry.fiber.restart()
        return {entry.path: error for entry in failed for error in await _outcome(entry.settled)}

    async def _end_vanished(self, wanted: Sequence[Options]) -> None:
        kept = {options["id"] for options in wanted}
        for entry in self.entries:
            if entry.id not in kept:
                await entry.end()

    async def _drop(self, entries: list[Entry]) -> None:
        for entry in reversed(entries):
            await entry.end()
            self.remove(entry)

    async def _arrange(self, ids: list[str]) -> None:
        """End the rows that are not listed, and put the others in this order."""
        place = {entry_id: index for index, entry_id in enumerate(ids)}
        await self._drop([entry for entry in self.entries if entry.id not in place])
        self.entries.sort(key=lambda entry: place[entry.id])

    def _add(self, options: Options) -> Entry:
        entry = Entry(self, options)
        self.insert(entry)
        return entry

    def insert(self, entry: Entry, position: int | None = None) -> None:
        """List a row, at the end or at an index."""
        self.entries.insert(len(self.entries) if position is None else position, entry)
        self.tree.store[entry.id] = entry

    def remove(self, entry: Entry) -> None:
        """Forget a row whose fiber has ended."""
        self.entries.remove(entry)
        if self.tree.store.get(entry.id) is entry:
            del self.tree.store[entry.id]
        entry.standing.leave()

    def clear(self) -> None:
        """Forget every row; the fiber below which they ran has ended."""
        for entry in tuple(self.entries):
            entry.fiber = None
            if entry.subgroup is not None:
                entry.subgroup.clear()
            self.remove(entry)


def _begin(entry: Entry) -> None:
    """Start a row; its failure stays with it."""
    try:
        entry.begin()
    except EntryError:
        return


def _is_conflict(failure: Exception) -> bool:
    return isinstance(failure.__cause__, ServiceConflict)


async def _outcome(step: Callable[[], Coroutine[Any, Any, None]]) -> list[Exception]:
    """Run a step of one row; return what it raised."""
    try:
        await step()
    except Exception as error:  # noqa: BLE001 - plugins raise anything
        return [error]
    return []
