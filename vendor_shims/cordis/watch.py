"""The changes of a tree as a stream, for tools that show it while it runs."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Self

from .events import INTERNAL_PLUGIN, INTERNAL_SERVICE, INTERNAL_STATUS
from .latch import Latch

if TYPE_CHECKING:
    from .context import Context
    from .fiber import Fiber
    from .lifecycle import FiberState
    from .listener import ListenerEffect

_MAX_CHANGES = 10_000


class Change(NamedTuple):
    """One change.

    Attributes:
        kind: `mounted` or `disposed` (requested), `state`, or `service`.
        uid: the fiber's number, also after its end; `None` for a service.
        name: the fiber's or the service's name.
        value: the new state's name; for a service `available` or `gone`; else empty.
    """

    kind: Literal["mounted", "disposed", "state", "service"]
    uid: int | None
    name: str
    value: str = ""


class Watch:
    """The changes of a tree from now on; iterate it with `async for`, once.

    It ends when the fiber that made it unloads, or at `close()`. A reader that falls behind
    loses the oldest changes beyond 10,000; `n_lost` counts them.
    """

    def __init__(self, ctx: Context) -> None:
        self.n_lost = 0
        self._changes: deque[Change] = deque()
        self._woken = Latch()
        self._is_closed = False
        self._ctx = ctx
        self._effect = ctx.effect(self._listen, "ctx.watch()")

    def close(self) -> None:
        """End the stream after what was noticed already."""
        self._effect()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Change:
        while not self._changes:
            if self._is_closed:
                raise StopAsyncIteration
            await self._woken
            self._woken = Latch()
        return self._changes.popleft()

    def _listen(self) -> Iterator[Callable[[], Any] | ListenerEffect]:
        yield self._end
        yield self._ctx.on(INTERNAL_PLUGIN, self._plugin, unfiltered=True)
        yield self._ctx.on(INTERNAL_STATUS, self._status, unfiltered=True)
        yield self._ctx.on(INTERNAL_SERVICE, self._service, unfiltered=True)

    def _plugin(self, fiber: Fiber) -> None:
        kind = "disposed" if fiber.uid is None else "mounted"
        self._note(Change(kind, fiber.serial, fiber.name))

    def _status(self, fiber: Fiber, _: FiberState) -> None:
        self._note(Change("state", fiber.serial, fiber.name, fiber.state.name))

    def _service(self, name: str, _: object) -> None:
        is_there = self._ctx.get(name, self) is not self
        self._note(Change("service", None, name, "available" if is_there else "gone"))

    def _note(self, change: Change) -> None:
        if len(self._changes) == _MAX_CHANGES:
            self._changes.popleft()
            self.n_lost += 1
        self._changes.append(change)
        self._woken.open()

    def _end(self) -> None:
        self._is_closed = True
        self._woken.open()
