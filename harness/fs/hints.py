"""Tell why a text was not found, from the nearest thing that is there."""

import re
from collections.abc import Sequence

_MAX_TEXT_CHARS = 4 * 1024 * 1024
_MAX_COMPARED_LINES = 5_000
_MAX_LINE_CHARS = 200
_SIMILAR = 0.6

_NUMBERED = re.compile(r"^ *\d+: ?", re.MULTILINE)
_ADVICE = "Read the file again and copy the text exactly, whitespace included."


def nearest_hint(text: str, old: str) -> str:
    """Return one or two sentences that lead from a failed match to a good one.

    Both strings have LF line ends. Work is bounded: at most a few thousand lines are compared by
    similarity, and none in a text of more than four million characters.
    """
    if not text:
        return "The file is empty; write it instead."
    without_numbers = _NUMBERED.sub("", old)
    if without_numbers and without_numbers != old and without_numbers in text:
        return "It starts lines with the numbers that reading adds; leave those out."
    if len(text) > _MAX_TEXT_CHARS:
        return _ADVICE
    lines, wanted = text.split("\n"), old.strip("\n").split("\n")
    place = _same_but_for_whitespace(lines, wanted)
    if place is not None:
        return f"{place} the same text with other whitespace. {_ADVICE}"
    return f"{_closest_line(lines, wanted)}{_ADVICE}"


def _same_but_for_whitespace(lines: Sequence[str], wanted: Sequence[str]) -> str | None:
    stripped = ["".join(line.split()) for line in wanted]
    if not any(stripped):
        return None
    width = len(stripped)
    squeezed = ["".join(line.split()) for line in lines]
    first = stripped[0]
    for index in range(len(squeezed) - width + 1):
        if squeezed[index] == first and squeezed[index : index + width] == stripped:
            return (
                f"Lines {index + 1}-{index + width} hold"
                if width > 1
                else (f"Line {index + 1} holds")
            )
    return None


def _closest_line(lines: Sequence[str], wanted: Sequence[str]) -> str:
    from difflib import SequenceMatcher

    matcher = SequenceMatcher(autojunk=False)
    matcher.set_seq2(max((line.strip() for line in wanted), key=len)[:_MAX_LINE_CHARS])
    best, best_ratio = 0, _SIMILAR
    for number, line in enumerate(lines[:_MAX_COMPARED_LINES], start=1):
        matcher.set_seq1(line.strip()[:_MAX_LINE_CHARS])
        if (
            matcher.real_quick_ratio() > best_ratio
            and matcher.quick_ratio() > best_ratio
            and (ratio := matcher.ratio()) > best_ratio
        ):
            best, best_ratio = number, ratio
    if not best:
        return ""
    return f"The closest line is {best}: {lines[best - 1].strip()[:_MAX_LINE_CHARS]!r}. "
