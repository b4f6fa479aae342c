"""Compute how long to wait before a retry."""

from harness.llm import LlmFailure, RetryPolicy

_MAX_EXPONENT = 1_024


def retry_delay_ms(
    policy: RetryPolicy, failure: LlmFailure, retry: int, *, uniform: float
) -> int | None:
    """Return the delay before retry number `retry` (from 1), or `None` for "do not retry".

    A delay that the provider asks for is kept exactly when it is within the policy's maximum. A
    longer one ends a normal policy, since neither hammering nor waiting that long is right; an
    endless policy then backs off on its own. `uniform` is a random number in [0, 1].
    """
    asked = failure.provider_retry_after_ms
    if asked is not None:
        if asked <= policy.max_delay_ms:
            return round(asked)
        if policy.mode == "normal":
            return None
    doublings = min(retry - 1, _MAX_EXPONENT)
    try:
        grown = min(policy.initial_delay_ms * 2.0**doublings, policy.max_delay_ms)
    except OverflowError:
        grown = policy.max_delay_ms
    spread = 1 - policy.jitter_ratio + 2 * policy.jitter_ratio * uniform
    return round(min(grown * spread, policy.max_delay_ms))
