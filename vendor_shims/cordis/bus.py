"""The event bus of one tree: listener tables and the five ways to dispatch.

A dispatch takes a ready tuple of listeners; adding and removing are O(1) and only mark the
tuple for rebuilding, so ten thousand listeners of one event come and go in linear time.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from .collect import discard, is_awaitable
from .events import INTERNAL_DISPATCH, Event, EventName, described
from .listener import ListenerEffect, describe
from .stack import TARGET
from .waterfall import ready, run_chain

if TYPE_CHECKING:
    from .tree import Tree

INTERNAL = "internal/"


class Slot:
    """The listeners of one event name.

    Invariants: `ready` is the current delivery order or `None` when a change made it stale.
    """

    __slots__ = ("_back", "_front", "name", "ready")

    def __init__(self, name: str) -> None:
        self.name = name
        self._front: dict[ListenerEffect, None] = {}
        self._back: dict[ListenerEffect, None] = {}
        self.ready: tuple[ListenerEffect, ...] | None = ()

    def add(self, listener: ListenerEffect, *, prepend: bool) -> None:
        """Register at the end, or at the very front."""
        (self._front if prepend else self._back)[listener] = None
        self.ready = None

    def discard(self, listener: ListenerEffect) -> None:
        """Remove one registration."""
        self._back.pop(listener, None)
        self._front.pop(listener, None)
        self.ready = None

    def order(self) -> tuple[ListenerEffect, ...]:
        """Return the listeners in delivery order."""
        ready = self.ready
        if ready is None:
            ready = self.ready = (*reversed(self._front), *self._back)
        return ready


class EventBus:
    """Dispatches events to the listeners of one tree of contexts."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        self.slots: dict[EventName, Slot] = {}
        self._observers = self.slot(INTERNAL_DISPATCH)

    def slot(self, name: EventName) -> Slot:
        """Return the listener table of `name`, made at first use."""
        slot = self.slots.get(name)
        if slot is None:
            slot = self.slots[str(name)] = Slot(str(name))
        return slot

    def has_listeners(self, event: EventName, target: object = None) -> bool:
        """Return whether a dispatch of `event` with `target` would reach anybody."""
        slot = self.slots.get(event)
        return slot is not None and bool(_matching(slot.order(), target))

    def emit(
        self, event: EventName, args: tuple[Any, ...], target: object, *, contain: bool | None
    ) -> None:
        """Call every listener in order; see `Context.emit`."""
        # What `_select` does, without its call: an append dispatches twice, once mostly to nobody.
        if self.tree.debug or self._observers.ready != ():
            self._announce(event, "emit", args, target)
        slot = self.slots.get(event)
        if slot is None:
            return
        listeners: Sequence[ListenerEffect] | None = slot.ready
        if listeners is None:
            listeners = slot.order()
        if target is not None:
            listeners = _matching(listeners, target)
        if not listeners:
            return
        if target is None and TARGET.get() is None:
            errors = self._deliver(event, listeners, args)
        else:
            token = TARGET.set(target)
            try:
                errors = self._deliver(event, listeners, args)
            finally:
                TARGET.reset(token)
        if errors is not None:
            self._report(event, errors, contain=contain)

    def _deliver(
        self, event: EventName, listeners: Iterable[ListenerEffect], args: tuple[Any, ...]
    ) -> list[tuple[ListenerEffect, BaseException]] | None:
        errors: list[tuple[ListenerEffect, BaseException]] | None = None
        for listener in listeners:
            if listener.gate and not listener.enter():
                continue
            try:
                result = listener.call(*args)
                if result is not None and is_awaitable(result):
                    self._schedule(event, listener, result)
            except (Exception, asyncio.CancelledError) as error:
                # No cancellation can arrive in a call that does not suspend: it is an error.
                errors = errors or []
                errors.append((listener, error))
        return errors

    def _schedule(self, event: EventName, listener: ListenerEffect, awaitable: Any) -> None:
        try:
            self.tree.bind_loop()
        except RuntimeError as error:
            discard(awaitable)
            error.add_note(
                f"event {str(event)!r} has the asynchronous listener {describe(listener.fn)}"
            )
            raise
        listener.deliver_async(awaitable)

    def _report(
        self,
        event: EventName,
        errors: list[tuple[ListenerEffect, BaseException]],
        *,
        contain: bool | None,
    ) -> None:
        if contain is None:
            contain = getattr(described(event), "contain", False)
        if contain:
            for listener, error in errors:
                error.add_note(f"raised by listener {describe(listener.fn)} of {str(event)!r}")
                listener.ctx.logger.error(error)
        elif len(errors) == 1:
            raise errors[0][1]
        else:
            raise BaseExceptionGroup(f"listeners of {str(event)!r} failed", [e for _, e in errors])

    async def parallel(self, event: EventName, args: tuple[Any, ...], target: object) -> None:
        """Start all listeners, wait for all, then raise a group of all failures."""
        listeners = self._select(event, "parallel", args, target)
        if not listeners:
            return
        failures: list[Exception | None] = []
        pending: list[tuple[int, Any]] = []
        token = TARGET.set(target)
        try:
            for listener in listeners:
                if listener.gate and not listener.enter():
                    continue
                failures.append(None)
                try:
                    result = listener.call(*args)
                except Exception as error:
                    failures[-1] = error
                else:
                    if result is not None and is_awaitable(result):
                        pending.append((len(failures) - 1, result))
            if pending:
                await _join(pending, failures)
        except BaseException:
            for _, awaitable in pending:
                discard(awaitable)
            raise
        finally:
            TARGET.reset(token)
        errors = [failure for failure in failures if failure is not None]
        if errors:
            raise ExceptionGroup(f"listeners of {str(event)!r} failed", errors)

    async def serial(self, event: EventName, args: tuple[Any, ...], target: object) -> Any:
        """Call listeners one after another until one answers."""
        listeners = self._select(event, "serial", args, target)
        if not listeners:
            return None
        token = TARGET.set(target)
        try:
            for listener in listeners:
                if listener.gate and not listener.enter():
                    continue
                answer = listener.call(*args)
                if answer is not None and is_awaitable(answer):
                    answer = await answer
                if answer is not None and answer is not False:
                    return answer
        finally:
            TARGET.reset(token)
        return None

    def bail(self, event: EventName, args: tuple[Any, ...], target: object) -> Any:
        """Call synchronous listeners one after another until one answers."""
        listeners = self._select(event, "bail", args, target)
        if not listeners:
            return None
        token = TARGET.set(target)
        try:
            for listener in listeners:
                if listener.gate and not listener.enter():
                    continue
                answer = listener.call(*args)
                if answer is not None and is_awaitable(answer):
                    discard(answer)
                    raise TypeError(
                        f"listener {describe(listener.fn)} of the synchronous event"
                        f" {str(event)!r} returned an awaitable"
                    )
                if answer is not None and answer is not False:
                    return answer
        finally:
            TARGET.reset(token)
        return None

    def waterfall(
        self,
        event: EventName,
        args: tuple[Any, ...],
        inner: Callable[..., Any] | None,
        target: object,
    ) -> Any:
        """Run the listeners as middleware around `inner`; see `Context.waterfall`."""
        listeners = self._select(event, "waterfall", args, target)
        known = event if isinstance(event, Event) else described(event)
        is_async = isinstance(known, Event) and known.is_async
        if not listeners:
            result = None if inner is None else inner(*args)
            return ready(result) if is_async and not is_awaitable(result) else result
        return run_chain((listeners, args, inner, is_async), target)

    def _select(
        self, event: EventName, mode: str, args: tuple[Any, ...], target: object
    ) -> Sequence[ListenerEffect]:
        if self.tree.debug or self._observers.ready != ():
            self._announce(event, mode, args, target)
        slot = self.slots.get(event)
        if slot is None:
            return ()
        listeners = slot.ready
        if listeners is None:
            listeners = slot.order()
        return listeners if target is None else _matching(listeners, target)

    def _announce(self, event: EventName, mode: str, args: tuple[Any, ...], target: object) -> None:
        if self.tree.debug:
            _check_mode(event, mode)
        if self._observers.ready != () and not event.startswith(INTERNAL):
            self.emit(INTERNAL_DISPATCH, (mode, str(event), args, target), None, contain=False)


def _matching(listeners: tuple[ListenerEffect, ...], target: object) -> Sequence[ListenerEffect]:
    """Return the listeners that a dispatch to `target` reaches."""
    accepts = None if target is None else getattr(target, "__event_filter__", None)
    if accepts is None or not listeners:
        return listeners
    return [one for one in listeners if one.unfiltered or accepts(one.ctx)]


def _check_mode(event: EventName, mode: str) -> None:
    known = described(event)
    if isinstance(known, Event) and known.mode != mode:
        raise TypeError(
            f"event {str(event)!r} is declared as {known.mode} and was dispatched as {mode}"
        )


async def _join(pending: list[tuple[int, Any]], failures: list[Exception | None]) -> None:
    """Await every started listener; cancelling this cancels them and waits for their end."""
    if len(pending) == 1:
        position, awaitable = pending[0]
        try:
            await awaitable
        except Exception as error:
            failures[position] = error
        return
    results = await asyncio.gather(*(awaitable for _, awaitable in pending), return_exceptions=True)
    for (position, _), result in zip(pending, results, strict=True):
        if isinstance(result, Exception):
            failures[position] = result
        elif isinstance(result, BaseException):
            raise result
