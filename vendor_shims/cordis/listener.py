"""One registered listener, which is also the disposer that removes it."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from .effect import Owned
from .latch import Latch

if TYPE_CHECKING:
    import asyncio

    from .bus import Slot
    from .context import Context


class ListenerEffect(Owned):
    """A listener of one event, owned by the fiber of the context it was registered on.

    Calling it removes the listener: True when that removed it, False when it was gone.

    Invariants: `gate` is set exactly for listeners that a dispatch must ask before calling
    (`once`, or removed); running asynchronous deliveries are in `tasks` until they end.
    """

    __slots__ = ("call", "ctx", "fn", "gate", "once", "slot", "tasks", "unfiltered")

    def __init__(
        self,
        ctx: Context,
        slot: Slot,
        fn: Callable[..., Any],
        *,
        once: bool,
        unfiltered: bool,
        accepts_serial: bool,
    ) -> None:
        super().__init__(ctx.fiber)
        self.ctx = ctx
        self.slot: Slot | None = slot
        self.fn = fn
        self.call = _awaited_first(fn) if accepts_serial else fn
        self.once = once
        self.gate = once
        self.unfiltered = unfiltered
        self.tasks: set[asyncio.Task[Any]] | None = None

    @property
    def label(self) -> str:  # pyright: ignore[reportIncompatibleVariableOverride] - computed
        """The label in the effect tree."""
        return f'ctx.on("{self.slot.name if self.slot else "?"}")'

    @property
    def active(self) -> bool:
        """Whether the listener still receives events."""
        return self.slot is not None

    def stands(self) -> bool:
        """Return whether the listener still receives events."""
        return self.slot is not None

    def enter(self) -> bool:
        """Return whether a dispatch may call the listener now; `once` removes itself first."""
        if self.slot is None:
            return False
        if self.once:
            self._remove()
        return True

    def undo(self) -> Latch | None:
        """Remove the listener and wait for its running asynchronous deliveries."""
        self._remove()
        if not self.tasks:
            return None
        latch = Latch(self.owner)
        remaining = set(self.tasks)

        def finished(task: asyncio.Task[Any]) -> None:
            remaining.discard(task)
            if not remaining:
                latch.open()

        for task in list(remaining):
            self.ctx.fiber.tree.cancel(task)
            task.add_done_callback(finished)
        return latch

    def __call__(self) -> bool:
        """Remove the listener; running asynchronous deliveries are cancelled."""
        removed = self._remove()
        for task in self.tasks or ():
            self.ctx.fiber.tree.cancel(task)
        return removed

    def deliver_async(self, name: str, awaitable: Awaitable[Any]) -> None:
        """Run an asynchronous delivery as a task of the listener's fiber."""
        if self.tasks is None:
            self.tasks = set()
        tasks = self.tasks
        tree = self.ctx.fiber.tree
        task = tree.create_task(_await(awaitable), owner=self.ctx.fiber, stack=())
        tasks.add(task)

        def finished(task: asyncio.Task[Any]) -> None:
            tasks.discard(task)
            if not task.cancelled() and (error := task.exception()) is not None:
                error.add_note(f"raised by listener {describe(self.fn)} of event {name!r}")
                self.ctx.logger.error(error)

        task.add_done_callback(finished)

    def _remove(self) -> bool:
        if self.slot is None:
            return False
        self.slot.discard(self)
        self.slot = None
        self.gate = True
        self._leave()
        return True


def describe(fn: Callable[..., Any]) -> str:
    """Return where a callable comes from, for error messages."""
    module = getattr(fn, "__module__", "?")
    return f"{module}.{getattr(fn, '__qualname__', repr(fn))}"


async def _await(awaitable: Awaitable[Any]) -> Any:
    return await awaitable


def _awaited_first(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Let a listener without a `next` parameter join a waterfall: run it, then go on."""
    try:
        parameters = inspect.signature(fn).parameters.values()
    except (TypeError, ValueError):  # builtins without a signature take what they are given
        return fn
    positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    if any(p.kind is p.VAR_POSITIONAL for p in parameters):
        return fn

    def adapted(*args: Any) -> Any:
        if len(positional) != len(args) - 1:
            return fn(*args)
        return _then(fn(*args[:-1]), args[-1])

    return adapted


async def _then(first: Any, following: Callable[[], Any]) -> Any:
    if first is not None:
        await first
    return following()
