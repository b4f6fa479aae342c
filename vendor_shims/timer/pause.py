"""Wait on a clock for as long as a context lives."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from vendor_shims.cordis import Clock, Context, ContextDisposed


async def pause(
    ctx: Context, clock: Clock, delay_s: float, *, label: str, woken: asyncio.Future[bool]
) -> bool:
    """Wait until `woken` is done; it becomes True after `delay_s` seconds.

    The wait is an effect of `ctx` under `label`, which is gone when this returns or raises.

    Raises:
        ContextDisposed: The context unloaded meanwhile.
        InactiveEffect: It takes no registrations any more.
    """

    def arm() -> Callable[[], None]:
        timer = clock.call_later(delay_s, lambda: woken.done() or woken.set_result(True))

        def disarm() -> None:
            timer.cancel()
            if not woken.done():
                woken.set_exception(ContextDisposed())

        return disarm

    effect = ctx.effect(arm, label)
    try:
        return await woken
    finally:
        effect()
