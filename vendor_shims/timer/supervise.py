"""Run callbacks on behalf of a context: failures are logged there, coroutines become its tasks."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from typing import Any

from vendor_shims.cordis import Context, InactiveEffect


def supervise(ctx: Context, call: Callable[[], object]) -> asyncio.Task[None] | None:
    """Call and log an exception under `ctx`; return the task when the result is awaitable."""
    try:
        result = call()
    except Exception as error:  # noqa: BLE001  # nobody awaits a timer, so its owner's log gets it
        ctx.logger.error(error)  # takes the exception, not a text
        return None
    return adopt(ctx, result)


def adopt(ctx: Context, result: object) -> asyncio.Task[None] | None:
    """Run an awaitable result as a task of `ctx`'s fiber; anything else is dropped.

    When the fiber is unloading the awaitable is closed instead, as nothing new may start there.
    """
    if not inspect.isawaitable(result):
        return None
    work = _finish(result)
    try:
        return ctx.spawn(work, name="timer callback")
    except InactiveEffect:
        work.close()
        if inspect.iscoroutine(result):
            result.close()
        return None


async def _finish(result: Awaitable[Any]) -> None:
    await result
