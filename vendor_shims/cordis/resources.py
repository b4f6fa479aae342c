"""Adopting things that others close: context managers, closables, callbacks, groups, tasks."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Generator
from contextlib import AbstractAsyncContextManager, AbstractContextManager, contextmanager
from itertools import takewhile
from typing import TYPE_CHECKING, Any, TypeVar, TypeVarTuple

from .effect import Effect
from .errors import InvalidEffect

if TYPE_CHECKING:
    from .fiber import Fiber

T = TypeVar("T")
Ts = TypeVarTuple("Ts")


class FiberTaskGroup:
    """A nursery bound to a fiber: each task is an effect of its own.

    A failing task is logged under the fiber and does not disturb the others.
    """

    def __init__(self, ctx: Any) -> None:
        self._ctx = ctx
        self._tasks: dict[asyncio.Task[Any], None] = {}

    def start_soon(
        self, fn: Callable[[*Ts], Awaitable[T]], *args: *Ts, name: str | None = None
    ) -> asyncio.Task[T]:
        """Run `fn(*args)` as a task of the fiber."""
        task: asyncio.Task[T] = self._ctx.spawn(
            lambda: fn(*args), name=name or getattr(fn, "__name__", "task")
        )
        self._tasks[task] = None
        task.add_done_callback(self._tasks.pop)
        return task

    def cancel(self) -> None:
        """Cancel the tasks that are running."""
        for task in tuple(self._tasks):
            task.cancel()

    async def wait(self) -> None:
        """Wait until all tasks started so far have ended, however they ended."""
        while self._tasks:
            await asyncio.wait(tuple(self._tasks))


class Resources:
    """The part of a context that turns foreign resources into effects."""

    fiber: Fiber

    if TYPE_CHECKING:

        def effect(
            self, body: object, label: str = "anonymous", *, dispose_timeout: Any = ...
        ) -> Effect:
            """Run a body and undo it later; defined by `Context`."""
            ...

    def enter(self, manager: AbstractContextManager[T]) -> T:
        """Enter a context manager now and exit it with the fiber; returns what it yields."""
        entered: list[T] = []

        def body() -> Callable[[], Any]:
            entered.append(manager.__enter__())
            return lambda: manager.__exit__(None, None, None)

        self.effect(body, f"ctx.enter({type(manager).__name__})")
        return entered[0]

    async def aenter(self, manager: AbstractAsyncContextManager[T]) -> T:
        """Enter an asynchronous context manager and exit it with the fiber.

        It must not keep a cancel scope or task group open: exit runs in another task.
        """
        entered: list[T] = []

        async def body() -> Callable[[], Any]:
            entered.append(await manager.__aenter__())
            return lambda: manager.__aexit__(None, None, None)

        await self.effect(body, f"ctx.aenter({type(manager).__name__})")
        return entered[0]

    def adopt(self, resource: T) -> T:
        """Close `resource` with the fiber through its `aclose` or `close`; returns it."""
        close = getattr(resource, "aclose", None) or getattr(resource, "close", None)
        if not callable(close):
            raise InvalidEffect(f"{type(resource).__name__} has neither aclose nor close")
        self.effect(lambda: close, f"ctx.adopt({type(resource).__name__})")
        return resource

    def defer(self, fn: Callable[..., Any], *args: Any) -> Effect:
        """Call `fn(*args)` when the fiber unloads, or when the result is called."""
        return self.effect(lambda: lambda: fn(*args), f"ctx.defer({getattr(fn, '__name__', fn)})")

    @contextmanager
    def group(self, label: str) -> Generator[Effect]:
        """Collect everything registered on the fiber inside the block into one effect.

        When the group is undone inside the block, what was registered stays with the fiber.
        """
        group = self.effect(lambda: None, label)
        try:
            yield group
        finally:
            if group.active:
                inside = takewhile(lambda item: item is not group, reversed(self.fiber.table))
                for item in reversed(tuple(inside)):
                    group.add(item)

    def task_group(self) -> FiberTaskGroup:
        """Return a nursery whose tasks belong to the fiber."""
        return FiberTaskGroup(self)
