"""Apply a literal edit to a text: the rules that every backend shares."""

from attrs import frozen

from harness.fs.errors import FsArgumentError, FsError
from harness.fs.hints import nearest_hint
from harness.fs.line_ends import LineEndMap, as_lf, line_end_of
from harness.fs.types import TextEdit

_LISTED_LINES = 8


@frozen
class EditedText:
    """Hold the text after an edit and how many places changed."""

    text: str
    replacements: int


def apply_edit(
    text: str, edit: TextEdit, *, display_path: str, max_chars: int | None = None
) -> EditedText:
    r"""Replace `edit.old` by `edit.new`, left to right and without overlaps.

    Line ends match as LF on both sides; inserted lines end as the file's lines do, and every
    character outside the replaced spans stays as it was. Neither string is a pattern.

    Raises:
        FsArgumentError: `old` is empty.
        FsError: `FS_EDIT_NOT_FOUND`, `FS_AMBIGUOUS_EDIT` without `replace_all`, `FS_TOO_LARGE`
            when the result would have more than `max_chars` characters.
    """
    if not edit.old:
        raise FsArgumentError("the text to replace must not be empty")
    lines = as_lf(text)
    old = edit.old.replace("\r\n", "\n")
    replacements = lines.text.count(old)
    if replacements == 0:
        raise FsError(
            f"the text to replace was not found in '{display_path}'. "
            f"{nearest_hint(lines.text, old)}",
            code="FS_EDIT_NOT_FOUND",
        )
    if replacements > 1 and not edit.replace_all:
        raise FsError(
            f"the text to replace occurs {replacements} times in '{display_path}' "
            f"({_line_list(lines.text, old, replacements)}). Add surrounding lines until it is "
            "unique, or ask for all occurrences to be replaced.",
            code="FS_AMBIGUOUS_EDIT",
        )
    new = edit.new.replace("\r\n", "\n").replace("\n", line_end_of(text))
    if max_chars is not None and len(text) + replacements * (len(new) - len(old)) > max_chars:
        raise FsError(
            f"the edit would make '{display_path}' larger than {max_chars} characters.",
            code="FS_TOO_LARGE",
        )
    return EditedText(_spliced(text, lines, old, new), replacements)


def _spliced(text: str, lines: LineEndMap, old: str, new: str) -> str:
    if not lines.crlf_at:
        return text.replace(old, new)
    pieces: list[str] = []
    kept_from = 0
    start = lines.text.find(old)
    while start >= 0:
        end = start + len(old)
        pieces += (text[kept_from : lines.original(start)], new)
        kept_from = lines.original(end)
        start = lines.text.find(old, end)
    pieces.append(text[kept_from:])
    return "".join(pieces)


def _line_list(text: str, old: str, occurrences: int) -> str:
    numbers: list[str] = []
    line, scanned, start = 1, 0, text.find(old)
    while start >= 0 and len(numbers) < _LISTED_LINES:
        line += text.count("\n", scanned, start)
        numbers.append(str(line))
        scanned, start = start, text.find(old, start + len(old))
    more = ", …" if occurrences > len(numbers) else ""
    return f"starting at lines {', '.join(numbers)}{more}"
