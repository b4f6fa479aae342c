"""What is executing right now: which fiber's setup or cleanup, which context, which target."""

from __future__ import annotations

import sys
from contextvars import ContextVar
from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from .context import Context
    from .effect import Effect
    from .fiber import Fiber

Phase = Literal["setup", "cleanup", "shielded task"]


class Frame(NamedTuple):
    """One fiber whose plugin code runs in this task, in which phase, and for which effect."""

    fiber: Fiber
    phase: Phase
    effect: Effect | None = None

    @property
    def is_waited_for(self) -> bool:
        """Whether a transition waits for the code: for a shielded task only an unloading one."""
        return self.phase != "shielded task" or any(one.is_ending for one in self.fiber.lineage())


STACK: ContextVar[tuple[Frame, ...]] = ContextVar("cordis-stack", default=())
TARGET: ContextVar[object] = ContextVar("cordis-target", default=None)


def running_frames() -> tuple[Frame, ...]:
    """Return the fibers whose plugin code runs in this task, outermost first."""
    return STACK.get()


def current_fiber() -> Fiber | None:
    """Return the fiber whose setup or disposer is running in this task, if any."""
    stack = STACK.get()
    return stack[-1].fiber if stack and stack[-1].phase != "shielded task" else None


def current_context() -> Context | None:
    """Return the context of the running setup or disposer; for logging enrichment only."""
    fiber = current_fiber()
    return None if fiber is None else fiber.ctx


def current_target() -> object:
    """Return the target of the dispatch that called the running listener, or `None`."""
    return TARGET.get()


def call_site() -> str:
    """Return file and line of the nearest caller outside this package."""
    frame = sys._getframe(1)  # pyright: ignore[reportPrivateUsage] - no other way
    here = __name__.rpartition(".")[0]
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith(here):
        frame = frame.f_back
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"
