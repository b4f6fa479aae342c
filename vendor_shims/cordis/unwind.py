"""Undoing registrations: strictly one after another, newest first, every one of them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, cast

from .collect import is_awaitable
from .latch import Latch
from .stack import STACK, Frame

if TYPE_CHECKING:
    from .effect import Owned
    from .fiber import Fiber

Disposable = Callable[[], Any]


class Unwind:
    """Runs disposers until `pop` has none left, then calls `done`.

    Synchronous disposers run in place. At an asynchronous one the unwinding pauses without a
    task of its own and goes on when that one has finished, failed, or overrun `timeout_s`.

    Invariants: one disposer at a time; a failing one never keeps the next from running.
    """

    __slots__ = ("_done", "_fiber", "_label", "_on_error", "_pop", "_timeout_s", "waiting_for")

    def __init__(
        self,
        fiber: Fiber,
        pop: Callable[[], Owned | Disposable | None],
        *,
        on_error: Callable[[BaseException, str | None], None],
        done: Callable[[], None],
        timeout_s: float | None,
        label: str | None = None,
    ) -> None:
        self._fiber = fiber
        self._pop = pop
        self._on_error = on_error
        self._done = done
        self._timeout_s = timeout_s
        self._label = label
        # The owned registration whose own undo is awaited now, for the wait-for graph.
        self.waiting_for: Owned | None = None

    def run(self) -> None:
        """Go on from where the unwinding stands."""
        stack = STACK.get()
        token = STACK.set((*stack, Frame(self._fiber, "cleanup")))
        try:
            paused = self._run_until_pause()
        finally:
            STACK.reset(token)
        if not paused:
            self._done()

    def _run_until_pause(self) -> bool:
        from .effect import Owned

        while (item := self._pop()) is not None:
            label = item.label if isinstance(item, Owned) else self._label
            try:
                result = item.undo() if isinstance(item, Owned) else item()
            except Exception as error:
                self._on_error(error, label)
                continue
            if isinstance(result, Latch):
                if self._pauses_at(result, item, label):
                    return True
            elif result is not None and is_awaitable(result):
                latch = self._fiber.tree.run_bounded(
                    cast("Awaitable[object]", result),
                    owner=self._fiber,
                    timeout_s=self._timeout_s,
                    label=label or "disposer",
                )
                if self._pauses_at(latch, None, label):
                    return True
        return False

    def _pauses_at(self, latch: Latch, item: object, label: str | None) -> bool:
        from .effect import Owned

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
