"""Turn the Markdown that code hosting draws into the one that the site generator reads.

The generator wants nothing but a language and options behind the fence of a block, and an empty
line before a list. Links are rewritten by whoever asks.
"""

from __future__ import annotations

import re
from collections.abc import Callable

_FENCE = re.compile(r"^(?P<indent> *)(?P<ticks>`{3,}|~{3,})(?P<info>.*)$")
_ITEM = re.compile(r"^(?:[-*+]|\d+\.) ")
_INDENTED = re.compile(r"^\s+\S")
_LINK = re.compile(r"(?P<head>\[(?:[^\[\]`]|`[^`]*`)*\]\()(?P<target>[^()\s]+)\)")
_CODE = re.compile(r"(`+)(?:(?!\1).)*\1")


def translate(text: str, relink: Callable[[str], str]) -> str:
    """Return a document in the dialect of the generator; `relink` gives the new relative links."""
    lines: list[str] = []
    ticks = ""
    for line in text.split("\n"):
        fence = _FENCE.match(line)
        if ticks:
            if fence and fence["ticks"].startswith(ticks) and not fence["info"].strip():
                ticks = ""
            lines.append(line)
        elif fence:
            ticks = fence["ticks"]
            lines.append(_opening(fence))
        else:
            if _ITEM.match(line) and lines and _ends_paragraph(lines[-1]):
                lines.append("")
            lines.append(_with_links(line, relink))
    return "\n".join(lines)


def _opening(fence: re.Match[str]) -> str:
    """Keep the language of a fence; the name of a file that is saved becomes its title."""
    language, _, mark = fence["info"].strip().partition(" ")
    title = f' title="{mark.removeprefix("file:").strip()}"' if mark.startswith("file:") else ""
    return f"{fence['indent']}{fence['ticks']}{language}{title}"


def _ends_paragraph(line: str) -> bool:
    return bool(line.strip()) and not _ITEM.match(line) and not _INDENTED.match(line)


def _with_links(line: str, relink: Callable[[str], str]) -> str:
    spans = [code.span() for code in _CODE.finditer(line)]

    def rewrite(link: re.Match[str]) -> str:
        target = link["target"]
        is_code = any(start <= link.start() < end for start, end in spans)
        if is_code or re.match(r"[a-z]+:", target):
            return link[0]
        return f"{link['head']}{relink(target)})"

    return _LINK.sub(rewrite, line)
