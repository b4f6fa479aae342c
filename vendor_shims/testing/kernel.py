"""A fresh kernel on a virtual clock that must be empty again when the test ends."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

from vendor_shims.cordis import Context, FiberState
from vendor_shims.logger import format_message
from vendor_shims.timer import VirtualClock, come_to_rest

from .snapshot import LeakError, snapshot

_LIMIT_S = 300


class Kernel:
    """A root context with its clock, and what its log says.

    Attributes:
        root: the root context.
        clock: the tree's time, which stands still until `advance`.
        unhandled: what reached the loop's exception handler; must be empty at the end.
    """

    def __init__(self, root: Context, clock: VirtualClock) -> None:
        self.root = root
        self.clock = clock
        self.unhandled: list[str] = []

    async def advance(self, seconds: float) -> None:
        """Let `seconds` pass on the tree's clock and everything due in them happen."""
        await self.clock.advance(seconds)

    async def settle(self) -> None:
        """Let happen whatever needs no time: settle the tree and bring the loop to rest."""
        await come_to_rest()

    def logged(self, level: str = "error") -> list[str]:
        """Return what was logged at `level` (`error`, `warn`, `info`), oldest first.

        Each as `logger: message`; of an exception its type, text and notes remain, without the
        stack. The log keeps the last 1000 records.
        """
        return [
            f"{record.name}: {_without_stack(format_message(record))}"
            for record in self.root.logger.buffer.records()
            if record.type == level
        ]


@asynccontextmanager
async def kernel(
    *,
    debug: bool = False,
    dispose_timeout_s: float | None = 10.0,
    root_type: type[Context] = Context,
) -> AsyncGenerator[Kernel]:
    """Run a block with a fresh root; close it afterwards and check that nothing is left.

    Closing lets the virtual clock run as far as the cleanup needs. After a block that raised,
    the tree is closed but not checked, so that its own error is what the test shows.

    Raises:
        LeakError: a task, listener, binding, effect, accessor, plugin or timer is left, the tree
            does not close, or an exception was dropped on the event loop.
    """
    loop = asyncio.get_running_loop()
    foreign = asyncio.all_tasks()
    clock = VirtualClock()
    made = Kernel(root_type(clock=clock, dispose_timeout_s=dispose_timeout_s, debug=debug), clock)
    empty = snapshot(made.root)
    handler = loop.get_exception_handler()
    loop.set_exception_handler(lambda _, context: made.unhandled.append(_describe(context)))
    try:
        try:
            yield made
        except BaseException:
            await _close(made)
            raise
        await _close(made)
        empty.require_same(snapshot(made.root))
        _require_no_rest(made, foreign)
    finally:
        loop.set_exception_handler(handler)


async def _close(made: Kernel) -> None:
    closing = made.root.close(timeout=_LIMIT_S)
    try:
        await asyncio.gather(closing, _run_clock(made))
    except TimeoutError as error:
        raise LeakError(str(error)) from error


async def _run_clock(made: Kernel) -> None:
    """Let time pass until the tree is closed, or the limit for that is over."""
    limit_s = made.clock.time() + _LIMIT_S
    await come_to_rest()
    while made.clock.time() < limit_s and made.root.fiber.state is not FiberState.DISPOSED:
        await made.clock.advance(1.0)


def _require_no_rest(made: Kernel, foreign: set[asyncio.Task[Any]]) -> None:
    current = asyncio.current_task()
    known = {*foreign, current}
    rest = [task for task in asyncio.all_tasks() if task not in known]
    # A fixture ends in another step of the test runner than it began, with a new task of its own.
    lines = [f"task: {task!r}" for task in rest if "TestRunner" not in repr(task.get_coro())]
    if made.clock.n_pending:
        lines.append(f"timers: {made.clock.n_pending} still to run")
    lines += [f"dropped on the loop: {text}" for text in made.unhandled]
    if lines:
        raise LeakError("the test left behind:\n  " + "\n  ".join(lines))


def _describe(context: dict[str, Any]) -> str:
    error = context.get("exception")
    return f"{context.get('message')}: {error!r}"


def _without_stack(text: str) -> str:
    if not text.startswith("Traceback "):
        return text
    first, *lines = text.split("\n")
    return "\n".join(line for line in lines if not line.startswith(" ")) or first
