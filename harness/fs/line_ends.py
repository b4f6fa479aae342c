"""Match text by its lines whatever ends them, without touching what is not matched."""

import re
from array import array
from bisect import bisect_left
from collections.abc import Sequence
from itertools import count

from attrs import frozen

_STYLE_SAMPLE_CHARS = 4096


@frozen
class LineEndMap:
    """Hold a text with CRLF written as LF, and the way back to the original positions.

    `crlf_at` lists, in ascending order, the positions in `text` of those LF that were CRLF.
    """

    text: str
    crlf_at: Sequence[int]

    def original(self, position: int) -> int:
        """Return where the character at `position` of the LF text starts in the original."""
        return position + bisect_left(self.crlf_at, position)


def as_lf(text: str) -> LineEndMap:
    """Write CRLF as LF; a lone CR is an ordinary character."""
    if "\r\n" not in text:
        return LineEndMap(text, ())
    found = zip(re.finditer("\r\n", text), count(), strict=False)
    crlf_at = array("q", (match.start() - earlier for match, earlier in found))
    return LineEndMap(text.replace("\r\n", "\n"), crlf_at)


def line_end_of(text: str) -> str:
    r"""Return `\r\n` when it outnumbers the bare LF near the start of the text, else `\n`.

    The first 4096 characters decide, or the whole text when they hold no line end.
    """
    sample = text[:_STYLE_SAMPLE_CHARS]
    if "\n" not in sample:
        sample = text
    crlf = sample.count("\r\n")
    return "\r\n" if crlf > sample.count("\n") - crlf else "\n"
