"""Reserve a stored session between its repair and its next life."""

from types import TracebackType
from typing import Self

from harness.session import SessionEvent, SessionHeader
from harness.session_persistence.handle import SessionHandle
from harness.session_persistence.types import Revision


class SessionPreparation:
    """Hold a claimed, balanced log until a live session takes it over.

    Build the session from `events` and `header` and announce it: writing then goes on at the end
    of the log without reading it again, and the claim belongs to `handle`, which whoever disposes
    the session closes. Otherwise `release()`. `async with` releases what nobody took over.
    """

    def __init__(
        self,
        handle: SessionHandle,
        events: tuple[SessionEvent, ...],
        revision: Revision,
        *,
        closers: int,
    ) -> None:
        self.handle = handle
        self.events = events
        self.revision = revision
        self.closers = closers
        self.consumed = False
        """Whether a live session took over."""

    @property
    def header(self) -> SessionHeader:
        """Return the stored header."""
        return self.handle.header

    async def release(self) -> None:
        """Give the session back, repaired; does nothing once a live session took over."""
        if not self.consumed:
            await self.handle.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.release()
