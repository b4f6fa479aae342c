import pytest

from harness.llm import (
    BlockStart,
    ReasoningDelta,
    TextDelta,
    ToolCallDelta,
    chunk_from_json,
    is_token_delta,
)
from harness.wire import dumps, loads

LITERALS = [
    '{"type":"block-start","index":0,"blockType":"reasoning"}',
    '{"type":"reasoning-delta","index":0,"text":"Need to look at the file."}',
    '{"type":"text-delta","index":0,"text":"x"}',
    '{"type":"tool-call-delta","index":1,"id":"call_7","name":"read","argumentsDelta":"{"}',
    '{"type":"tool-call-delta","index":1,"id":"","argumentsDelta":"{"}',
    '{"type":"block-end","index":0,"block":{"type":"reasoning","text":"x"}}',
    '{"type":"usage","usage":{"inputTokens":11,"outputTokens":9}}',
    '{"type":"finish","reason":{"kind":"tool-calls"}}',
]


@pytest.mark.parametrize("literal", LITERALS)
def test_each_chunk_literal_round_trips_byte_for_byte(literal: str) -> None:
    chunk = chunk_from_json(loads(literal))
    assert dumps(chunk.to_json()).decode() == literal
    assert chunk.type == loads(literal)["type"]


@pytest.mark.parametrize(
    "value",
    [
        {},
        {"type": "noise"},
        {"type": "text-delta", "index": 0},
        {"type": "block-end", "index": 0, "block": 3},
        {"type": "finish", "reason": None},
    ],
)
def test_a_malformed_chunk_raises_value_error(value: dict) -> None:
    with pytest.raises(ValueError, match="chunk"):
        chunk_from_json(value)


@pytest.mark.spec("02-37")
def test_only_real_output_counts_as_a_token() -> None:
    assert not is_token_delta(TextDelta(0, ""))
    assert is_token_delta(TextDelta(0, " "))
    assert is_token_delta(ReasoningDelta(0, "x"))
    assert is_token_delta(ToolCallDelta(0, "", "read", ""))
    assert is_token_delta(ToolCallDelta(0, "", None, "{"))
    assert not is_token_delta(ToolCallDelta(0, "c", None, ""))
    assert not is_token_delta(BlockStart(0, "text"))
