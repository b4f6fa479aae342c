"""Let queued steering enter the open turn."""

from typing import TYPE_CHECKING

from harness.agent import STEERING, InboxTarget, SteeringEntered
from harness.session import STEERING_MESSAGE
from harness.wire import freeze_json
from harness_plugins.agent_loop.inbox import settling

if TYPE_CHECKING:
    from harness_plugins.agent_loop.agent import ReactLoopAgent


def drain_steering(agent: "ReactLoopAgent", *, turn: int, step: int) -> bool:
    """Append what was queued for the next step; returns whether anything was.

    Args:
        agent: the agent, with `turn` open.
        turn: the open turn.
        step: the step that observers are told: the open one, or the last one between steps.
    """
    envelope = agent.config.steering_envelope
    claimed = agent.inbox.claim(InboxTarget.NEXT_STEP, turn)
    with settling(claimed):
        for entry in claimed:
            data = {**entry.message.to_json(), "turn": turn}
            if envelope != "context":
                data["envelope"] = envelope
            event = agent.session.append(STEERING_MESSAGE, freeze_json(data), surface_op="append")
            if entry.receipt is not None:
                entry.receipt.enter(turn, event.seq)
            agent.tell(
                STEERING, SteeringEntered(agent=agent, turn=turn, step=step, message=entry.message)
            )
    return bool(claimed)
