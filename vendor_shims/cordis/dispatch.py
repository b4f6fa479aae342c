"""Dispatching: the sending half of a context's event methods, typed for each descriptor."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, overload

from .events import (
    Bail,
    Emit,
    EventName,
    MaybeAwaitable,
    Parallel,
    Serial,
    SyncWaterfall,
    Waterfall,
)

if TYPE_CHECKING:
    from .bus import EventBus

P = ParamSpec("P")
R = TypeVar("R")
A = TypeVar("A")
B = TypeVar("B")
C = TypeVar("C")


class Dispatch:
    """Dispatching events; every method takes a descriptor or its string name.

    `target` decides through `__event_filter__(ctx)` which listeners a dispatch reaches; the
    typed forms cover events of up to three arguments.
    """

    _bus: EventBus

    @overload
    def emit(
        self, event: Emit[[]], *, contain: bool | None = ..., target: object = ...
    ) -> None: ...
    @overload
    def emit(
        self, event: Emit[[A]], a: A, /, *, contain: bool | None = ..., target: object = ...
    ) -> None: ...
    @overload
    def emit(
        self,
        event: Emit[[A, B]],
        a: A,
        b: B,
        /,
        *,
        contain: bool | None = ...,
        target: object = ...,
    ) -> None: ...
    @overload
    def emit(
        self,
        event: Emit[[A, B, C]],
        a: A,
        b: B,
        c: C,
        /,
        *,
        contain: bool | None = ...,
        target: object = ...,
    ) -> None: ...
    @overload
    def emit(
        self, event: str, *args: Any, contain: bool | None = ..., target: object = ...
    ) -> None: ...
    def emit(
        self, event: EventName, *args: Any, contain: bool | None = None, target: object = None
    ) -> Any:
        """Call every listener now, in order, and ignore what they return.

        Asynchronous listeners run later as tasks of their own fibers. A failing listener keeps
        none of the others from running; then its error is raised, several as a group, unless
        the event (or `contain`) says that errors are logged.
        """
        self._bus.emit(event, args, target, contain=contain)

    @overload
    async def parallel(self, event: Parallel[[]], *, target: object = ...) -> None: ...
    @overload
    async def parallel(self, event: Parallel[[A]], a: A, /, *, target: object = ...) -> None: ...
    @overload
    async def parallel(
        self, event: Parallel[[A, B]], a: A, b: B, /, *, target: object = ...
    ) -> None: ...
    @overload
    async def parallel(
        self, event: Parallel[[A, B, C]], a: A, b: B, c: C, /, *, target: object = ...
    ) -> None: ...
    @overload
    async def parallel(self, event: str, *args: Any, target: object = ...) -> None: ...
    async def parallel(self, event: EventName, *args: Any, target: object = None) -> Any:
        """Start all listeners, wait for all, then raise an `ExceptionGroup` of all failures.

        Cancelling the dispatcher cancels the running listeners.
        """
        await self._bus.parallel(event, args, target)

    @overload
    async def serial(self, event: Serial[[], R], *, target: object = ...) -> R | None: ...
    @overload
    async def serial(self, event: Serial[[A], R], a: A, /, *, target: object = ...) -> R | None: ...
    @overload
    async def serial(
        self, event: Serial[[A, B], R], a: A, b: B, /, *, target: object = ...
    ) -> R | None: ...
    @overload
    async def serial(
        self, event: Serial[[A, B, C], R], a: A, b: B, c: C, /, *, target: object = ...
    ) -> R | None: ...
    @overload
    async def serial(self, event: str, *args: Any, target: object = ...) -> Any: ...
    async def serial(self, event: EventName, *args: Any, target: object = None) -> Any:
        """Await one listener after another until one answers anything but `None` and `False`."""
        return await self._bus.serial(event, args, target)

    @overload
    def bail(self, event: Bail[[], R], *, target: object = ...) -> R | None: ...
    @overload
    def bail(self, event: Bail[[A], R], a: A, /, *, target: object = ...) -> R | None: ...
    @overload
    def bail(self, event: Bail[[A, B], R], a: A, b: B, /, *, target: object = ...) -> R | None: ...
    @overload
    def bail(
        self, event: Bail[[A, B, C], R], a: A, b: B, c: C, /, *, target: object = ...
    ) -> R | None: ...
    @overload
    def bail(self, event: str, *args: Any, target: object = ...) -> Any: ...
    def bail(self, event: EventName, *args: Any, target: object = None) -> Any:
        """Call one listener after another until one answers anything but `None` and `False`."""
        return self._bus.bail(event, args, target)

    @overload
    def waterfall(
        self,
        event: Waterfall[[], R],
        *,
        inner: Callable[[], MaybeAwaitable[R]],
        target: object = ...,
    ) -> Awaitable[R]: ...
    @overload
    def waterfall(
        self,
        event: Waterfall[[A], R],
        a: A,
        /,
        *,
        inner: Callable[[A], MaybeAwaitable[R]],
        target: object = ...,
    ) -> Awaitable[R]: ...
    @overload
    def waterfall(
        self,
        event: Waterfall[[A, B], R],
        a: A,
        b: B,
        /,
        *,
        inner: Callable[[A, B], MaybeAwaitable[R]],
        target: object = ...,
    ) -> Awaitable[R]: ...
    @overload
    def waterfall(
        self,
        event: Waterfall[[A, B, C], R],
        a: A,
        b: B,
        c: C,
        /,
        *,
        inner: Callable[[A, B, C], MaybeAwaitable[R]],
        target: object = ...,
    ) -> Awaitable[R]: ...
    @overload
    def waterfall(
        self,
        event: SyncWaterfall[[], R],
        *,
        inner: Callable[[], MaybeAwaitable[R]],
        target: object = ...,
    ) -> R: ...
    @overload
    def waterfall(
        self,
        event: SyncWaterfall[[A], R],
        a: A,
        /,
        *,
        inner: Callable[[A], MaybeAwaitable[R]],
        target: object = ...,
    ) -> R: ...
    @overload
    def waterfall(
        self,
        event: SyncWaterfall[[A, B], R],
        a: A,
        b: B,
        /,
        *,
        inner: Callable[[A, B], MaybeAwaitable[R]],
        target: object = ...,
    ) -> R: ...
    @overload
    def waterfall(
        self,
        event: SyncWaterfall[[A, B, C], R],
        a: A,
        b: B,
        c: C,
        /,
        *,
        inner: Callable[[A, B, C], MaybeAwaitable[R]],
        target: object = ...,
    ) -> R: ...
    @overload
    def waterfall(
        self, event: str, *args: Any, inner: Callable[..., Any] | None = ..., target: object = ...
    ) -> Any: ...
    def waterfall(
        self,
        event: EventName,
        *args: Any,
        inner: Callable[..., Any] | None = None,
        target: object = None,
    ) -> Any:
        """Run the listeners as middleware around `inner(*args)` and return the outermost result.

        Each listener gets the arguments and `next`; returning without calling it skips the
        rest. The result is awaitable when any part of the chain is.
        """
        return self._bus.waterfall(event, args, inner, target)
