"""Around-middleware: a chain of listeners with a re-callable, position-bound `next`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from types import CoroutineType
from typing import TYPE_CHECKING, Any

from .collect import is_awaitable, is_awaitable_type
from .stack import TARGET

if TYPE_CHECKING:
    from .listener import ListenerEffect


Chain = tuple["Sequence[ListenerEffect]", tuple[Any, ...], Callable[..., Any] | None, bool]
"""What all links of a dispatch share: listeners, arguments, the innermost function, and whether
every `next()` and the result must be awaitable. A plain tuple, since that unpacks fastest."""


class _Link:
    """Where one listener stands: `go_on` is its `next` and runs what follows, any number of times.

    A bound method costs one frame of the recursion limit; an object with `__call__` takes two.
    There is a link per listener and dispatch, so it has no constructor: that would cost as much
    as the rest of it.

    Invariants: going on never moves a cursor, so each call runs the same rest of the chain;
    once the listener has returned, going on raises.
    """

    __slots__ = ("chain", "index", "is_closed")
    chain: Chain
    index: int
    is_closed: bool

    def go_on(self) -> Any:
        """Run the rest of the chain and return its result."""
        if self.is_closed:
            raise RuntimeError("next() was called after its listener returned")
        chain, index = self.chain, self.index
        listeners, args, inner, is_async = chain
        while index < len(listeners):
            listener = listeners[index]
            index += 1
            if listener.gate and not listener.enter():
                continue
            following = _Link()
            following.chain = chain
            following.index = index
            following.is_closed = False
            try:
                result: object = listener.call(*args, following.go_on)
            except BaseException:
                following.is_closed = True
                raise
            kind = type(result)
            if kind is CoroutineType or is_awaitable_type(kind):
                return _settle(result, following)
            following.is_closed = True
            return ready(result) if is_async else result
        result = None if inner is None else inner(*args)
        kind = type(result)
        if kind is CoroutineType or is_awaitable_type(kind):
            return _flatten(result)
        return ready(result) if is_async else result


def run_chain(chain: Chain, target: object) -> Any:
    """Run the chain from its start, with `target` as the current target throughout."""
    start = _Link()
    start.chain = chain
    start.index = 0
    start.is_closed = False
    if target is None and TARGET.get() is None:
        return start.go_on()
    token = TARGET.set(target)
    try:
        result = start.go_on()
    finally:
        TARGET.reset(token)
    return _targeted(result, target) if is_awaitable(result) else result


async def ready(result: Any) -> Any:
    """Return `result`, as an awaitable."""
    return result


async def _settle(awaitable: Any, link: _Link) -> Any:
    """Await a listener's result and what it leads to, then retire the listener's `next`."""
    try:
        result: object = await awaitable
        kind = type(result)
        if result is awaitable or not is_awaitable_type(kind):
            return result
        return await _flatten(result)
    finally:
        link.is_closed = True


async def _flatten(awaitable: Any) -> Any:
    """Await a result and the awaitables it leads to, until one leads to itself."""
    while True:
        result: object = await awaitable
        kind = type(result)
        if result is awaitable or not is_awaitable_type(kind):
            return result
        awaitable = result


async def _targeted(awaitable: Awaitable[Any], target: object) -> Any:
    token = TARGET.set(target)
    try:
        return await awaitable
    finally:
        TARGET.reset(token)
