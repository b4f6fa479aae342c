"""How a turn ends: one reason out of everything that happened to it."""

from typing import Any

from harness.agent import CancelCause
from harness_plugins.agent_loop.errors import error_reason


class TurnOutcome:
    """Collect what happens to a turn and decide its one reason.

    disposed > aborted > error > rejected > max-tokens > completed

    Invariants: whoever stopped the turn outranks what broke it.
    """

    def __init__(self) -> None:
        """Start with a turn that completes."""
        self.cause: CancelCause | None = None
        self.error: BaseException | None = None
        self.is_truncated = False
        self.n_steps = 0
        self._rejection: str | None = None
        self._is_rejected = False

    @property
    def has_failed(self) -> bool:
        """Whether the turn ends with an error."""
        return self.error is not None and self.cause is None

    def cancel(self, cause: CancelCause) -> None:
        """Note who stopped the turn."""
        self.cause = cause

    def fail(self, error: BaseException) -> None:
        """Note what broke the turn."""
        self.error = error

    def dispose(self) -> None:
        """Note that the host takes everything down."""
        self.cause = CancelCause("disposed")

    def reject(self, message: str | None) -> None:
        """Note that a prompt or a step was refused."""
        self._is_rejected = True
        self._rejection = self._rejection or message

    def reason(self) -> dict[str, Any]:
        """Return the reason as `turn/end` keeps it."""
        if self.cause is not None:
            if self.cause.kind == "disposed":
                return {"kind": "disposed"}
            return {"kind": "aborted", "reason": self.cause.to_json()}
        if self.error is not None:
            return error_reason(self.error, step=self.n_steps)
        if self._is_rejected and self.n_steps == 0:
            message = {} if self._rejection is None else {"message": self._rejection}
            return {"kind": "rejected", **message}
        return {"kind": "max-tokens" if self.is_truncated else "completed"}
