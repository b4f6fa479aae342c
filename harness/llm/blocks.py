"""Define the content blocks of a message, with their persisted form.

The union is open: a block of an unknown type is kept whole as an `OpaqueBlock`, and consumers skip
what they do not understand. Blocks are frozen; `to_json()` returns frozen JSON.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Literal, TypeAlias, cast

from attrs import field, frozen

from harness.llm.numbers import is_int
from harness.wire import FrozenDict, freeze_json

IMAGE_MEDIA_TYPES = ("image/png", "image/jpeg", "image/webp", "image/gif")
_ATTACHMENT_ID = re.compile(r"sha256:[0-9a-f]{64}")


@frozen
class TextBlock:
    """Hold answer or prompt text; may be empty."""

    type: ClassVar[Literal["text"]] = "text"
    text: str

    def to_json(self) -> FrozenDict:
        """Return the persisted form."""
        return FrozenDict({"type": "text", "text": self.text})


@frozen
class ReasoningBlock:
    """Hold chain of thought: never shown as answer text, passed back to the provider."""

    type: ClassVar[Literal["reasoning"]] = "reasoning"
    text: str

    def to_json(self) -> FrozenDict:
        """Return the persisted form."""
        return FrozenDict({"type": "reasoning", "text": self.text})


@frozen
class ToolCallBlock:
    """Ask for a tool. `arguments` is the raw text the model produced, possibly malformed JSON."""

    type: ClassVar[Literal["tool-call"]] = "tool-call"
    id: str
    name: str
    arguments: str

    def to_json(self) -> FrozenDict:
        """Return the persisted form."""
        return FrozenDict(
            {
                "type": "tool-call",
                "id": self.id,
                "name": self.name,
                "arguments": self.arguments,
            }
        )


@frozen
class ImageAttachment:
    """Refer to an image in the attachment store; the bytes are not here.

    Sizes are in bytes and pixels. A malformed reference raises `ValueError`.
    """

    attachment_id: str
    media_type: str
    bytes: int
    width: int
    height: int
    name: str | None = None
    original_dimensions: tuple[int, int] | None = None

    def __attrs_post_init__(self) -> None:
        if not _ATTACHMENT_ID.fullmatch(self.attachment_id):
            raise ValueError(
                f"attachment id must be 'sha256:' and 64 hex digits, got {self.attachment_id!r}"
            )
        if self.media_type not in IMAGE_MEDIA_TYPES:
            raise ValueError(f"image media type must be one of {IMAGE_MEDIA_TYPES}")
        sizes = (self.bytes, self.width, self.height, *(self.original_dimensions or ()))
        if not all(is_int(size) and size > 0 for size in sizes):
            raise ValueError("image bytes, width and height must be positive integers")

    def to_json(self) -> FrozenDict:
        """Return the persisted form."""
        data: dict[str, Any] = {
            "attachmentId": self.attachment_id,
            "mediaType": self.media_type,
            "bytes": self.bytes,
            "width": self.width,
            "height": self.height,
        }
        if self.name is not None:
            data["name"] = self.name
        if self.original_dimensions is not None:
            width, height = self.original_dimensions
            data["originalDimensions"] = FrozenDict({"width": width, "height": height})
        return FrozenDict(data)


@frozen
class ImageBlock:
    """Show an image. `is_offloaded` preserves a foreign log's decision to leave it out."""

    type: ClassVar[Literal["image"]] = "image"
    attachment: ImageAttachment
    is_offloaded: bool = field(default=False, kw_only=True)

    def to_json(self) -> FrozenDict:
        """Return the persisted form."""
        data: dict[str, Any] = {"type": "image", "attachment": self.attachment.to_json()}
        if self.is_offloaded:
            data["offloaded"] = True
        return FrozenDict(data)


@frozen
class ToolResultBlock:
    """Answer one tool call with nested blocks.

    `is_error` is `None` when the log does not say, which means success; writers use `True` or
    `None`.
    """

    type: ClassVar[Literal["tool-result"]] = "tool-result"
    tool_call_id: str
    content: tuple["ContentBlock", ...]
    is_error: bool | None = None

    def to_json(self) -> FrozenDict:
        """Return the persisted form."""
        data: dict[str, Any] = {
            "type": "tool-result",
            "toolCallId": self.tool_call_id,
            "content": tuple([block.to_json() for block in self.content]),
        }
        if self.is_error is not None:
            data["isError"] = self.is_error
        return FrozenDict(data)


@frozen
class OpaqueBlock:
    """Keep a block of an unknown type unchanged; projections skip it."""

    type: str
    data: FrozenDict

    def to_json(self) -> FrozenDict:
        """Return the block as it was read."""
        return self.data


ContentBlock: TypeAlias = (
    TextBlock | ReasoningBlock | ToolCallBlock | ToolResultBlock | ImageBlock | OpaqueBlock
)


def block_from_json(value: Mapping[str, Any]) -> ContentBlock:
    """Read one block; a known type with wrong members raises `ValueError`."""
    tag = value.get("type")
    reader = _READERS.get(cast("str", tag))
    try:
        if reader is not None:
            return reader(value)
        if isinstance(tag, str) and tag:
            return OpaqueBlock(tag, freeze_json(value))
    except (KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ValueError(f"malformed {tag!r} block: {error!r}") from error
    raise ValueError(f"a content block needs a non-empty type, got {tag!r}")


def blocks_from_json(value: Sequence[Mapping[str, Any]]) -> tuple[ContentBlock, ...]:
    """Read a list of blocks, in order."""
    return tuple([block_from_json(item) for item in value])


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"expected text, got {value!r}")
    return value


def _read_image(value: Mapping[str, Any]) -> ImageBlock:
    facts = value["attachment"]
    size = facts.get("originalDimensions")
    return ImageBlock(
        ImageAttachment(
            facts["attachmentId"],
            facts["mediaType"],
            facts["bytes"],
            facts["width"],
            facts["height"],
            facts.get("name"),
            None if size is None else (size["width"], size["height"]),
        ),
        is_offloaded=value.get("offloaded") is True,
    )


_READERS: dict[str, Callable[[Mapping[str, Any]], ContentBlock]] = {
    "text": lambda v: TextBlock(_text(v["text"])),
    "reasoning": lambda v: ReasoningBlock(_text(v["text"])),
    "tool-call": lambda v: ToolCallBlock(_text(v["id"]), _text(v["name"]), _text(v["arguments"])),
    "tool-result": lambda v: ToolResultBlock(
        _text(v["toolCallId"]), blocks_from_json(v["content"]), v.get("isError")
    ),
    "image": _read_image,
}
