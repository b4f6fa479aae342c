"""Undoing registrations: strictly one after another, newest first, every one of them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, cast

from .collect import is_awaitable
from .latch import Latch, forbid_waiting_for_end
from .owned import Owned, Returned
from .stack import STACK, Frame

if TYPE_CHECKING:
    from .effect import Effect
    from .fiber import Fiber

Disposable = Callable[[], Any]


class Unwind:
    """Runs disposers until `pop` has none left, then calls `done`.

    Synchronous disposers run in place. At an asynchronous one the unwinding pauses without a
    task of its own and goes on when that one has finished, failed, or overrun `timeout_s`.

    Invariants: one disposer at a time; a failing one never keeps the next from running.
    """

    __slots__ = ("_done", "_fiber", "_frame", "_on_error", "_pop", "_timeout_s", "waiting_for")

    def __init__(
        self,
        fiber: Fiber,
        pop: Callable[[], Owned | Disposable | None],
        *,
        on_error: Callable[[BaseException, str | None], None],
        done: Callable[[], None],
        timeout_s: float | None,
        effect: Effect | None = None,
    ) -> None:
        self._fiber = fiber
        self._pop = pop
        self._on_error = on_error
        self._done = done
        self._timeout_s = timeout_s
        self._frame = Frame(fiber, "cleanup", effect)
        # The owned registration whose own undo is awaited now, for the wait-for graph.
        self.waiting_for: Owned | None = None

    def run(self) -> None:
        """Go on from where the unwinding stands."""
        token = STACK.set((*STACK.get(), self._frame))
        try:
            paused = self._run_until_pause()
        finally:
            STACK.reset(token)
        if not paused:
            self._done()

    def _run_until_pause(self) -> bool:
        effect = self._frame.effect
        own_label = None if effect is None else effect.label
        while (item := self._pop()) is not None:
            label = item.label if isinstance(item, Owned) else own_label
            try:
                latch = self._undo(item, label)
            except (Exception, asyncio.CancelledError) as error:
                self._on_error(error, label)
                continue
            except BaseException:  # the program ends; whatever is left of the loop cleans up
                self._fiber.tree.post(self.run)
                raise
            if latch is not None and self._pauses_at(latch, item, label):
                return True
        return False

    def _undo(self, item: Owned | Disposable, label: str | None) -> Latch | None:
        result = item.undo() if isinstance(item, Owned) else item()
        if isinstance(result, Latch):
            is_plain = not isinstance(item, Owned) or isinstance(item, Returned)
            if is_plain and result.guarded is not None:
                forbid_waiting_for_end(result.guarded, (self._frame,))
            return result
        if result is None or not is_awaitable(result):
            return None
        return self._fiber.tree.run_bounded(
            cast("Awaitable[object]", result),
            owner=self._fiber,
            timeout_s=self._timeout_s,
            label=label or "disposer",
        )

    def _pauses_at(self, latch: Latch, item: object, label: str | None) -> bool:
        if latch.is_open:
            if latch.error is not None:
                self._on_error(latch.error, label)
            return False
        self.waiting_for = item if isinstance(item, Owned) else None
        latch.add(lambda: self._fiber.tree.post(lambda: self._resume(latch, label)))
        return True

    def _resume(self, latch: Latch, label: str | None) -> None:
        self.waiting_for = None
        self._fiber.note_progress()
        if latch.error is not None:
            self._on_error(latch.error, label)
        self.run()
