"""Wrap injected context so that a model can tell whose words it reads."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from harness.llm import ContentBlock, TextBlock

_CLOSING = re.compile(r"</(?=context)", re.IGNORECASE)
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]+")


def wrap_content(
    content: Sequence[ContentBlock], source: Mapping[str, Any]
) -> tuple[ContentBlock, ...]:
    """Return `content` inside `<context source="…">`; adjacent text becomes one block.

    Text inside cannot close the envelope: its `</context` is written `&lt;/context`.
    """
    wrapped: list[ContentBlock] = []
    opening = f'<context source="{_attribute(_label(source))}">'
    texts: list[str] = []
    for block in content:
        if isinstance(block, TextBlock):
            texts.append(block.text)
            continue
        text = opening + _inner(texts)
        if text:
            wrapped.append(TextBlock(text))
        wrapped.append(block)
        opening, texts = "", []
    wrapped.append(TextBlock(opening + _inner(texts) + "</context>"))
    return tuple(wrapped)


def _inner(texts: list[str]) -> str:
    """Join before escaping: a closing tag may be spread over several blocks."""
    return _CLOSING.sub("&lt;/", "".join(texts))


def _label(source: Mapping[str, Any]) -> str:
    if source["kind"] == "plugin":
        return str(source.get("plugin", "plugin"))
    return str(source["kind"])


def _attribute(text: str) -> str:
    text = _CONTROL.sub(" ", text)
    for character, entity in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ('"', "&quot;")):
        text = text.replace(character, entity)
    return text
