import pytest
from attrs.exceptions import FrozenInstanceError

from harness.llm import (
    ImageAttachment,
    ImageBlock,
    OpaqueBlock,
    TextBlock,
    ToolResultBlock,
    block_from_json,
    content_has_image,
)
from harness.wire import dumps, loads

DIGEST = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
IMAGE_HEAD = '{"type":"image","attachment":{"attachmentId":"sha256:' + DIGEST + '",'
LITERALS = [
    '{"type":"text","text":"Hello"}',
    '{"type":"reasoning","text":"The user greets me, so ..."}',
    '{"type":"tool-call","id":"call_0","name":"read","arguments":"{\\"file_path\\": \\"/a\\"}"}',
    '{"type":"tool-result","toolCallId":"c","content":[{"type":"text","text":"1"}],"isError":false}',
    '{"type":"tool-result","toolCallId":"c","content":[]}',
    IMAGE_HEAD + '"mediaType":"image/png","bytes":48213,"width":800,"height":600,'
    '"name":"diagram.png","originalDimensions":{"width":3200,"height":2400}}}',
    IMAGE_HEAD + '"mediaType":"image/gif","bytes":1,"width":1,"height":1},"offloaded":true}',
]


def image() -> ImageBlock:
    return ImageBlock(ImageAttachment(f"sha256:{DIGEST}", "image/png", 10, 4, 4))


@pytest.mark.spec("02-1")
@pytest.mark.parametrize("literal", LITERALS)
def test_each_block_literal_round_trips_byte_for_byte(literal: str) -> None:
    assert dumps(block_from_json(loads(literal)).to_json()).decode() == literal


@pytest.mark.spec("02-2")
def test_a_block_of_an_unknown_type_is_kept_whole() -> None:
    literal = '{"type":"video","url":"x","frames":[1,{"a":null}]}'
    block = block_from_json(loads(literal))
    assert isinstance(block, OpaqueBlock)
    assert dumps(block.to_json()).decode() == literal
    with pytest.raises(TypeError, match="frozen"):
        block.data["url"] = "y"


@pytest.mark.spec("02-3", "02-4")
@pytest.mark.parametrize("arguments", ['{"a": 1}   ', "{bad"])
def test_tool_arguments_are_never_touched(arguments: str) -> None:
    value = {"type": "tool-call", "id": "c", "name": "n", "arguments": arguments}
    assert block_from_json(value).to_json() == value


@pytest.mark.spec("02-5")
@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"attachment_id": f"sha256:{DIGEST[1:]}"}, "64 hex"),
        ({"attachment_id": DIGEST}, "64 hex"),
        ({"media_type": "image/tiff"}, "media type"),
        ({"bytes": 0}, "positive"),
        ({"width": True}, "positive"),
        ({"height": 1.5}, "positive"),
        ({"original_dimensions": (0, 3)}, "positive"),
    ],
)
def test_an_impossible_image_reference_is_refused(change: dict, word: str) -> None:
    facts = {
        "attachment_id": f"sha256:{DIGEST}",
        "media_type": "image/png",
        "bytes": 1,
        "width": 1,
        "height": 1,
    }
    with pytest.raises(ValueError, match=word):
        ImageAttachment(**{**facts, **change})


@pytest.mark.parametrize(
    "value",
    [
        {},
        {"type": ""},
        {"type": 7},
        {"type": "text"},
        {"type": "text", "text": None},
        {"type": "tool-call", "id": 1, "name": "n", "arguments": ""},
        {"type": "tool-result", "toolCallId": "c", "content": 3},
        {"type": "tool-result", "toolCallId": "c", "content": [3]},
        {"type": "image", "attachment": "sha256"},
        {"type": "image", "attachment": {}},
    ],
)
def test_a_malformed_block_raises_value_error(value: dict) -> None:
    with pytest.raises(ValueError, match="block"):
        block_from_json(value)


def test_hostile_nesting_is_refused_and_not_fatal() -> None:
    value: dict = {"type": "text", "text": ""}
    for _ in range(100_000):
        value = {"type": "tool-result", "toolCallId": "c", "content": [value]}
    with pytest.raises(ValueError, match="malformed"):
        block_from_json(value)


@pytest.mark.spec("02-6", "02-7")
def test_an_image_is_found_at_any_depth_and_only_then() -> None:
    nested = ToolResultBlock("a", (ToolResultBlock("b", (image(),)),))
    assert content_has_image([TextBlock("x"), nested])
    assert not content_has_image([TextBlock("x"), ToolResultBlock("a", (TextBlock("y"),))])
    assert not content_has_image([])


@pytest.mark.spec("02-9")
def test_blocks_cannot_be_changed() -> None:
    with pytest.raises(FrozenInstanceError):
        TextBlock("a").text = "b"  # pyright: ignore[reportAttributeAccessIssue]
