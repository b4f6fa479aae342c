"""Single configuration files that are looked at, wherever they lie, existing or not."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Iterator
from typing import TypeAlias

from vendor_shims.cordis import Context
from vendor_shims.hmr.errors import DuplicateConfigPath
from vendor_shims.hmr.rounds import Rounds
from vendor_shims.hmr.watching import Signature, signature

LOOK_S = 0.25
"""How often registered files are looked at: one system call each."""

Refresh: TypeAlias = Callable[[], Awaitable[None]]
Report: TypeAlias = Callable[[Rounds, str, Refresh], Awaitable[None]]


class ConfigWatch:
    """One file, and what to do when it came, changed or went.

    Attributes:
        path: as it was registered.
        rounds: the refreshes, one at a time.
    """

    def __init__(self, path: str, rounds: Rounds) -> None:
        self.path = path
        self.rounds = rounds
        self._known: Signature | None = None

    def look(self) -> None:
        """Ask for a refresh if the file is not as it was."""
        found = signature(self.path)
        if found != self._known:
            self._known = found
            self.rounds.request()


class ConfigWatches:
    """The registered files, by canonical path."""

    def __init__(self, ctx: Context, run: Report) -> None:
        self._ctx = ctx
        self._run = run
        self._watches: dict[str, ConfigWatch] = {}

    def __iter__(self) -> Iterator[ConfigWatch]:
        return iter(tuple(self._watches.values()))

    def add(self, path: str, refresh: Refresh) -> ConfigWatch:
        """Register a file and look at it; raises `DuplicateConfigPath`."""
        path = os.path.abspath(path)
        real = os.path.realpath(path)
        if real in self._watches:
            raise DuplicateConfigPath(path)

        async def work(rounds: Rounds) -> None:
            await self._run(rounds, path, refresh)

        watch = ConfigWatch(path, Rounds(self._ctx, work, name=f"refresh {path}"))
        self._watches[real] = watch
        watch.look()
        return watch

    def remove(self, watch: ConfigWatch) -> None:
        """Forget a file; its refresh may still run."""
        self._watches = {real: one for real, one in self._watches.items() if one is not watch}

    def look(self) -> None:
        """Look at all files."""
        for watch in self:
            watch.look()
