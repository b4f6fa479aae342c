"""What is executing right now: which fiber's setup or cleanup, which context, which target."""

from __future__ import annotations

from contextvars import ContextVar
from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from .context import Context
    from .fiber import Fiber

Phase = Literal["setup", "cleanup"]


class Frame(NamedTuple):
    """One fiber whose plugin code runs in this task, and in which phase."""

    fiber: Fiber
    phase: Phase


STACK: ContextVar[tuple[Frame, ...]] = ContextVar("cordis-stack", default=())
TARGET: ContextVar[object] = ContextVar("cordis-target", default=None)


def current_fiber() -> Fiber | None:
    """Return the fiber whose setup or disposer is running in this task, if any."""
    stack = STACK.get()
    return stack[-1].fiber if stack else None


def current_context() -> Context | None:
    """Return the context of the running setup or disposer; for logging enrichment only."""
    fiber = current_fiber()
    return None if fiber is None else fiber.ctx


def current_target() -> object:
    """Return the target of the dispatch that called the running listener, or `None`."""
    return TARGET.get()
