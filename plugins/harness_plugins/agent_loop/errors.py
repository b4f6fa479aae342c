"""Define the failures that the loop itself makes.

HarnessError
├── RequestFailedError   the failure's own code   a request failed and nobody retried it
├── MaxStepsError        MAX_STEPS                a turn ran into its limit of steps
└── NoModelError         NO_MODEL                 nobody chose a provider and a model
"""

from typing import Any, cast

from harness.agent import CancelCause
from harness.errors import HarnessError, error_chain
from harness.llm import LlmFailure
from harness.wire import truncate_utf8

MAX_MESSAGE_BYTES = 4096


class RequestFailedError(HarnessError):
    """Report a request that failed inside its stream and was not retried."""

    code: str = "REQUEST_FAILED"

    def __init__(self, failure: LlmFailure) -> None:
        """Take message and code from the failure, which is kept whole."""
        super().__init__(failure.message, code=failure.code)
        self.failure = failure


class MaxStepsError(HarnessError):
    """Report a turn that was ended because it took too many steps."""

    code: str = "MAX_STEPS"


class NoModelError(HarnessError):
    """Report a request for which nobody chose a provider and a model."""

    code: str = "NO_MODEL"


class TurnCancelled(Exception):
    """End whatever a cancelled turn was doing; an ordinary exception on purpose.

    Host cancellation keeps its own class, so that `except Exception` never swallows it.
    """

    def __init__(self, cause: CancelCause) -> None:
        """Keep the cause."""
        super().__init__(f"the turn was cancelled by {cause.kind}")
        self.cause = cause


def error_reason(error: BaseException, *, step: int) -> dict[str, Any]:
    """Return the `turn/end` reason of a failure: its whole message, its code, its facts."""
    cause = _only_cause(error)
    message = truncate_utf8(error_chain(cause), MAX_MESSAGE_BYTES)
    reason: dict[str, Any] = {"kind": "error", "step": step, "message": message}
    failure = getattr(cause, "failure", None)
    if isinstance(failure, LlmFailure):
        reason["code"] = failure.code
        reason["failure"] = failure.to_json()
    else:
        reason["code"] = cause.code if isinstance(cause, HarnessError) else "UNKNOWN"
    return reason


def _only_cause(error: BaseException) -> BaseException:
    """Return the one failure inside groups of one."""
    while isinstance(error, BaseExceptionGroup):
        members = cast("BaseExceptionGroup[BaseException]", error).exceptions
        if len(members) != 1:
            return cast("BaseException", error)
        error = members[0]
    return error
