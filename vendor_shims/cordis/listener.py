"""One registered listener, which is also the disposer that removes it."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from .collect import is_awaitable
from .latch import Latch
from .owned import Owned
from .stack import TARGET

if TYPE_CHECKING:
    from .bus import Slot
    from .context import Context


class ListenerEffect(Owned):
    """A listener of one event, owned by the fiber of the context it was registered on.

    Calling it removes the listener: True when that removed it, False when it was gone.

    Invariants: `gate` is set exactly for listeners that a dispatch must ask before calling
    (`once`, or removed); running asynchronous deliveries are in `tasks` until they end, and
    that long the fiber keeps the registration, so that its teardown finds them.
    """

    __slots__ = ("call", "ctx", "event", "fn", "gate", "slot", "tasks", "unfiltered")

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
        self.event = slot.name
        self.slot: Slot | None = slot
        self.fn = fn
        self.call = _joining(fn) if accepts_serial else fn
        self.gate = once
        self.unfiltered = unfiltered
        # Each with whether it was asked to stop, which happens once.
        self.tasks: dict[asyncio.Task[Any], bool] | None = None

    @property
    def label(self) -> str:  # pyright: ignore[reportIncompatibleVariableOverride] - computed
        """The label in the effect tree."""
        return f'ctx.on("{self.event}")'

    @property
    def active(self) -> bool:
        """Whether the listener still receives events."""
        return self.slot is not None

    def stands(self) -> bool:
        """Return whether the listener still receives events."""
        return self.slot is not None

    def enter(self) -> bool:
        """Return whether a dispatch may call a listener with a gate, which removes it first."""
        return self._remove()

    def undo(self) -> Latch | None:
        """Remove the listener and wait for its running asynchronous deliveries."""
        self()
        if not self.tasks:
            return None
        fiber = self.ctx.fiber
        return fiber.tree.run_bounded(
            _ended(tuple(self.tasks)),
            owner=fiber,
            timeout_s=fiber.dispose_timeout_s,
            label=self.label,
        )

    def __call__(self) -> bool:
        """Remove the listener; running asynchronous deliveries are cancelled."""
        removed = self._remove()
        tasks = self.tasks or {}
        for task, is_asked in tasks.items():
            if not is_asked:
                tasks[task] = True
                self.ctx.fiber.tree.cancel(task)
        return removed

    def deliver_async(self, awaitable: Awaitable[Any]) -> None:
        """Run an asynchronous delivery as a task of the listener's fiber."""
        if self.tasks is None:
            self.tasks = {}
        tasks = self.tasks
        fiber = self.ctx.fiber
        task = fiber.tree.create_task(_await(awaitable), owner=fiber, stack=(), target=TARGET.get())
        tasks[task] = False
        if self.collector is None:
            fiber.table[self] = None

        def finished(task: asyncio.Task[Any]) -> None:
            del tasks[task]
            if not tasks and self.slot is None:
                self._leave()
            if not task.cancelled() and (error := task.exception()) is not None:
                error.add_note(f"raised by listener {describe(self.fn)} of event {self.event!r}")
                self.ctx.logger.error(error)

        task.add_done_callback(finished)

    def _remove(self) -> bool:
        if self.slot is None:
            return False
        self.slot.discard(self)
        self.slot = None
        self.gate = True
        if not self.tasks:
            self._leave()
        return True


def describe(fn: Callable[..., Any]) -> str:
    """Return where a callable comes from, for error messages."""
    module = getattr(fn, "__module__", "?")
    return f"{module}.{getattr(fn, '__qualname__', repr(fn))}"


async def _await(awaitable: Awaitable[Any]) -> Any:
    return await awaitable


async def _ended(tasks: tuple[asyncio.Task[Any], ...]) -> None:
    await asyncio.wait(tasks)


def _joining(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Let a listener join a waterfall whose listeners need not decide.

    Without a `next` parameter it runs, and then the chain goes on; with one, answering nothing
    leaves the decision to what follows. One that takes any arguments keeps full control.
    """
    try:
        parameters = inspect.signature(fn).parameters.values()
    except (TypeError, ValueError):  # builtins without a signature take what they are given
        return fn
    positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    if any(p.kind is p.VAR_POSITIONAL for p in parameters):
        return fn

    def adapted(*args: Any) -> Any:
        if len(positional) != len(args) - 1:
            return _or_what_follows(fn, *args)
        return _then(fn(*args[:-1]), args[-1])

    return adapted


async def _then(first: Any, following: Callable[[], Any]) -> Any:
    if first is not None and is_awaitable(first):
        await first
    return following()


async def _or_what_follows(fn: Callable[..., Any], *args: Any) -> Any:
    """Return what a listener decides, or else what its `next` decided, or will now."""
    decided: list[Any] = []

    async def following() -> Any:
        result = args[-1]()
        decided[:] = [await result if is_awaitable(result) else result]
        return decided[0]

    answer = fn(*args[:-1], following)
    if answer is not None and is_awaitable(answer):
        answer = await answer
    if answer is not None:
        return answer
    return decided[0] if decided else args[-1]()
