"""Read what the user wants from plain words."""

import re
from collections.abc import Callable
from typing import Literal, TypeAlias

from attrs import frozen

Kind: TypeAlias = Literal[
    "run", "write", "read", "find", "list", "summarize", "todo", "plan", "ask", "help"
]


@frozen
class Intent:
    """Name one thing the guide can do, with its subject: a command, a path or a text."""

    kind: Kind
    subject: str = ""
    text: str = ""


_POLITE = r"^\s*(?:please\s+|can you\s+|could you\s+)?"
_PATH = r"(`[^`\n]+`|\"[^\"\n]+\"|'[^'\n]+'|\S*[./]\S*|\S+(?=\s*$))"
"""Something quoted, a word with a dot or a slash, or the last word."""
_FENCE = r"```(?:bash|sh|shell|console|zsh)\s*\n(.*?)```"
_FLAGS = re.DOTALL | re.IGNORECASE
_Build: TypeAlias = Callable[[re.Match[str]], Intent]

# Patterns are compiled when the guide is asked for the first time, which most runs never do.
_RULES: tuple[tuple[str, _Build], ...] = (
    (
        _POLITE + r"(?:run|execute)(?:\s+the\s+command)?[\s:]+(\S.*)$",
        lambda m: Intent("run", _unquote(m[1])),
    ),
    (
        _POLITE + r"write\s+([^\s:]+)\s*:[ \t]?\n?(.*)$",
        lambda m: Intent("write", _unquote(m[1]), m[2]),
    ),
    (
        _POLITE + r"(?:read|show|open|cat)\s+(?:me\s+)?(?:the\s+)?(?:file\s+)?" + _PATH,
        lambda m: Intent("read", _unquote(m[1].rstrip("?!,;"))),
    ),
    (
        _POLITE + r"(?:find|search|grep)(?:\s+for)?[\s:]+([^\n]+)",
        lambda m: Intent("find", _unquote(m[1])),
    ),
    (r"\bsummari[sz]e|\bthis repository\b", lambda _: Intent("summarize")),
    (r"\btodo\b", lambda _: Intent("todo")),
    (r"\blist\b|\bls\b|\bwhat files\b", lambda _: Intent("list")),
    (r"\bplan\b", lambda _: Intent("plan")),
    (r"\bask\b", lambda _: Intent("ask")),
)


def read_intent(text: str) -> Intent:
    """Return the first thing that the text asks for; `help` when nothing is recognised.

    A fenced shell block counts as a command to run wherever it stands.
    """
    fence = re.search(_FENCE, text, _FLAGS)
    if fence is not None and fence[1].strip():
        return Intent("run", fence[1].strip())
    for pattern, build in _RULES:
        match = re.search(pattern, text, _FLAGS)
        if match is not None:
            return build(match)
    return Intent("help")


def _unquote(text: str) -> str:
    text = text.strip()
    for quote in ("`", '"', "'"):
        if len(text) > 2 and text[0] == text[-1] == quote and quote not in text[1:-1]:
            return text[1:-1].strip()
    return text
