"""Waiting for a fiber, or for a whole tree, with a limit that says what was missing."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import TYPE_CHECKING

from .errors import InactiveEffect
from .latch import forbid_waiting_for, forbid_waiting_for_all

if TYPE_CHECKING:
    from .clock import Clock
    from .fiber import Fiber
    from .tree import Tree


async def wait_active(fiber: Fiber, timeout_s: float | None) -> None:
    """Wait until `fiber` is active; see `Fiber.active`."""
    from .fiber import FiberState

    async def follow() -> None:
        while not fiber.is_active:
            forbid_waiting_for(fiber)
            if fiber.uid is None:
                raise InactiveEffect(f"fiber {fiber.name!r} is disposed")
            if fiber.state is FiberState.FAILED and fiber.error is not None:
                raise fiber.error
            await fiber.next_transition()

    if not await within(follow(), timeout_s, fiber.tree.clock):
        missing = ", ".join(f"{name}: {why}" for name, why in fiber.unsatisfied.items())
        raise TimeoutError(
            f"fiber {fiber.name!r} is {fiber.state.name} after {timeout_s} s"
            + (f"; missing {missing}" if missing else "")
        )


async def settle(tree: Tree, timeout_s: float | None) -> None:
    """Wait until no fiber is in transition and nothing is queued; see `Context.settle`."""

    async def follow() -> None:
        while not tree.is_quiet:
            forbid_waiting_for_all()
            await tree.quiet()

    if not await within(follow(), timeout_s, tree.clock):
        names = ", ".join(f"{fiber.name} is {fiber.state.name}" for fiber in tree.busy)
        raise TimeoutError(f"the tree did not settle within {timeout_s} s: {names}")


async def within(awaitable: Awaitable[None], timeout_s: float | None, clock: Clock) -> bool:
    """Await `awaitable` for at most `timeout_s` on `clock`; return whether it came to an end.

    At the limit, or when the caller is cancelled, it is cancelled.
    """
    if timeout_s is None:
        await awaitable
        return True
    task = asyncio.ensure_future(awaitable)
    timer = clock.call_later(timeout_s, task.cancel)
    try:
        await asyncio.wait((task,))
    finally:
        timer.cancel()
        task.cancel()
    if task.cancelled():
        return False
    await task
    return True
