"""Look for images in content, and replace them for models that take text only."""

from collections.abc import Iterable, Sequence

from attrs import evolve

from harness.llm.blocks import ContentBlock, ImageBlock, TextBlock, ToolResultBlock
from harness.llm.message import Message


def content_has_image(blocks: Iterable[ContentBlock]) -> bool:
    """Tell whether an image is among the blocks or nested in a tool result."""
    return any(
        isinstance(block, ImageBlock)
        or (isinstance(block, ToolResultBlock) and content_has_image(block.content))
        for block in blocks
    )


def without_images(message: Message) -> Message:
    """Return the message with each image replaced by a text that names it; the id stays."""
    if not content_has_image(message.content):
        return message
    return evolve(message, content=_project(message.content))


def _project(blocks: Sequence[ContentBlock]) -> tuple[ContentBlock, ...]:
    return tuple(_placeholder(block) for block in blocks)


def _placeholder(block: ContentBlock) -> ContentBlock:
    if isinstance(block, ImageBlock):
        short = block.attachment.attachment_id[: len("sha256:") + 8]
        return TextBlock(f"[picture not shown: text-only model; {short}]")
    if isinstance(block, ToolResultBlock):
        return evolve(block, content=_project(block.content))
    return block
