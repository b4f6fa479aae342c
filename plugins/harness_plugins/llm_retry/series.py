"""Read from the log how far a series of retries has come."""

from typing import Any
from uuid import uuid4

from attrs import frozen

from harness.agent import AttemptFailed
from harness.llm import RetryPolicy
from harness.session import STEP_START
from harness.wire import dumps_text

RETRY_EVENT = "llm/retry"


@frozen
class Series:
    """Name a series of retries and the number of those already recorded."""

    retry_id: str
    policy_key: str
    n_retries: int


def current_series(failed: AttemptFailed, policy: RetryPolicy) -> Series:
    """Return the series that a failed attempt belongs to, a new one when there is none.

    A series is continued by the same provider under the same policy within one step. The log is
    read backwards to the start of the step.
    """
    key = policy_key(policy)
    session = failed.agent.session
    for seq in range(session.seq - 1, -1, -1):
        event = session.event(seq)
        if event.type == STEP_START:
            break
        if event.type == RETRY_EVENT and _continues(event.data, failed, key):
            return Series(event.data["retryId"], key, event.data["retry"])
    return Series(str(uuid4()), key, 0)


def policy_key(policy: RetryPolicy) -> str:
    """Return a text that is equal for equal policies and stable across processes."""
    backoff = [policy.initial_delay_ms, policy.max_delay_ms, policy.jitter_ratio]
    if policy.mode == "always":
        return dumps_text(["always", *backoff])
    return dumps_text(["normal", policy.max_retries, sorted(policy.retryable_codes), *backoff])


def _continues(data: dict[str, Any], failed: AttemptFailed, key: str) -> bool:
    same_place = (data["turn"], data["step"]) == (failed.turn, failed.step)
    return same_place and (data["provider"], data["policyKey"]) == (failed.provider, key)
