"""Let changes of one file happen one after another, in the order they were asked for."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from anyio import Lock

from harness_plugins.fs_local.workers import abortable
from vendor_shims.cordis import AbortSignal


class Turns:
    """Keep one first-in first-out line per key; different keys do not wait for each other.

    Invariants: a line exists exactly while somebody holds or awaits its turn.
    """

    def __init__(self) -> None:
        self._lines: dict[str, _Line] = {}

    @asynccontextmanager
    async def hold(self, key: str, signal: AbortSignal | None) -> AsyncGenerator[None]:
        """Wait for the turn and keep it for the block; an abort while waiting gives it up."""
        line = self._lines.setdefault(key, _Line())
        line.n_users += 1
        is_mine = False

        async def wait() -> None:
            nonlocal is_mine
            await line.lock.acquire()
            is_mine = True

        try:
            await abortable(signal, wait)
            yield
        finally:
            if is_mine:
                line.lock.release()
            line.n_users -= 1
            if not line.n_users:
                del self._lines[key]


class _Line:
    def __init__(self) -> None:
        self.lock = Lock()
        self.n_users = 0
