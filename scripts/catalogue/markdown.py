"""Write Markdown: tables, code and page heads."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def page(title: str, *parts: str) -> str:
    """Join a page: its title, then its parts with one empty line between them."""
    return "\n\n".join([f"# {title}", *(part.strip("\n") for part in parts if part)]) + "\n"


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Write a table; a cell may hold Markdown, its bars and line ends are taken care of."""
    lines = [_row(heads), "|" + "---|" * len(heads)]
    lines += [_row([_cell(text) for text in row]) for row in rows]
    return "\n".join(lines)


def code(text: str) -> str:
    """Write a text as inline code, whatever backticks it holds; nothing for no text."""
    if not text:
        return ""
    ticks = "``" if "`" in text else "`"
    pad = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{ticks}{pad}{text}{pad}{ticks}"


def codes(texts: Iterable[str], *, nothing: str = "none") -> str:
    """Write texts as inline code with commas between them."""
    return ", ".join(code(text) for text in texts) or nothing


def block(language: str, text: str) -> str:
    """Write a fenced block that no backtick of the text can close."""
    longest = max((len(run) for run in _tick_runs(text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text.rstrip()}\n{fence}"


def sentence(text: str) -> str:
    """Return the first paragraph of a text on one line."""
    return " ".join(text.strip().split("\n\n", 1)[0].split())


def first_line(doc: str) -> str:
    """Return the first line of a docstring."""
    return doc.strip().split("\n", 1)[0].strip()


def _tick_runs(text: str) -> Iterable[str]:
    run = ""
    for char in text:
        if char == "`":
            run += char
            continue
        if run:
            yield run
        run = ""
    if run:
        yield run


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _cell(text: str) -> str:
    return " ".join(text.replace("|", "\\|").split()) or " "
