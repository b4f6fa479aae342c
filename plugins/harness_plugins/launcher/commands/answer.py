"""Print what a command found: one JSON document for programs, lines for people."""

from collections.abc import Iterable, Mapping, Sequence

from harness_plugins.launcher.commands.command import Surroundings
from harness_plugins.launcher.descriptors import STDOUT, write_all


def answer(surroundings: Surroundings, document: Mapping[str, object], text: str) -> int:
    """Print the document or the text, whichever was asked for; return 0.

    Raises:
        OSError: standard output takes nothing.
    """
    if surroundings.is_json:
        from harness.wire import dumps

        write_all(STDOUT, dumps(dict(document)) + b"\n")
    else:
        write_all(STDOUT, text.encode("utf-8", "replace"))
    return 0


def rows(cells: Iterable[Sequence[str]]) -> str:
    """Return lines whose columns stand below each other; the last column is not padded."""
    table = [[_one_line(cell) for cell in row] for row in cells]
    if not table:
        return ""
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    widths[-1] = 0
    lines = (
        "  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True))
        for row in table
    )
    return "".join(f"{line.rstrip()}\n" for line in lines)


def _one_line(text: str) -> str:
    """Return text without line ends and control characters; it may come from a file."""
    flat = " ".join(text.split())
    return "".join(character if character.isprintable() else "\ufffd" for character in flat)
