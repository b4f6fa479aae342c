import copy
import math

import pytest

from harness.llm import (
    Finish,
    FinishReason,
    GenerateOptions,
    LlmCallConfig,
    LlmError,
    LlmFailure,
    TokenUsage,
    ToolSchema,
    chunk_from_json,
    create_user_message,
    is_agent_loop_request,
    mark_agent_loop_request,
    normalize_llm_failure,
)
from harness.wire import dumps, loads
from vendor_shims.cordis import AbortError

FULL_FAILURE = (
    '{"message":"mock rate limit","code":"RATE_LIMIT","status":429,'
    '"providerRetryAfterMs":2000,"requestId":"req-77"}'
)


@pytest.mark.spec("02-18")
@pytest.mark.parametrize(("message", "code"), [("", "X"), ("x", "")])
def test_a_failure_needs_a_message_and_a_code(message: str, code: str) -> None:
    with pytest.raises(ValueError, match="non-empty"):
        LlmFailure(message, code)


@pytest.mark.spec("02-19", "02-20", "02-21")
@pytest.mark.parametrize(
    ("facts", "word"),
    [
        ({"status": 99}, "status"),
        ({"status": 600}, "status"),
        ({"status": 200.5}, "status"),
        ({"status": True}, "status"),
        ({"provider_retry_after_ms": 0}, "retry"),
        ({"provider_retry_after_ms": -1}, "retry"),
        ({"provider_retry_after_ms": math.inf}, "retry"),
        ({"provider_retry_after_ms": math.nan}, "retry"),
        ({"request_id": ""}, "request_id"),
        ({"offload_images": 0}, "offload_images"),
    ],
)
def test_an_impossible_fact_is_refused(facts: dict, word: str) -> None:
    with pytest.raises(ValueError, match=word):
        LlmFailure("m", "C", **facts)


@pytest.mark.spec("02-19", "02-20")
def test_facts_in_range_are_kept() -> None:
    failure = LlmFailure("m", "C", status=429, provider_retry_after_ms=0.5, offload_images=2)
    assert LlmFailure.from_json(failure.to_json()) == failure
    assert dumps(LlmFailure.from_json(loads(FULL_FAILURE)).to_json()).decode() == FULL_FAILURE


def test_finish_reasons_round_trip() -> None:
    for literal in (
        '{"kind":"stop"}',
        '{"kind":"paused"}',
        '{"kind":"error","failure":' + FULL_FAILURE + "}",
    ):
        assert dumps(FinishReason.from_json(loads(literal)).to_json()).decode() == literal
    failure = LlmFailure("m", "C")
    assert FinishReason.aborted(failure).is_failure
    assert not FinishReason.MAX_TOKENS.is_failure


@pytest.mark.spec("02-22")
def test_an_error_agrees_with_its_failure() -> None:
    error = LlmError("slow down", "RATE_LIMIT", status=429, request_id="r", cause=OSError("x"))
    assert error.failure.code == error.code == "RATE_LIMIT"
    assert isinstance(error.__cause__, OSError)
    with pytest.raises(AttributeError):
        error.failure.code = "OTHER"  # pyright: ignore[reportAttributeAccessIssue]
    with pytest.raises(ValueError, match="status"):
        LlmError("m", "C", status=1)


@pytest.mark.spec("02-23")
def test_a_foreign_total_is_preserved_and_never_summed() -> None:
    literal = '{"inputTokens":120,"outputTokens":45,"cacheReadTokens":3840,"totalTokens":9}'
    usage = TokenUsage.from_json(loads(literal))
    assert dumps(usage.to_json()).decode() == literal
    assert usage.prompt_tokens == 3960


@pytest.mark.spec("02-24")
@pytest.mark.parametrize("value", [-1, 1.5, True, "3"])
def test_a_counter_that_cannot_be_is_refused(value: object) -> None:
    with pytest.raises(ValueError, match="inputTokens"):
        TokenUsage(value, 0)  # pyright: ignore[reportArgumentType]
    with pytest.raises(ValueError, match="cacheReadTokens"):
        TokenUsage(0, 0, cache_read_tokens=value)  # pyright: ignore[reportArgumentType]
    with pytest.raises(ValueError, match="outputTokens"):
        TokenUsage.from_json({"inputTokens": 1})


def test_failures_of_foreign_exceptions_are_not_trusted() -> None:
    class Sdk(Exception):
        code = "RATE_LIMIT"

    class Mute(Exception):
        def __str__(self) -> str:
            raise RuntimeError

    assert normalize_llm_failure(Sdk("x")) == LlmFailure("x", "UNKNOWN")
    assert normalize_llm_failure(Mute()) == LlmFailure("LLM adapter failed", "UNKNOWN")
    assert normalize_llm_failure(ValueError()) == LlmFailure("LLM adapter failed", "UNKNOWN")
    assert normalize_llm_failure(AbortError("user")).code == "ABORTED"
    error = LlmError("m", "SERVER", status=500)
    assert normalize_llm_failure(error) is error.failure
    error.code = "OTHER"
    assert normalize_llm_failure(error) == LlmFailure("m", "OTHER")


def test_call_configs_and_tool_schemas_round_trip() -> None:
    config = LlmCallConfig(
        "p", "m", reasoning_effort="high", temperature=0.0, max_tokens=5, stop=["a"]
    )
    assert dumps(config.to_json()) == (
        b'{"provider":"p","model":"m","reasoningEffort":"high","temperature":0.0,'
        b'"maxTokens":5,"stop":["a"]}'
    )
    assert LlmCallConfig.from_json(config.to_json()) == config
    assert LlmCallConfig("p", "m").to_json() == {"provider": "p", "model": "m"}
    for defer in (True, False):
        tool = ToolSchema("t", "d", {"type": "object"}, defer_loading=defer)
        assert ToolSchema.from_json(tool.to_json()) == tool
        assert ("deferLoading" in tool.to_json()) is defer


@pytest.mark.spec("02-92")
def test_no_stop_differs_from_an_empty_list() -> None:
    assert LlmCallConfig("p", "m") != LlmCallConfig("p", "m", stop=[])
    assert LlmCallConfig("p", "m", stop=["x"]) == LlmCallConfig("p", "m", stop=("x",))


@pytest.mark.spec("02-111")
def test_the_loop_mark_belongs_to_one_object() -> None:
    options = GenerateOptions(LlmCallConfig("p", "m"), [create_user_message("a")])
    mark_agent_loop_request(options)
    assert is_agent_loop_request(options)
    assert not is_agent_loop_request(copy.copy(options))
    assert (options.provider, options.model) == ("p", "m")
    assert isinstance(options.messages, tuple)


def test_finish_keeps_replay_state_frozen() -> None:
    value = {"type": "finish", "reason": {"kind": "stop"}, "replayState": {"response": [1]}}
    chunk = chunk_from_json(value)
    assert isinstance(chunk, Finish)
    assert chunk.replay_state == {"response": (1,)}
    assert dumps(chunk.to_json()) == dumps(value)
