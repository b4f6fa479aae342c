"""The queue of a tree: operations one after another, and rows kept when none is half done."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import anyio

from vendor_shims.cordis import ReentrantAwait, running_frames
from vendor_shims.loader.entry import Entry

if TYPE_CHECKING:
    from vendor_shims.loader.entry_tree import EntryTree


class Turns:
    """Lets the operations of one tree through one at a time.

    Invariant: `keep` is called only while no operation runs, so never with a row that may go again
    or options that may be restored.
    """

    def __init__(self, tree: EntryTree, keep: Callable[[], None]) -> None:
        self._tree = tree
        self._keep = keep
        self._lock = anyio.Lock()
        self._has_changed = False

    @asynccontextmanager
    async def take(self) -> AsyncGenerator[None]:
        """Wait for the operations that came before; raise instead of waiting for oneself."""
        loader = self._tree.loader
        if self._lock.locked():
            self._require_no_circle()
        loader.operations += 1
        try:
            async with self._lock:
                try:
                    yield
                finally:
                    if self._has_changed:
                        self._has_changed = False
                        self._keep()
        finally:
            loader.operations -= 1
            loader.look_again()

    def changed(self) -> None:
        """Have the rows kept: now, or when the operation that runs is over."""
        if self._lock.locked():
            self._has_changed = True
        else:
            self._keep()

    def _require_no_circle(self) -> None:
        for frame in running_frames():
            entry = frame.fiber.entry
            if frame.is_waited_for and isinstance(entry, Entry) and self._holds(entry):
                raise ReentrantAwait(
                    f"{frame.phase} of row {entry.path} awaits an operation on its tree, which"
                    " may be waiting for it; request it from a task"
                )

    def _holds(self, entry: Entry) -> bool:
        row: Entry | None = entry
        while row is not None:
            if row.tree is self._tree:
                return True
            row = row.parent
        return False
