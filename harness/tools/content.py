"""Bring what tools and listeners return as content into the one form that results hold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast, get_args

from harness.llm import ContentBlock, TextBlock, block_from_json
from harness.wire import sanitize_text

_BLOCK_TYPES: tuple[type[Any], ...] = get_args(ContentBlock)


def as_content(rendering: object) -> tuple[ContentBlock, ...]:
    """Return content blocks: a string becomes one text block, JSON blocks are read.

    Lone surrogates and NUL in texts are replaced, so that every store and provider takes them.

    Raises:
        TypeError: anything but text, a block, or a sequence of blocks.
        ValueError: a JSON block of a known type with wrong members.
    """
    if isinstance(rendering, str):
        return (TextBlock(_clean(rendering)),)
    if isinstance(rendering, _BLOCK_TYPES):
        return (_as_block(rendering),)
    if isinstance(rendering, Sequence) and not isinstance(rendering, bytes | bytearray):
        return tuple([_as_block(item) for item in cast("Sequence[object]", rendering)])
    raise TypeError(f"expected text or content blocks, got {type(rendering).__name__}")


def _as_block(item: object) -> ContentBlock:
    if isinstance(item, Mapping):
        item = block_from_json(cast("Mapping[str, Any]", item))
    if isinstance(item, TextBlock):
        text = _clean(item.text)
        return item if text is item.text else TextBlock(text)
    if isinstance(item, _BLOCK_TYPES):
        return cast("ContentBlock", item)
    raise TypeError(f"expected a content block, got {type(item).__name__}")


def _clean(text: str) -> str:
    return text if text.isascii() and "\0" not in text else sanitize_text(text)
