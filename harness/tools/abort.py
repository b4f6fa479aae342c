"""Bound one await by an abort signal, and word the outcome for the model."""

from __future__ import annotations

from collections.abc import Awaitable
from enum import Enum
from typing import Final, TypeVar

from anyio import CancelScope

from harness.tools.errors import ABORTED, ABORTED_BEFORE_DISPATCH, ToolAbortedError
from harness.tools.result import ToolExecutionResult, error_result
from vendor_shims.cordis import AbortSignal

T = TypeVar("T")


class Cut(Enum):
    """Stand in for the value of an await that an abort ended."""

    CUT = "cut"


CUT: Final = Cut.CUT


async def until_abort(signal: AbortSignal, awaitable: Awaitable[T]) -> T | Cut:
    """Await something inside a scope that `signal` cancels; return `CUT` when it did.

    The awaitable is always started and always awaited to its end, cleanup included. What it returns
    or raises in spite of the abort passes through, as does host cancellation.
    """
    with CancelScope() as scope:
        remove = signal.add_callback(lambda _: scope.cancel())
        try:
            return await awaitable
        finally:
            remove()
    return CUT


def aborted_before_dispatch() -> ToolExecutionResult:
    """Make the result of a call whose body never started."""
    return error_result(
        ToolAbortedError(
            "this call was aborted before it started; nothing was done",
            code=ABORTED_BEFORE_DISPATCH,
        )
    )


def aborted(*, had_finished: bool) -> ToolExecutionResult:
    """Make the result of a call that was aborted after its body started."""
    if had_finished:
        message = "this call was aborted after it had already finished; its effects may be in place"
    else:
        message = "this call was aborted while it ran; parts of its effects may be in place"
    return error_result(ToolAbortedError(message, code=ABORTED))
