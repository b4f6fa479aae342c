"""Effects: a body that ran, and the disposers that undo what it did."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Generator, Sequence
from typing import TYPE_CHECKING, Any, Self, cast

from .collect import collect, discard
from .errors import InvalidEffect
from .latch import Latch
from .owned import EffectMeta, Owned
from .unwind import Unwind

if TYPE_CHECKING:
    from types import TracebackType

    from .fiber import Fiber
    from .stack import Frame

_DONE = Latch()
"""The end of every setup that nobody waited for."""
_DONE.open()


class Effect(Owned):
    """The disposer that `ctx.effect` returns: callable, awaitable, async context manager.

    Calling it undoes the effect: `None` when that was synchronous, else an awaitable to join.
    Awaiting it waits for the setup and raises the setup's error.

    Invariants: `items` holds what is still to undo, oldest first; the effect leaves its fiber's
    table exactly when the undo is complete; an error of a disposer is raised to whoever asked
    for the undo or waits for it, and logged when nobody does.
    """

    __slots__ = (
        "_errors",
        "_is_asked",
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
        # Opens with the end of the setup; there is none before somebody waits or that end.
        self._ready: Latch | None = None
        self._task: asyncio.Task[None] | None = None
        # Set at the first request to undo; open when all is undone.
        self._latch: Latch | None = None
        self._undone = False
        self.unwinding: Unwind | None = None
        self._stop = False
        # While the call that asked for the undo has not returned, so that it takes the errors.
        self._is_asked = False
        self._errors: tuple[BaseException, ...] = ()

    @property
    def active(self) -> bool:
        """Whether nobody asked to undo the effect."""
        return self.stands()

    def stands(self) -> bool:
        """Return whether nobody asked to undo the effect."""
        return not self._undone and self._latch is None

    def waits_for(self, frame: Frame) -> bool:
        """Return whether the undo waits for the code of `frame`: a disposer in this effect."""
        effect = frame.effect
        while effect is not None and effect is not self:
            effect = effect.collector
        return effect is self

    @property
    def children(self) -> list[Owned]:
        """The registrations collected into this effect, oldest first."""
        return [item for item in self.items if isinstance(item, Owned)]

    def submeta(self) -> list[EffectMeta]:
        """Return what was collected into this effect."""
        return [meta for child in self.children for meta in child.meta()]

    def start(self, body: object) -> None:
        """Run `body` and collect its disposers; a synchronous failure undoes them and raises."""
        result: object = None
        pending: Coroutine[Any, Any, None] | None = None
        try:
            result = cast("Callable[[], object]", body)() if callable(body) else body
            pending = collect(result, self)
            if pending is not None:
                self._task = self._fiber.tree.create_task(self._run(pending), owner=self._fiber)
        except BaseException as error:
            discard(pending)
            discard(result)
            self._open(error)
            self._latch = self._latch or Latch(self)
            self._unwind()
            raise
        if self._task is None:
            self._set_up(None)

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
            latch = self._latch = Latch(self)
            self._stop = self._is_asked = True
            if self._is_set_up:
                self._unwind()
            elif self._task is not None:
                self._limit_setup(self._task)
            self._is_asked = False
            return latch
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
        if self._ready is None:
            self._ready = Latch()
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
        return self.owner  # pyright: ignore[reportReturnType] - an effect always has one

    @property
    def _is_set_up(self) -> bool:
        return self._ready is not None and self._ready.is_open

    def _open(self, error: BaseException | None) -> None:
        """Let those go on who wait for the setup, and everybody who comes later."""
        if self._ready is None:
            self._ready = _DONE if error is None else Latch()
        self._ready.open(error)

    def _keep(self, error: BaseException, _label: str | None) -> None:
        self._errors = (*self._errors, error)

    def _adopt(self, item: Owned) -> None:
        above: Effect | None = self
        while above is not None:
            if above is item:
                raise InvalidEffect("an effect cannot collect itself or what contains it")
            above = above.collector
        if item.leave_for(self._fiber):
            item.collector = self
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

    def _limit_setup(self, task: asyncio.Task[None]) -> None:
        def give_up() -> None:
            if not self._is_set_up:
                self._set_up(None)

        self._fiber.tree.end_of(
            task,
            owner=self._fiber,
            timeout_s=self._timeout_s,
            label=f"the setup of {self.title}",
        ).add(give_up)

    def _set_up(self, error: BaseException | None) -> None:
        """End the setup; a second call comes from one that had been given up."""
        self._open(error)
        if error is not None:
            if self._latch is None:
                self._latch = Latch(self)
                self._fiber.ctx.logger.error(error)
            else:
                self._keep(error, None)
        if self._latch is not None:
            self._unwind()

    def _unwind(self) -> None:
        items = self.items
        self.unwinding = Unwind(
            self._fiber,
            lambda: items.pop() if items else None,
            on_error=self._keep,
            done=self._finish,
            timeout_s=self._timeout_s,
            effect=self,
        )
        self.unwinding.run()

    def _finish(self) -> None:
        self._undone = True
        self._leave()
        latch = cast("Latch", self._latch)
        errors, self._errors = self._errors, ()
        if latch.is_open or not (self._is_asked or latch.is_watched):
            for error in errors:
                self._fiber.ctx.logger.error(error)
        latch.open(combine(errors))


def combine(errors: Sequence[BaseException]) -> BaseException | None:
    """Return no error, the only error, or a group of all of them in order."""
    if len(errors) < 2:
        return errors[0] if errors else None
    return BaseExceptionGroup("several disposers failed", errors)
