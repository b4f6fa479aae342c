"""Records with Python names, JSON with wire names."""

import attrs
import pytest
from cattrs.errors import ClassValidationError, ForbiddenExtraKeysError

from harness.wire import WIRE_NAME, camel_case, make_converter


@attrs.frozen
class Usage:
    input_tokens: int
    cache_read_tokens: int | None = None


@attrs.frozen
class Message:
    session_id: str
    from_: str = "user"
    user_url: str = attrs.field(default="", metadata={WIRE_NAME: "userURL"})
    parts: tuple[Usage, ...] = ()
    last_usage: Usage | None = None


MESSAGE = Message("s", "model", "http://x", (Usage(1, 2),), Usage(3))
WIRE = {
    "sessionId": "s",
    "from": "model",
    "userURL": "http://x",
    "parts": [{"inputTokens": 1, "cacheReadTokens": 2}],
    "lastUsage": {"inputTokens": 3, "cacheReadTokens": None},
}


def test_names_are_renamed_at_every_depth_in_both_directions():
    converter = make_converter()
    wire = converter.unstructure(MESSAGE)
    assert {**wire, "parts": list(wire["parts"])} == WIRE
    assert converter.structure(WIRE, Message) == MESSAGE


def test_defaults_can_be_left_out():
    converter = make_converter(omit_default=True)
    assert converter.unstructure(Message("s", last_usage=Usage(3))) == {
        "sessionId": "s",
        "lastUsage": {"inputTokens": 3},
    }


def test_unknown_members_are_ignored_or_refused():
    assert make_converter().structure({"inputTokens": 1, "new": 2}, Usage) == Usage(1)
    with pytest.raises(ForbiddenExtraKeysError):
        make_converter(forbid_extra=True).structure({"inputTokens": 1, "new": 2}, Usage)


def test_detailed_errors_name_every_bad_member():
    with pytest.raises(ClassValidationError) as caught:
        make_converter(detailed=True).structure({"parts": [{"inputTokens": "x"}]}, Message)
    assert len(caught.value.exceptions) == 2


@pytest.mark.parametrize(
    ("name", "wire"),
    [
        ("a", "a"),
        ("max_tokens", "maxTokens"),
        ("from_", "from"),
        ("_private", "private"),
        ("http_2_url", "http2Url"),
    ],
)
def test_camel_case(name, wire):
    assert camel_case(name) == wire
