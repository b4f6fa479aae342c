"""A service of one's own, with two implementations that are swapped while a consumer runs.

Run it with `python examples/custom_service.py`.
"""

import asyncio
from abc import abstractmethod
from collections.abc import Callable
from datetime import UTC, datetime

from vendor_shims.cordis import Context, Dep, Plugin, Service


class Almanac(Service):
    """The interface: what consumers depend on. Implementations subclass it and share its key."""

    key = "almanac"

    @abstractmethod
    def today(self) -> str:
        """Return today's date as `YYYY-MM-DD`."""


class FixedAlmanac(Almanac):
    """An implementation for tests: the same day every day."""

    def __init__(self, ctx: Context) -> None:
        """Provide the service."""
        super().__init__(ctx)

    def today(self) -> str:
        """Return the fixed day."""
        return "2001-01-01"


class ClockAlmanac(Almanac):
    """An implementation that asks the clock."""

    def __init__(self, ctx: Context) -> None:
        """Provide the service."""
        super().__init__(ctx)

    def today(self) -> str:
        """Return the day of the clock, in UTC."""
        return datetime.now(UTC).date().isoformat()


class Diary(Plugin):
    """A consumer: it knows the interface only, and restarts when the implementation changes."""

    almanac = Dep(Almanac)

    def start(self) -> Callable[[], None]:
        """Open the diary; the returned function closes it, also when the service goes away."""
        name = type(self.almanac.origin).__name__
        print(f"diary opens with {name}")
        return lambda: print(f"diary closes with {name}")


async def main() -> None:
    """Run the diary on one implementation, then on the other."""
    async with Context() as root:
        diary = root.plugin(Diary)
        print("waiting for:", ", ".join(diary.unsatisfied))
        fixed = root.plugin(FixedAlmanac)
        await diary.active(timeout=1)
        print("today is", root.require("almanac").today())
        await fixed.dispose()
        root.plugin(ClockAlmanac)
        await diary.active(timeout=1)


if __name__ == "__main__":
    asyncio.run(main())
