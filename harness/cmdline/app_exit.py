"""Ask for the end of the program, once."""

from typing import ClassVar

from vendor_shims.cordis import Context, Latch, Service


class AppExit(Service):
    """Let any plugin end the program: `ctx.app_exit(code)`.

    The host makes it on the root, awaits `requested()`, and then unloads everything with
    `shut_down`.

    Invariants: `code` is set once and then stays.
    """

    key: ClassVar[str] = "app_exit"

    def __init__(self, ctx: Context) -> None:
        super().__init__(ctx)
        self._asked = Latch()
        self.code: int | None = None

    def __call__(self, code: int = 0) -> None:
        """Request the end with an exit code; only the first request counts.

        Raises:
            ValueError: no process can end with the code.
        """
        if not 0 <= code <= 255:
            raise ValueError(f"an exit code is from 0 to 255, not {code}")
        if self.code is None:
            self.code = code
            self._asked.open()

    async def requested(self) -> int:
        """Wait until somebody asks for the end, and return the exit code."""
        await self._asked
        assert self.code is not None  # it is set before the latch opens
        return self.code
