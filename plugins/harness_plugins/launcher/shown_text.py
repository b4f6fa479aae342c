"""Make text of models, tools and files safe to show on a terminal."""

import os
from typing import Final
from unicodedata import east_asian_width

from harness_plugins.launcher.descriptors import STDERR

_CONTROLS = dict.fromkeys((*range(0x20), *range(0x7F, 0xA0)), "\ufffd")
_KEPT: Final = _CONTROLS | {0x09: "\t", 0x0A: "\n", 0x0D: None}
_USUAL_COLUMNS = 80
DIM, PLAIN = "\x1b[2m", "\x1b[0m"


def printable(text: str) -> str:
    """Return text that cannot drive a terminal: tabs and line ends stay, other controls go."""
    return text.translate(_KEPT).encode("utf-8", "replace").decode()


def one_line(text: str) -> str:
    """Return text without line ends, runs of blanks drawn together."""
    return printable(" ".join(text.split()))


def clipped(line: str, width: int) -> str:
    """Return the beginning of a line that fits into `width` columns, with `…` if it is cut."""
    if sum(map(_width, line)) <= width:
        return line
    kept, room = 0, width - 1
    for character in line:
        room -= _width(character)
        if room < 0:
            break
        kept += 1
    return line[:kept] + "…"


def columns() -> int:
    """Return the width of the terminal; `COLUMNS` overrides it, 80 when nobody knows."""
    given = os.environ.get("COLUMNS", "")
    if given.isascii() and given.isdigit() and int(given):
        return int(given)
    try:
        return os.get_terminal_size(STDERR).columns or _USUAL_COLUMNS
    except OSError:
        return _USUAL_COLUMNS


def may_use_colour() -> bool:
    """Return whether the user's environment allows styled text."""
    return not os.environ.get("NO_COLOR") and os.environ.get("TERM", "dumb") != "dumb"


def _width(character: str) -> int:
    return 2 if east_asian_width(character) in "WF" else 1
