"""Background tasks as effects: cancelled and awaited when their turn in the teardown comes."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Coroutine
from typing import TYPE_CHECKING, Any, Literal

from .latch import Latch
from .owned import Owned
from .stack import Frame

if TYPE_CHECKING:
    from .fiber import Fiber

OnCrash = Literal["log", "restart", "fail"]
_FIRST_DELAY_S = 0.1
_LONGEST_DELAY_S = 30.0


class SpawnedTask(Owned):
    """A task owned by a fiber.

    Invariants: it leaves the fiber's table when the task ends by itself; a crash is logged
    once under the fiber.
    """

    __slots__ = ("_latch", "_name", "_on_crash", "_shield", "_work", "task")

    def __init__(
        self, owner: Fiber, work: Any, *, name: str | None, shield: bool, on_crash: OnCrash
    ) -> None:
        super().__init__(owner)
        if on_crash == "restart" and inspect.iscoroutine(work):
            raise TypeError("restart needs a coroutine function, not a coroutine that runs once")
        self._work = work
        self._shield = shield
        self._on_crash = on_crash
        self._latch: Latch | None = None
        self._name = name or getattr(work, "__name__", None) or "task"
        run = self._restarting() if on_crash == "restart" else _start(work)
        stack = (Frame(owner, "shielded task"),) if shield else ()
        self.task = owner.tree.create_task(run, owner=owner, stack=stack, name=self._name)
        owner.table[self] = None
        self.task.add_done_callback(self._ended)

    @property
    def label(self) -> str:  # pyright: ignore[reportIncompatibleVariableOverride] - computed
        """The label in the effect tree."""
        return f'ctx.spawn("{self._name}")'

    def stands(self) -> bool:
        """Return whether the task runs and nobody asked it to stop."""
        return self._latch is None and not self.task.done()

    def undo(self) -> Latch | None:
        """Cancel the task unless it is shielded, and wait for its end."""
        if self.task.done():
            return None
        assert self.owner is not None  # a task is always spawned on a fiber
        self._latch = self.owner.tree.run_bounded(
            _ended(self.task),
            owner=self.owner,
            timeout_s=None if self._shield else self.owner.dispose_timeout_s,
            label=self.label,
        )
        if not self._shield:
            self.owner.tree.cancel(self.task)
        return self._latch

    def _ended(self, task: asyncio.Task[Any]) -> None:
        self._leave()
        error = None if task.cancelled() else task.exception()
        if error is None or self.owner is None:
            return
        self.owner.ctx.logger.error(error)
        if self._on_crash == "fail":
            self.owner.crash(error)

    async def _restarting(self) -> None:
        assert self.owner is not None  # a task is always spawned on a fiber
        delay_s = _FIRST_DELAY_S
        while True:
            try:
                return await _start(self._work)
            except Exception as error:
                self.owner.ctx.logger.error(error)
            await self.owner.tree.clock.sleep(delay_s)
            delay_s = min(delay_s * 2, _LONGEST_DELAY_S)


def _start(work: Callable[[], Awaitable[Any]] | Coroutine[Any, Any, Any]) -> Any:
    return work if inspect.iscoroutine(work) else _call(work)


async def _call(work: Any) -> Any:
    result = work() if callable(work) else work
    return await result if inspect.isawaitable(result) else result


async def _ended(task: asyncio.Task[Any]) -> None:
    """Wait for the end of `task`, whatever it is."""
    await asyncio.wait((task,))
