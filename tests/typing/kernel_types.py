"""What the type checker knows about the kernel; this file is only read, never run.

Each suppressed line is a mistake that the checker must find: when it stops finding it, the
suppression itself becomes an error.
"""

from __future__ import annotations

from typing import assert_type

from vendor_shims.cordis import (
    AbortController,
    AbortSignal,
    Bail,
    Context,
    Dep,
    Emit,
    Fiber,
    ListenerEffect,
    Next,
    Parallel,
    Plugin,
    Serial,
    Service,
    SyncNext,
    SyncWaterfall,
    Waterfall,
)
from vendor_shims.schema import config

SAID = Emit[[str, int]]("typing/said")
FLUSH = Parallel[[str]]("typing/flush")
ASK = Serial[[str], int]("typing/ask")
PICK = Bail[[str], int]("typing/pick")
AROUND = Waterfall[[str], int]("typing/around", is_async=True)
QUICK = SyncWaterfall[[str], int]("typing/quick")


class Clock(Service):
    """Stand for a service that others inject."""

    key = "typing_clock"

    def now(self) -> float:
        """Give a time."""
        return 0.0


class Reader(Plugin):
    """Read one required and one optional service."""

    clock = Dep(Clock)
    spare = Dep(Clock, optional=True)

    def read(self) -> None:
        """Use both."""
        assert_type(self.clock, Clock)
        assert_type(self.clock.now(), float)
        assert_type(self.spare, Clock | None)
        self.spare.now()  # pyright: ignore[reportOptionalMemberAccess] - it may be absent


@config
class Options:
    """Hold one value without and one with a default."""

    limit: int
    label: str = ""


def configure() -> None:
    """Build a configuration by keyword, and never change it."""
    options = Options(limit=1)
    assert_type(options.label, str)
    Options()  # pyright: ignore[reportCallIssue] - the limit is missing
    Options(limit="1")  # pyright: ignore[reportArgumentType] - not a number
    options.limit = 2  # pyright: ignore[reportAttributeAccessIssue] - records are frozen


def services(ctx: Context) -> None:
    """Read services by class: typed, and without a name to misspell."""
    assert_type(ctx[Clock], Clock)
    assert_type(ctx.get(Clock), Clock | None)
    assert_type(ctx.get(Clock, 5), Clock | int)


def mount(ctx: Context) -> None:
    """Mount a plugin, derive a context."""
    assert_type(ctx.plugin(Reader), Fiber)
    assert_type(ctx.extend(tag=1).isolate("typing_clock"), Context)


async def dispatch(ctx: Context) -> None:
    """Send each kind of event with the arguments it declares, and get what it declares."""
    ctx.emit(SAID, "a", 1)
    await ctx.parallel(FLUSH, "a")
    assert_type(await ctx.serial(ASK, "a"), int | None)
    assert_type(ctx.bail(PICK, "a"), int | None)
    assert_type(await ctx.waterfall(AROUND, "a", inner=len), int)
    assert_type(ctx.waterfall(QUICK, "a", inner=len), int)

    ctx.emit(SAID, "a", "b")  # pyright: ignore[reportArgumentType, reportCallIssue] - no number
    ctx.emit(SAID, "a")  # pyright: ignore[reportArgumentType, reportCallIssue] - one is missing
    ctx.emit(ASK, "a")  # pyright: ignore[reportArgumentType, reportCallIssue] - another mode
    await ctx.waterfall(AROUND, "a", inner=str.upper)  # pyright: ignore[reportArgumentType, reportCallIssue] - no number


def listen(ctx: Context) -> None:
    """Register listeners that fit, and fail to register those that do not."""

    def said(who: str, times: int) -> None:
        del who, times

    async def around(text: str, go_on: Next[int]) -> int:
        return await go_on() + len(text)

    def quick(text: str, go_on: SyncNext[int]) -> int:
        return go_on() + len(text)

    def wrong(times: int) -> None:
        del times

    assert_type(ctx.on(SAID, said), ListenerEffect)
    ctx.on(ASK, len)
    ctx.on(PICK, len)
    ctx.on(AROUND, around)
    ctx.on(QUICK, quick)

    ctx.on(SAID, wrong)  # pyright: ignore[reportArgumentType, reportCallIssue] - other arguments
    ctx.on(ASK, str.upper)  # pyright: ignore[reportArgumentType, reportCallIssue] - no number
    ctx.on(QUICK, around)  # pyright: ignore[reportArgumentType, reportCallIssue] - asynchronous
    ctx.on(AROUND, said)  # pyright: ignore[reportArgumentType, reportCallIssue] - no `next`


def signals() -> None:
    """Hand out the reading side of a controller only."""
    controller = AbortController()
    assert_type(controller.signal, AbortSignal)
    controller.signal.abort()  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType] - only its owner aborts
