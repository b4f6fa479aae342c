"""Work that runs one round at a time, however often it is asked for."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from typing import TypeAlias

from vendor_shims.cordis import Context, InactiveEffect

Round: TypeAlias = Callable[["Rounds"], Awaitable[None]]

_RUNNING: ContextVar[Rounds | None] = ContextVar("hmr-running", default=None)


class Rounds:
    """Runs `work` in rounds: a request starts one, requests during a round ask for one more.

    The task belongs to the root, because a round may end whoever asked for it, and is awaited when
    the root closes.

    Invariants: at most one round runs; after `finish` none starts. `is_waiting` is true while the
    round waits for its turn on something, and may be called off without harm.
    """

    def __init__(self, ctx: Context, work: Round, *, name: str) -> None:
        self._ctx = ctx
        self._work = work
        self._name = name
        self._task: asyncio.Task[None] | None = None
        self._is_asked = False
        self._is_over = False
        self.is_waiting = False

    def request(self) -> None:
        """Start a round, now or after the one that runs."""
        self._is_asked = True
        if self._task is None:
            try:
                self._task = self._ctx.root.spawn(self._run, name=self._name, shield=True)
            except InactiveEffect:  # the root is closing, and nothing needs to be new any more
                self._is_over = True

    async def _run(self) -> None:
        _RUNNING.set(self)
        try:
            while self._is_asked and not self._is_over:
                self._is_asked = False
                await self._work(self)
        finally:
            self._task = None

    def close(self) -> None:
        """Start no further round, and call one off that is only waiting."""
        self._is_over = True
        if self._task is not None and self.is_waiting:
            self._task.cancel()

    async def finish(self, cause: Rounds | None) -> None:
        """Close, and wait for a round that runs, unless that round is the cause of closing."""
        self.close()
        task = self._task
        if task is not None and cause is not self:
            await asyncio.wait((task,))


def running_rounds() -> Rounds | None:
    """Return whose round the current code belongs to, if it does."""
    return _RUNNING.get()
