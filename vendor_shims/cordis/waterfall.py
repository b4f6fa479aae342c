"""Around-middleware: a chain of listeners with a re-callable, position-bound `next`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from .collect import is_awaitable
from .stack import TARGET

if TYPE_CHECKING:
    from .listener import ListenerEffect


class _Link:
    """The `next` of one listener: runs what follows it, any number of times.

    Invariants: calling it never moves a cursor, so each call runs the same rest of the chain;
    once its listener has returned, calling it raises.
    """

    __slots__ = ("_args", "_closed", "_index", "_inner", "_is_async", "_listeners")

    def __init__(
        self,
        listeners: tuple[ListenerEffect, ...],
        index: int,
        args: tuple[Any, ...],
        inner: Callable[..., Any] | None,
        is_async: bool,
    ) -> None:
        self._is_async = is_async
        self._listeners = listeners
        self._index = index
        self._args = args
        self._inner = inner
        self._closed = False

    def __call__(self) -> Any:
        if self._closed:
            raise RuntimeError("next() was called after its listener returned")
        listeners, index = self._listeners, self._index
        while index < len(listeners):
            listener = listeners[index]
            index += 1
            if listener.gate and not listener.enter():
                continue
            following = _Link(listeners, index, self._args, self._inner, self._is_async)
            try:
                result = listener.call(*self._args, following)
            except BaseException:
                following._closed = True
                raise
            if result is not None and is_awaitable(result):
                return _settle(result, following)
            following._closed = True
            return ready(result) if self._is_async else result
        result = None if self._inner is None else self._inner(*self._args)
        if result is not None and is_awaitable(result):
            return _flatten(result)
        return ready(result) if self._is_async else result


def run_chain(
    listeners: tuple[ListenerEffect, ...],
    args: tuple[Any, ...],
    inner: Callable[..., Any] | None,
    *,
    target: object = None,
    is_async: bool = False,
) -> Any:
    """Run the chain from its start, with `target` as the current target throughout.

    With `is_async` every `next()` and the result can be awaited, whatever a listener returned.
    """
    start = _Link(listeners, 0, args, inner, is_async)
    if target is None and TARGET.get() is None:
        return start()
    token = TARGET.set(target)
    try:
        result = start()
    finally:
        TARGET.reset(token)
    return _targeted(result, target) if result is not None and is_awaitable(result) else result


async def ready(result: Any) -> Any:
    """Return `result`, as an awaitable."""
    return result


async def _settle(awaitable: Awaitable[Any], link: _Link) -> Any:
    """Await a listener's result and whatever awaitables it returned, then retire its `next`."""
    try:
        result = await awaitable
        while result is not None and is_awaitable(result):
            result = await result
        return result
    finally:
        link._closed = True  # pyright: ignore[reportPrivateUsage] - same module


async def _flatten(awaitable: Awaitable[Any]) -> Any:
    result = await awaitable
    while result is not None and is_awaitable(result):
        result = await result
    return result


async def _targeted(awaitable: Awaitable[Any], target: object) -> Any:
    token = TARGET.set(target)
    try:
        return await awaitable
    finally:
        TARGET.reset(token)
