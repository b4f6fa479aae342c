"""Listening: the registering half of a context's event methods, typed for each descriptor."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, overload

from .events import (
    Bail,
    Emit,
    EventName,
    Listener,
    MaybeAwaitable,
    Next,
    Parallel,
    Serial,
    SerialWaterfall,
    SyncNext,
    SyncWaterfall,
    Waterfall,
)
from .listener import ListenerEffect
from .registration import listen, remove

if TYPE_CHECKING:
    from .fiber import Fiber

P = ParamSpec("P")
R = TypeVar("R")
F = TypeVar("F", bound=Listener)
A = TypeVar("A")
B = TypeVar("B")
C = TypeVar("C")


class Listening:
    """Registering listeners; every method takes a descriptor or its string name."""

    fiber: Fiber

    @overload
    def on(
        self,
        event: Emit[P] | Parallel[P],
        listener: Callable[P, object],
        *,
        prepend: bool = ...,
        unfiltered: bool = ...,
    ) -> ListenerEffect: ...
    @overload
    def on(
        self,
        event: Serial[P, R] | Bail[P, R],
        listener: Callable[P, MaybeAwaitable[R | bool | None]],
        *,
        prepend: bool = ...,
        unfiltered: bool = ...,
    ) -> ListenerEffect: ...
    @overload
    def on(
        self,
        event: Waterfall[[], R],
        listener: Callable[[Next[R]], MaybeAwaitable[R]],
        *,
        prepend: bool = ...,
        unfiltered: bool = ...,
    ) -> ListenerEffect: ...
    @overload
    def on(
        self,
        event: SyncWaterfall[[], R],
        listener: Callable[[SyncNext[R]], R],
        *,
        prepend: bool = ...,
        unfiltered: bool = ...,
    ) -> ListenerEffect: ...
    @overload
    def on(
        self,
        event: SerialWaterfall[[A], R],
        listener: Callable[[A, Next[R]], MaybeAwaitable[R | None]] | Callable[[A], object],
        *,
        prepend: bool = ...,
        unfiltered: bool = ...,
    ) -> ListenerEffect: ...
    @overload
    def on(
        self,
        event: SerialWaterfall[[A, B], R],
        listener: Callable[[A, B, Next[R]], MaybeAwaitable[R | None]] | Callable[[A, B], object],
        *,
        prepend: bool = ...,
        unfiltered: bool = ...,
    ) -> ListenerEffect: ...
    @overload
    def on(
        self,
        event: Waterfall[[A], R],
        listener: Callable[[A, Next[R]], MaybeAwaitable[R]],
        *,
        prepend: bool = ...,
        unfiltered: bool = ...,
    ) -> ListenerEffect: ...
    @overload
    def on(
        self,
        event: SyncWaterfall[[A], R],
        listener: Callable[[A, SyncNext[R]], R],
        *,
        prepend: bool = ...,
        unfiltered: bool = ...,
    ) -> ListenerEffect: ...
    @overload
    def on(
        self,
        event: Waterfall[[A, B], R],
        listener: Callable[[A, B, Next[R]], MaybeAwaitable[R]],
        *,
        prepend: bool = ...,
        unfiltered: bool = ...,
    ) -> ListenerEffect: ...
    @overload
    def on(
        self,
        event: SyncWaterfall[[A, B], R],
        listener: Callable[[A, B, SyncNext[R]], R],
        *,
        prepend: bool = ...,
        unfiltered: bool = ...,
    ) -> ListenerEffect: ...
    @overload
    def on(
        self,
        event: Waterfall[[A, B, C], R],
        listener: Callable[[A, B, C, Next[R]], MaybeAwaitable[R]],
        *,
        prepend: bool = ...,
        unfiltered: bool = ...,
    ) -> ListenerEffect: ...
    @overload
    def on(
        self,
        event: SyncWaterfall[[A, B, C], R],
        listener: Callable[[A, B, C, SyncNext[R]], R],
        *,
        prepend: bool = ...,
        unfiltered: bool = ...,
    ) -> ListenerEffect: ...
    @overload
    def on(
        self, event: str, listener: Listener, *, prepend: bool = ..., unfiltered: bool = ...
    ) -> ListenerEffect: ...
    @overload
    def on(
        self, event: EventName, *, prepend: bool = ..., unfiltered: bool = ...
    ) -> Callable[[F], F]: ...
    def on(
        self,
        event: EventName,
        listener: Listener | None = None,
        *,
        prepend: bool = False,
        unfiltered: bool = False,
    ) -> Any:
        """Call `listener` at every dispatch of `event`, for the life of the fiber.

        Args:
            event: a descriptor or its name.
            listener: omitted, the method is a decorator.
            prepend: put it in front of all listeners registered so far.
            unfiltered: receive dispatches whatever their target.

        Raises:
            InactiveEffect: the fiber takes no registrations now.
        """
        return listen(self, event, listener, once=False, prepend=prepend, unfiltered=unfiltered)

    @overload
    def once(
        self,
        event: Emit[P] | Parallel[P],
        listener: Callable[P, object],
        *,
        prepend: bool = ...,
        unfiltered: bool = ...,
    ) -> ListenerEffect: ...
    @overload
    def once(
        self,
        event: Serial[P, R] | Bail[P, R],
        listener: Callable[P, MaybeAwaitable[R | bool | None]],
        *,
        prepend: bool = ...,
        unfiltered: bool = ...,
    ) -> ListenerEffect: ...
    @overload
    def once(
        self,
        event: Waterfall[[], R],
        listener: Callable[[Next[R]], MaybeAwaitable[R]],
        *,
        prepend: bool = ...,
        unfiltered: bool = ...,
    ) -> ListenerEffect: ...
    @overload
    def once(
        self,
        event: SyncWaterfall[[], R],
        listener: Callable[[SyncNext[R]], R],
        *,
        prepend: bool = ...,
        unfiltered: bool = ...,
    ) -> ListenerEffect: ...
    @overload
    def once(
        self,
        event: SerialWaterfall[[A], R],
        listener: Callable[[A, Next[R]], MaybeAwaitable[R | None]] | Callable[[A], object],
        *,
        prepend: bool = ...,
        unfiltered: bool = ...,
    ) -> ListenerEffect: ...
    @overload
    def once(
        self,
        event: SerialWaterfall[[A, B], R],
        listener: Callable[[A, B, Next[R]], MaybeAwaitable[R | None]] | Callable[[A, B], object],
        *,
        prepend: bool = ...,
        unfiltered: bool = ...,
    ) -> ListenerEffect: ...
    @overload
    def once(
        self,
        event: Waterfall[[A], R],
        listener: Callable[[A, Next[R]], MaybeAwaitable[R]],
        *,
        prepend: bool = ...,
        unfiltered: bool = ...,
    ) -> ListenerEffect: ...
    @overload
    def once(
        self,
        event: SyncWaterfall[[A], R],
        listener: Callable[[A, SyncNext[R]], R],
        *,
        prepend: bool = ...,
        unfiltered: bool = ...,
    ) -> ListenerEffect: ...
    @overload
    def once(
        self,
        event: Waterfall[[A, B], R],
        listener: Callable[[A, B, Next[R]], MaybeAwaitable[R]],
        *,
        prepend: bool = ...,
        unfiltered: bool = ...,
    ) -> ListenerEffect: ...
    @overload
    def once(
        self,
        event: SyncWaterfall[[A, B], R],
        listener: Callable[[A, B, SyncNext[R]], R],
        *,
        prepend: bool = ...,
        unfiltered: bool = ...,
    ) -> ListenerEffect: ...
    @overload
    def once(
        self,
        event: Waterfall[[A, B, C], R],
        listener: Callable[[A, B, C, Next[R]], MaybeAwaitable[R]],
        *,
        prepend: bool = ...,
        unfiltered: bool = ...,
    ) -> ListenerEffect: ...
    @overload
    def once(
        self,
        event: SyncWaterfall[[A, B, C], R],
        listener: Callable[[A, B, C, SyncNext[R]], R],
        *,
        prepend: bool = ...,
        unfiltered: bool = ...,
    ) -> ListenerEffect: ...
    @overload
    def once(
        self, event: str, listener: Listener, *, prepend: bool = ..., unfiltered: bool = ...
    ) -> ListenerEffect: ...
    @overload
    def once(
        self, event: EventName, *, prepend: bool = ..., unfiltered: bool = ...
    ) -> Callable[[F], F]: ...
    def once(
        self,
        event: EventName,
        listener: Listener | None = None,
        *,
        prepend: bool = False,
        unfiltered: bool = False,
    ) -> Any:
        """Call `listener` at the next dispatch of `event` only; see `on`."""
        return listen(self, event, listener, once=True, prepend=prepend, unfiltered=unfiltered)

    def off(self, event: EventName, listener: Listener) -> bool:
        """Remove this fiber's newest registration of `listener`; False when there is none."""
        return remove(self, event, listener)
