import pytest

from harness.llm import (
    LlmError,
    RetryPolicy,
    assert_usable_api_key,
    attribution_headers,
    default_user_agent,
    is_context_window_wording,
    is_quota_wording,
    resolve_retry_policy,
)


@pytest.mark.spec("02-170")
def test_the_default_policy_has_the_documented_values() -> None:
    policy = resolve_retry_policy(None)
    assert policy == RetryPolicy()
    assert policy.mode == "normal"
    assert policy.max_retries == 5
    assert policy.retryable_codes == (
        "EMPTY_RESPONSE",
        "RATE_LIMIT",
        "SERVER",
        "TIMEOUT",
        "TRANSPORT",
    )
    assert (policy.initial_delay_ms, policy.max_delay_ms, policy.jitter_ratio) == (500, 10_000, 0.1)


def test_a_configured_policy_is_taken_over() -> None:
    config = {
        "maxRetries": 0,
        "retryableCodes": ["A"],
        "backoff": {"initialDelayMs": 1, "maxDelayMs": 2, "jitterRatio": 0},
    }
    assert resolve_retry_policy(config) == RetryPolicy(
        max_retries=0,
        retryable_codes=("A",),
        initial_delay_ms=1,
        max_delay_ms=2,
        jitter_ratio=0,
    )


@pytest.mark.spec("02-170")
@pytest.mark.parametrize(
    ("config", "path"),
    [
        ({"foo": 1}, "p.foo"),
        ({"mode": "never"}, "p.mode"),
        ({"maxRetries": -1}, "p.maxRetries"),
        ({"maxRetries": True}, "p.maxRetries"),
        ({"maxRetries": 2**53}, "p.maxRetries"),
        ({"retryableCodes": []}, "p.retryableCodes"),
        ({"retryableCodes": "SERVER"}, "p.retryableCodes"),
        ({"retryableCodes": [""]}, "p.retryableCodes"),
        ({"retryableCodes": ["A", "A"]}, "p.retryableCodes"),
        ({"backoff": 3}, "p.backoff"),
        ({"backoff": {"foo": 1}}, "p.backoff.foo"),
        ({"backoff": {"initialDelayMs": 0}}, "p.backoff.initialDelayMs"),
        ({"backoff": {"maxDelayMs": float("inf")}}, "p.backoff.maxDelayMs"),
        ({"backoff": {"maxDelayMs": 2_147_483_648}}, "p.backoff.maxDelayMs"),
        ({"backoff": {"initialDelayMs": 20, "maxDelayMs": 10}}, "p.backoff.initialDelayMs"),
        ({"backoff": {"jitterRatio": 1.5}}, "p.backoff.jitterRatio"),
    ],
)
def test_each_invalid_field_is_named_by_its_path(config: dict, path: str) -> None:
    with pytest.raises(ValueError, match=path):
        resolve_retry_policy(config, "p")


@pytest.mark.spec("02-171")
def test_an_endless_policy_ignores_leftover_limits_but_no_unknown_key() -> None:
    policy = resolve_retry_policy({"mode": "always", "maxRetries": -3, "retryableCodes": []})
    assert policy == RetryPolicy("always")
    with pytest.raises(ValueError, match="foo"):
        resolve_retry_policy({"mode": "always", "foo": 1})


@pytest.mark.spec("02-169")
@pytest.mark.parametrize(
    "text",
    [
        "context_length_exceeded",
        "CONTEXT-WINDOW-EXCEEDED",
        "context window overflow",
        "The context length was exceeded",
        "this exceeds the context window",
        "This model's maximum context length is 131072 tokens",
        "max supported context window",
        "request too large for the model's context window",
        "prompt is too long for this context",
        "input is too long for the model",
        "Prompt too large for this model",
        "Your input of 90000 tokens exceeds the model's context length",
        "messages are larger than the model context",
    ],
)
def test_context_overflow_is_recognised(text: str) -> None:
    assert is_context_window_wording(text)


@pytest.mark.spec("02-169")
@pytest.mark.parametrize(
    "text",
    [
        "rate limit reached while reading the context",
        "file too large",
        "exceeds the maximum number of images",
        "context",
        "",
    ],
)
def test_other_limits_are_no_context_overflow(text: str) -> None:
    assert not is_context_window_wording(text)


@pytest.mark.spec("02-169")
@pytest.mark.parametrize(
    "text",
    [
        "insufficient_quota",
        "Insufficient Balance",
        "insufficient account credits",
        "quota exceeded",
        "usage limit has been reached",
        "You exceeded your current quota",
        "credits exhausted",
        "balance is depleted",
        "out of credits",
        "out-of-budget",
    ],
)
def test_an_empty_account_is_recognised(text: str) -> None:
    assert is_quota_wording(text)


@pytest.mark.spec("02-169")
@pytest.mark.parametrize("text", ["rate limit exceeded", "exceeded maximum tokens", ""])
def test_other_limits_are_no_empty_account(text: str) -> None:
    assert not is_quota_wording(text)


def test_classifying_a_hostile_text_is_cheap() -> None:
    hostile = "insufficient_" * 20_000 + "input " * 20_000
    assert not is_quota_wording(hostile)
    assert not is_context_window_wording(hostile)


@pytest.mark.spec("02-130")
def test_a_key_is_trimmed_and_checked_without_being_shown() -> None:
    assert assert_usable_api_key("  sk-1 \n", "KEY") == "sk-1"
    for value in ("sk\n1", "sk 1", "schlüssel"):
        with pytest.raises(LlmError, match="KEY") as caught:
            assert_usable_api_key(value, "KEY")
        assert caught.value.code == "INVALID_CREDENTIAL"
        assert value not in str(caught.value)
    for value in (None, "", "  "):
        with pytest.raises(LlmError, match="KEY") as caught:
            assert_usable_api_key(value, "KEY")
        assert caught.value.code == "MISSING_CREDENTIAL"


@pytest.mark.spec("02-127")
def test_the_attribution_cannot_be_replaced_by_a_header() -> None:
    headers = attribution_headers({"User-AGENT": "mine", "X-Other": "1"})
    assert headers == {"user-agent": default_user_agent(), "x-other": "1"}
    assert headers["user-agent"].startswith("dsh-harness/")
    assert default_user_agent("not-installed").startswith("dsh-harness/0 ")
    assert attribution_headers({}, "product/1")["user-agent"] == "product/1"
    assert attribution_headers({}, "  ")["user-agent"] == default_user_agent()
