"""One run of a plugin's setup: config, the call, its asynchronous rest, and its cancellation."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any, cast

from .collect import collect
from .errors import InactiveEffect
from .stack import STACK, Frame

if TYPE_CHECKING:
    from .clock import TimerHandle
    from .fiber import Fiber


class Setup:
    """Runs the setup of one load and reports its end to the fiber exactly once.

    A setup that became stale is asked to stop, asked again after the dispose timeout, and left
    behind after another one; what it does then no longer concerns the fiber.
    """

    __slots__ = ("_failure", "_fiber", "_is_over", "_nudge", "_task", "was_cancelled")

    def __init__(self, fiber: Fiber) -> None:
        self._fiber = fiber
        self._task: asyncio.Task[Any] | None = None
        self._nudge: TimerHandle | None = None
        self._is_over = False
        # Why the load fails although its setup may end well: a task of it crashed.
        self._failure: BaseException | None = None
        self.was_cancelled = False

    def run(self) -> None:
        """Call the plugin; a synchronous setup ends here, an asynchronous one goes on in a task."""
        fiber = self._fiber
        if fiber.is_stale() or fiber.runtime is None:
            self._end(None)
            return
        token = STACK.set((Frame(fiber, "setup"),))
        pending: Coroutine[Any, Any, None] | None = None
        failure: BaseException | None = None
        try:
            fiber.config = fiber.resolve_config(fiber.raw_config)
            pending = collect(fiber.runtime.start(fiber.ctx, fiber.config), self)
            if pending is not None:
                self._task = fiber.tree.create_task(self._run(pending), owner=fiber)
        except (Exception, asyncio.CancelledError) as error:
            failure = error
        except BaseException as error:
            self._end(error)
            raise
        finally:
            STACK.reset(token)
        if pending is None:
            self._end(failure)
        elif fiber.is_stale():
            self.cancel()

    def cancel(self) -> None:
        """Ask the running setup to stop, once; a synchronous one has nothing to cancel."""
        fiber = self._fiber
        if self._task is None or self.was_cancelled or not fiber.cancels_stale_load:
            return
        self.was_cancelled = True
        fiber.tree.cancel(self._task)
        if fiber.dispose_timeout_s is not None:
            self._nudge = fiber.tree.clock.call_later(fiber.dispose_timeout_s, self._cancel_again)

    def fail(self, error: BaseException) -> None:
        """Let the load fail with `error` when the setup ends."""
        self._failure = error

    def add(self, item: object) -> None:
        """Collect one disposer for the fiber, unless the fiber has gone on without the setup."""
        if self._is_over:
            raise InactiveEffect(f"the setup of {self._fiber.name!r} was left behind")
        self._fiber.add(item)

    def is_stale(self) -> bool:
        """Return whether an asynchronous generator should stop at its next step."""
        return self._fiber.is_stale()

    async def _run(self, pending: Coroutine[Any, Any, None]) -> None:
        try:
            await pending
        except (Exception, asyncio.CancelledError) as error:
            self._end(error)
        except BaseException as error:
            self._end(error)
            raise
        else:
            self._end(None)

    def _cancel_again(self) -> None:
        cast("asyncio.Task[Any]", self._task).cancel()
        clock, timeout_s = self._fiber.tree.clock, self._fiber.dispose_timeout_s or 0.0
        self._nudge = clock.call_later(timeout_s, self._abandon)

    def _abandon(self) -> None:
        self._fiber.ctx.logger.warn(
            "the setup of %s ignores its cancellation and is left behind", self._fiber.name
        )
        self._end(None)

    def _end(self, error: BaseException | None) -> None:
        if self._is_over:
            return
        self._is_over = True
        if self._nudge is not None:
            self._nudge.cancel()
        self._fiber.setup_ended(error or self._failure)
