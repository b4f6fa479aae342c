"""Effects: registrations that know how to undo themselves and which fiber owns them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Generator
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self, cast

from .collect import collect
from .errors import InvalidEffect
from .latch import Latch
from .unwind import Unwind

if TYPE_CHECKING:
    from types import TracebackType

    from .fiber import Fiber


class EffectMeta(NamedTuple):
    """What `fiber.effects()` shows of one labelled registration."""

    label: str
    children: list[EffectMeta]


class Owned:
    """A registration on a fiber; the fiber undoes it in reverse order of registration.

    Invariants: a registration is either in its fiber's table or a child of one effect of the
    same fiber, never both; undoing happens at most once.
    """

    __slots__ = ("_collector", "owner")
    is_owned_effect: ClassVar[bool] = True
    is_fiber: ClassVar[bool] = False
    label: str | None

    def __init__(self, owner: Fiber | None) -> None:
        self.owner = owner
        self._collector: Effect | None = None

    def stands(self) -> bool:
        """Return whether nobody undid the registration."""
        raise NotImplementedError

    def undo(self) -> Latch | None:
        """Undo for the owner; returns a latch when that takes time. Joins a running undo."""
        raise NotImplementedError

    def meta(self) -> list[EffectMeta]:
        """Return this registration as shown in the effect tree: one entry, or none."""
        label = self.label
        return [] if label is None or not self.stands() else [EffectMeta(label, self.submeta())]

    def submeta(self) -> list[EffectMeta]:
        """Return what was collected into this registration."""
        return []

    def _leave(self) -> None:
        if self.owner is not None:
            self.owner.table.pop(self, None)


class Returned(Owned):
    """A plain disposer that a plugin setup returned or yielded; it has no label."""

    __slots__ = ("_fn",)
    label = None

    def __init__(self, owner: Fiber, fn: Callable[[], Any]) -> None:
        super().__init__(owner)
        self._fn = fn

    def stands(self) -> bool:
        """Return whether nobody undid the registration."""
        return True

    def undo(self) -> Any:
        """Call the disposer; whatever it returns may be awaitable."""
        return self._fn()


class Effect(Owned):
    """The disposer that `ctx.effect` returns: callable, awaitable, async context manager.

    Calling it undoes the effect: `None` when that was synchronous, else an awaitable to join.
    Awaiting it waits for the setup and raises the setup's error.

    Invariants: `items` holds what is still to undo, oldest first; the effect leaves its fiber's
    table exactly when the undo is complete.
    """

    __slots__ = (
        "_errors",
        "_latch",
        "_ready",
        "_stop",
        "_task",
        "_timeout_s",
        "_undone",
        "items",
        "label",
        "unwinding",
    )

    def __init__(self, owner: Fiber, label: str | None, *, timeout_s: float | None) -> None:
        super().__init__(owner)
        self.label = label
        self.items: list[Owned | Callable[[], Any]] = []
        self._timeout_s = timeout_s
        self._ready = Latch()
        self._task: asyncio.Task[None] | None = None
        # Set at the first request to undo; open when all is undone.
        self._latch: Latch | None = None
        self._undone = False
        self.unwinding: Unwind | None = None
        self._stop = False
        self._errors: list[BaseException] = []

    @property
    def active(self) -> bool:
        """Whether nobody asked to undo the effect."""
        return self.stands()

    def stands(self) -> bool:
        """Return whether nobody asked to undo the effect."""
        return not self._undone and self._latch is None

    @property
    def children(self) -> list[Owned]:
        """The registrations collected into this effect, oldest first."""
        return [item for item in self.items if isinstance(item, Owned)]

    def submeta(self) -> list[EffectMeta]:
        """Return what was collected into this effect."""
        return [meta for child in self.children for meta in child.meta()]

    def start(self, body: object) -> None:
        """Run `body` and collect its disposers; a synchronous failure undoes them and raises."""
        try:
            result = cast("Callable[[], object]", body)() if callable(body) else body
            pending = collect(result, self)
        except BaseException as error:
            self._ready.open(error)
            self._latch = self._latch or Latch(self.owner)
            self._latch.add(self._log_errors)
            self._unwind()
            raise
        if pending is None:
            self._set_up(None)
        else:
            self._task = self._fiber.tree.create_task(self._run(pending), owner=self._fiber)

    def add(self, item: object) -> None:
        """Collect one disposer, taking an owned registration over from the fiber."""
        if isinstance(item, Owned):
            self._adopt(item)
        elif callable(item):
            self.items.append(item)
        else:
            raise InvalidEffect(f"expected a disposer or None, got {type(item).__name__}")

    def is_stale(self) -> bool:
        """Return whether an undo was requested, so that generators stop at the next step."""
        return self._stop

    def undo(self) -> Latch | None:
        """Undo for the owner, or join an undo that is running."""
        if self._undone:
            return None
        if self._latch is None:
            self._latch = Latch(self.owner)
            self._stop = True
            if self._ready.is_open:
                self._unwind()
            elif self._task is not None:
                self._fiber.tree.cancel_after(self._task, self._timeout_s)
        return self._latch

    def __call__(self) -> Awaitable[None] | None:
        """Undo the effect; see the class."""
        if self._undone:
            return self._latch
        latch = cast("Latch", self.undo())
        if not latch.is_open:
            return latch
        self._latch = None
        if latch.error is not None:
            raise latch.error
        return None

    def __await__(self) -> Generator[Any, None, Self]:
        yield from self._ready.__await__()
        return self

    async def __aenter__(self) -> Self:
        return await self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        pending = self()
        if pending is not None:
            await pending

    @property
    def _fiber(self) -> Fiber:
        return cast("Fiber", self.owner)

    def _adopt(self, item: Owned) -> None:
        above: Owned | None = self
        while above is not None:
            if above is item:
                raise InvalidEffect("an effect cannot collect itself or what contains it")
            above = above._collector
        if item.owner is not self.owner:
            raise InvalidEffect("cannot collect a disposer that belongs to another fiber")
        if item not in self._fiber.table:
            raise InvalidEffect("the disposer was collected or undone before")
        del self._fiber.table[item]
        item._collector = self
        self.items.append(item)

    async def _run(self, pending: Coroutine[Any, Any, None]) -> None:
        try:
            await pending
        except asyncio.CancelledError as error:
            # An undo that lost patience with a hanging setup is not the setup's failure.
            self._set_up(None if self._stop else error)
        except Exception as error:
            self._set_up(error)
        else:
            self._set_up(None)

    def _set_up(self, error: BaseException | None) -> None:
        self._ready.open(error)
        if error is not None:
            self._errors.append(error)
            if self._latch is None:
                self._fiber.ctx.logger.error(error)
                self._latch = Latch(self.owner)
            self._unwind()
        elif self._latch is not None:
            self._unwind()

    def _unwind(self) -> None:
        items = self.items
        self.unwinding = Unwind(
            self._fiber,
            lambda: items.pop() if items else None,
            on_error=lambda error, _: self._errors.append(error),
            done=self._finish,
            timeout_s=self._timeout_s,
            label=self.label,
        )
        self.unwinding.run()

    def _log_errors(self) -> None:
        for error in self._errors:
            self._fiber.ctx.logger.error(error)

    def _finish(self) -> None:
        self._undone = True
        self._leave()
        cast("Latch", self._latch).open(combine(self._errors))


def combine(errors: list[BaseException]) -> BaseException | None:
    """Return no error, the only error, or a group of all of them in order."""
    if len(errors) < 2:
        return errors[0] if errors else None
    return BaseExceptionGroup("several disposers failed", errors)
