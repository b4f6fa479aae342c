"""Finish work that a cancelled turn must not cut short, but not for ever."""

from collections.abc import Awaitable
from typing import TYPE_CHECKING

from anyio import CancelScope

if TYPE_CHECKING:
    from vendor_shims.cordis import Context


async def finish(ctx: "Context", work: Awaitable[object], *, timeout_s: float) -> bool:
    """Await `work` whatever is cancelled around it; returns whether it ended in time.

    After `timeout_s` on the tree's clock it is cancelled and given up.
    """
    with CancelScope(shield=True) as limit:
        timer = ctx.kernel.clock.call_later(timeout_s, limit.cancel)
        try:
            await work
        finally:
            timer.cancel()
    return not limit.cancelled_caught
