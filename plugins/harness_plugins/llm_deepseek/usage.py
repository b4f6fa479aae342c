"""Read the token counters of a chat-completions stream."""

from collections.abc import Callable, Mapping
from typing import Any, cast

from harness.llm import TokenUsage


def read_usage(usage: object, warn: Callable[[str], None]) -> TokenUsage | None:
    """Return disjoint counters, or `None` when the provider's report has no usable ones.

    The wire counts cached tokens as part of the prompt. More cached than prompt tokens is a
    provider's mistake: the uncached rest is zero then, and `warn` is told.
    """
    if not isinstance(usage, dict):
        return None
    facts = cast("Mapping[str, Any]", usage)
    prompt, completion = _count(facts, "prompt_tokens"), _count(facts, "completion_tokens")
    if prompt is None or completion is None:
        return None
    cached = _count(_nested(facts, "prompt_tokens_details"), "cached_tokens")
    if cached is None:
        cached = _count(facts, "prompt_cache_hit_tokens")
    fresh = prompt - (cached or 0)
    if fresh < 0:
        warn(f"the provider reports {cached} cached of {prompt} prompt tokens")
        fresh = 0
    reasoning = _count(_nested(facts, "completion_tokens_details"), "reasoning_tokens")
    return TokenUsage(fresh, completion, cache_read_tokens=cached, reasoning_tokens=reasoning)


def _nested(facts: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    value = facts.get(key)
    return cast("Mapping[str, Any]", value) if isinstance(value, dict) else {}


def _count(facts: Mapping[str, Any], key: str) -> int | None:
    value = facts.get(key)
    return value if type(value) is int and value >= 0 else None
