"""Turns what a plugin setup or effect body returns into disposers, as they are produced."""

from __future__ import annotations

from collections.abc import (
    AsyncGenerator,
    AsyncIterator,
    Awaitable,
    Coroutine,
    Generator,
    Iterator,
)
from functools import lru_cache
from types import CoroutineType
from typing import Any, Protocol, cast

from .errors import InvalidEffect


class Sink(Protocol):
    """Receives disposers, oldest first."""

    def add(self, item: object) -> None:
        """Take over one disposer; raises `InvalidEffect` for anything else."""
        ...

    def is_stale(self) -> bool:
        """Return whether an asynchronous generator should stop at its next step."""
        ...


def is_awaitable(value: object) -> bool:
    """Return whether `value` is work to await; looks at the type only, so nothing runs.

    Fibers and effects are values: awaiting one waits for its setup and results in itself.
    """
    kind: type[Any] = type(value)
    return kind is CoroutineType or is_awaitable_type(kind)


@lru_cache(maxsize=1024)
def is_awaitable_type(kind: type[Any]) -> bool:
    """Return what `is_awaitable` says about values of one type.

    Remembered, since a look-up that finds nothing is slow and results have few types.
    """
    return hasattr(kind, "__await__") and not getattr(kind, "is_owned_effect", False)


def discard(value: object) -> None:
    """Close `value` if it is a coroutine, which then needs no awaiting."""
    if isinstance(value, Coroutine):
        cast("Coroutine[Any, Any, Any]", value).close()


def collect(result: object, sink: Sink) -> Coroutine[Any, Any, None] | None:
    """Hand every disposer in `result` to `sink`.

    Returns:
        `None` when all is collected, else a coroutine that finishes the setup.

    Raises:
        InvalidEffect: `result` or an item is neither a disposer nor a container of them.
    """
    if result is None:
        return None
    if callable(result) or _is_owned(result):
        sink.add(result)
        return None
    if isinstance(result, list | tuple):
        for item in cast("list[object]", result):
            _add(item, sink)
        return None
    if isinstance(result, Iterator):
        _drain(cast("Iterator[object]", result), sink)
        return None
    if is_awaitable(result):
        return _await(cast("Awaitable[object]", result), sink)
    if isinstance(result, AsyncIterator):
        return _drain_async(cast("AsyncIterator[object]", result), sink)
    raise InvalidEffect(
        f"expected a disposer, a list or generator of disposers, or None, got"
        f" {type(result).__name__}; context managers go through ctx.enter or ctx.adopt"
    )


def _is_owned(value: object) -> bool:
    return getattr(type(value), "is_owned_effect", False) is True


def _add(item: object, sink: Sink) -> None:
    if item is not None:
        sink.add(item)


def _drain(iterator: Iterator[object], sink: Sink) -> None:
    try:
        while True:
            _add(next(iterator), sink)
    except StopIteration as stop:
        _add(stop.value, sink)
    finally:
        if isinstance(iterator, Generator):
            cast("Generator[object, None, object]", iterator).close()


async def _await(awaitable: Awaitable[object], sink: Sink) -> None:
    _add(await awaitable, sink)


async def _drain_async(iterator: AsyncIterator[object], sink: Sink) -> None:
    try:
        async for item in iterator:
            _add(item, sink)
            if sink.is_stale():
                return
    finally:
        if isinstance(iterator, AsyncGenerator):
            await cast("AsyncGenerator[object, None]", iterator).aclose()
