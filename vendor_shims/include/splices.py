"""Pieces of a text that are replaced together, and the places in it that lines give."""

from __future__ import annotations

from typing import NamedTuple


class _Splice(NamedTuple):
    start: int
    end: int
    new: str


class Splices:
    """A text and what will stand in it; places are indexes into the text as it was.

    Replacements may be noted in any order. Those at one place come in the order in which they are
    noted, and what two of them take away is taken away once.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self._splices: list[_Splice] = []

    def replace(self, start: int, end: int, new: str) -> None:
        """Put something in the place of what stands between two places; lines end with LF in it."""
        self._splices.append(_Splice(start, end, new))

    def insert_below(self, index: int, lines: str) -> None:
        """Put lines below the one that ends at or after a place."""
        at = self.after_line(index)
        is_whole = self.text[at - 1] == "\n"
        self.replace(at, at, f"{lines}\n" if is_whole else f"\n{lines}")

    def result(self) -> str:
        """Return the text with everything replaced, and with the line ends that it had."""
        line_end = line_end_of(self.text)
        parts: list[str] = []
        at = 0
        for start, end, new in sorted(self._splices, key=lambda one: one[:2]):
            parts += (self.text[at:start], new.replace("\n", line_end))
            at = max(at, end)
        return "".join((*parts, self.text[at:]))

    def is_first_on_line(self, index: int) -> bool:
        """Return whether only spaces stand before a place."""
        return not self.text[line_start(self.text, index) : index].strip()

    def column(self, index: int) -> int:
        """Return how many characters stand before a place on its line."""
        return index - line_start(self.text, index)

    def after_line(self, index: int) -> int:
        """Return where the line after the one that ends at or after a place begins."""
        if self.text[index - 1] == "\n":  # of a text that keeps its empty lines
            return index
        end = self.text.find("\n", index)
        return len(self.text) if end < 0 else end + 1

    def gap(self, index: int) -> str:
        """Return what stands before a member in brackets: a space, or a line end and spaces."""
        before = self.text[line_start(self.text, index) : index]
        return " " if before.strip() else f"\n{before}"


def line_start(text: str, index: int) -> int:
    """Return where the line of a place begins."""
    return text.rfind("\n", 0, index) + 1


def line_end_of(text: str) -> str:
    """Return what ends the lines of a text."""
    return "\r\n" if "\r\n" in text else "\n"
