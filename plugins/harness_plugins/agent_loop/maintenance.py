"""The turn of a maintenance task, opened when it has something to write."""

from typing import TYPE_CHECKING

from harness.agent import CancelCause
from harness.session import TURN_END, TURN_START
from harness.wire import freeze_json
from harness_plugins.agent_loop.outcome import TurnOutcome

if TYPE_CHECKING:
    from harness_plugins.agent_loop.agent import ReactLoopAgent


class MaintenanceTurn:
    """Enclose the appends of one task.

    Invariants: the turn is open from the first `open` on, and closed exactly once.
    """

    def __init__(self, agent: "ReactLoopAgent", task: str, *, allow_context: bool) -> None:
        """Prepare a turn for `task`; nothing is written yet."""
        self._agent = agent
        self._task = task
        self._number: int | None = None
        self.allow_context = allow_context

    def open(self) -> int:
        """Write the beginning, unless that was done; returns the number of the turn."""
        if self._number is None:
            session = self._agent.session
            number = session.last_turn + 1
            trigger = {"kind": "maintenance", "task": self._task}
            session.append(TURN_START, freeze_json({"turn": number, "trigger": trigger}))
            self._number = number
        return self._number

    def close(self, error: BaseException | None, cause: CancelCause | None) -> None:
        """Write the end, if there was a beginning; a refused one leaves the log unbalanced."""
        agent = self._agent
        agent.maintenance = None
        if self._number is None:
            return
        outcome = TurnOutcome()
        if cause is not None:
            outcome.cancel(cause)
        elif isinstance(error, Exception):
            outcome.fail(error)
        elif error is not None:
            outcome.dispose()
        data = {"turn": self._number, "reason": outcome.reason()}
        try:
            agent.session.append(TURN_END, freeze_json(data))
        except Exception as refused:
            agent.mark_unbalanced(refused)
            raise
