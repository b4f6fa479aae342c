"""Ending fibers of old code and mounting new code where they stood."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import anyio
import attrs

from vendor_shims.cordis import Context, Fiber, FiberState, Runtime
from vendor_shims.loader import Entry, Found

PATIENCE_S = 10.0
"""How long a new setup may keep a reload from being finished; it goes on by itself then."""


@attrs.frozen(eq=False)
class Exchange:
    """One plugin, before and after.

    Attributes:
        path: the file of its module.
        old, new: what its reference led to, and leads to.
        runtime: the record of its running fibers.
    """

    path: str
    old: Found
    new: Found
    runtime: Runtime


@attrs.frozen(eq=False)
class Seat:
    """Where one fiber stands: all that is needed to mount a plugin in its place."""

    exchange: Exchange
    fiber: Fiber
    ctx: Context
    raw_config: Any
    entry: Entry | None
    was_failed: bool


class FiberSwap:
    """The exchange of the fibers of some plugins, which can be turned back.

    Invariants: the row of a seat has a fiber of the old or of the new plugin whenever nothing is
    under way, unless its place is gone.
    """

    def __init__(self, ctx: Context, exchanges: Sequence[Exchange]) -> None:
        self._ctx = ctx
        self._seats = _seats(exchanges)
        self._mounted: dict[Seat, Fiber] = {}

    async def run(self) -> list[Exception]:
        """End the old fibers, wait for their clean-up, mount the new plugins and let them settle.

        Returns:
            What failed of plugins that ran before; a missing service is no failure.
        """
        for seat in self._seats:
            if seat.entry is not None:
                seat.entry.fiber = None
        for end in [seat.fiber.dispose() for seat in self._seats]:
            await end
        return await self._occupy(new=True)

    async def back(self) -> list[Exception]:
        """End what `run` mounted and mount the old plugins; the old modules are back already."""
        for seat in self._seats:
            if seat.entry is not None:
                seat.entry.fiber = None
        for end in [fiber.dispose() for fiber in reversed(self._mounted.values())]:
            await end
        self._mounted.clear()
        return await self._occupy(new=False)

    def fibers(self, exchange: Exchange) -> list[Fiber]:
        """Return the fibers that stand in the places of a plugin now."""
        return [fiber for seat, fiber in self._mounted.items() if seat.exchange is exchange]

    async def _occupy(self, *, new: bool) -> list[Exception]:
        failures: list[Exception] = []
        for seat in self._seats:
            found = seat.exchange.new if new else seat.exchange.old
            if seat.ctx.fiber.accepts:
                try:
                    self._mount(seat, found)
                except Exception as error:  # noqa: BLE001 - it may be no plugin at all
                    failures.append(error)
        await self._settle()
        for seat, fiber in self._mounted.items():
            error = fiber.error if fiber.state is FiberState.FAILED else None
            if isinstance(error, Exception) and not seat.was_failed:
                failures.append(error)
        return failures

    def _mount(self, seat: Seat, found: Found) -> None:
        if seat.entry is not None:
            seat.entry.plugin, seat.entry.module = found
        fiber = self._mounted[seat] = seat.ctx.plugin(found.plugin, seat.raw_config)
        if seat.entry is not None:
            seat.entry.fiber = fiber

    async def _settle(self) -> None:
        """Wait until all fibers rest, for a while."""
        with anyio.CancelScope() as scope:
            timer = self._ctx.kernel.clock.call_later(PATIENCE_S, scope.cancel)
            try:
                while moving := [one for one in self._mounted.values() if one.is_moving]:
                    await moving[0].next_transition()
            finally:
                timer.cancel()
        if scope.cancelled_caught:
            names = ", ".join(one.name for one in self._mounted.values() if one.is_moving)
            self._ctx.logger.warn("%s still starting with new code after %s s", names, PATIENCE_S)


def _seats(exchanges: Iterable[Exchange]) -> list[Seat]:
    """Return the places of all fibers but those that another one of them mounts."""
    fibers = {fiber: one for one in exchanges for fiber in one.runtime.fibers}
    return [
        _seat(exchange, fiber)
        for fiber, exchange in sorted(fibers.items(), key=lambda pair: pair[0].serial or 0)
        if not any(above in fibers for above in fiber.lineage() if above is not fiber)
    ]


def _seat(exchange: Exchange, fiber: Fiber) -> Seat:
    ctx = fiber.ctx.parent
    assert ctx is not None  # the root runs no plugin
    entry = fiber.entry
    own = isinstance(entry, Entry) and entry.fiber is fiber
    is_failed = fiber.state is FiberState.FAILED
    return Seat(exchange, fiber, ctx, fiber.raw_config, entry if own else None, is_failed)
