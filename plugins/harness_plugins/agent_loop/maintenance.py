"""The turn of a maintenance task, opened when it has something to write."""

from harness.agent import CancelCause
from harness.session import TURN_END, TURN_START, Session
from harness.wire import freeze_json
from harness_plugins.agent_loop.errors import error_reason


class MaintenanceTurn:
    """Enclose the appends of one task.

    Invariants: the turn is open from the first append on, and closed exactly once.
    """

    def __init__(self, session: Session, task: str, *, allow_context: bool) -> None:
        """Prepare a turn for `task`; nothing is written yet."""
        self._session = session
        self._task = task
        self.allow_context = allow_context
        self._number: int | None = None

    def open(self) -> None:
        """Write the beginning, unless that was done."""
        if self._number is None:
            number = self._session.last_turn + 1
            trigger = {"kind": "maintenance", "task": self._task}
            self._session.append(TURN_START, freeze_json({"turn": number, "trigger": trigger}))
            self._number = number

    def close(self, error: BaseException | None, cause: CancelCause | None) -> None:
        """Write the end, if there was a beginning."""
        if self._number is None:
            return
        reason: dict[str, object] = {"kind": "completed"}
        if cause is not None:
            reason = {"kind": "aborted", "reason": cause.to_json()}
        elif error is not None:
            reason = error_reason(error, step=0)
        self._session.append(TURN_END, freeze_json({"turn": self._number, "reason": reason}))
