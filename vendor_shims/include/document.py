"""Files of rows: read them, and say where a value stands."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias, cast

from vendor_shims.expressions import Place
from vendor_shims.unblocked import unblocked

from .errors import ConfigFileError
from .json_reader import read_json
from .node import Mark, Node, mark_of, value_of
from .values import is_group
from .yaml_reader import read_yaml

Row: TypeAlias = dict[str, Any]
"""One row, or one patch: JSON values, and `Expression` nodes among them. Never changed in place."""

Format: TypeAlias = Literal["yaml", "json"]

MAX_BYTES = 8 * 1024 * 1024
_FORMATS: dict[str, Format] = {".yml": "yaml", ".yaml": "yaml", ".json": "json"}


@dataclass(frozen=True, slots=True)
class Document:
    """A list of rows as a file has them.

    Attributes:
        path: the file.
        text: its content, without a byte-order mark.
        rows: what it holds; never changed in place.
        marks: where each value stands; see `place`.
    """

    path: str
    text: str = field(repr=False)
    rows: list[Row]
    marks: Mark = field(repr=False, compare=False)

    def place(self, *path: str | int) -> Place | None:
        """Return where a value begins: `place(2, "config", "port")`; None if there is none."""
        mark = self.marks
        for step in path:
            inner = mark[2] if len(mark) > 2 else None
            if isinstance(inner, dict) and step in inner:
                mark = cast("dict[str, Mark]", inner)[cast("str", step)]
            elif (
                isinstance(inner, list)
                and isinstance(step, int)
                and 0 <= step < len(cast("list[Mark]", inner))
            ):
                mark = cast("list[Mark]", inner)[step]
            else:
                return None
        return Place(self.path, mark[0], mark[1])


def parse_rows(text: str, *, file: str, format: Format = "yaml") -> Document:
    """Return the rows in a text.

    Raises:
        ConfigFileError: it cannot be parsed, or is no list of mappings.
    """
    node = parse_nodes(text, file=file, format=format)
    if node is None:
        raise ConfigFileError("validate", "it is empty; expected a list of rows", file=file)
    if node.items is None:
        found = "a mapping" if node.members is not None else "a single value"
        problem = f"expected a list of rows, got {found}"
        raise ConfigFileError(
            "validate", problem, file=file, place=Place(file, node.line, node.column)
        )
    for number, item in enumerate(node.items, start=1):
        if item.members is None:
            kind = "a list" if item.items is not None else repr(value_of(item, file))
            problem = f"item {number} must be a mapping, got {kind[:80]}"
            place = Place(file, item.line, item.column)
            raise ConfigFileError("validate", problem, file=file, place=place)
    return Document(file, text, value_of(node, file), mark_of(node))


def require_ids(document: Document) -> None:
    """Refuse what cannot be told apart: items that are no rows, ids that are no texts or not new.

    Raises:
        ConfigFileError: there is one, in the list or in a group; says where.
    """
    lines: dict[str, int] = {}
    for path, item in _placed(document.rows):
        problem, at = "a row must be a mapping", path
        if isinstance(item, dict):
            given, at = cast("Row", item).get("id"), (*path, "id")
            if given is None:
                continue
            place = document.place(*at)
            assert place is not None  # it stands there
            if isinstance(given, str) and given not in lines:
                lines[given] = place.line
                continue
            problem = "the id of a row must be a text"
            if isinstance(given, str):
                problem = f"the id {given!r} stands in line {lines[given]} already"
        raise ConfigFileError("validate", problem, file=document.path, place=document.place(*at))


def _placed(
    rows: Sequence[object], *around: str | int
) -> Iterator[tuple[tuple[str | int, ...], object]]:
    """Return each item with its path, those in groups after their group."""
    for index, item in enumerate(rows):
        path = (*around, index)
        yield path, item
        if isinstance(item, dict) and is_group(row := cast("Row", item)):
            yield from _placed(row["config"], *path, "config")


def parse_nodes(text: str, *, file: str, format: Format) -> Node | None:
    """Return the value in a text with the places of everything in it; None for an empty text."""
    return read_json(text, file) if format == "json" else read_yaml(text, file)


def read_rows(path: str) -> Document:
    """Return the rows in a file, whose name says whether it is YAML or JSON.

    Raises:
        ConfigFileError: it does not exist, cannot be read or parsed, or is no list of mappings.
    """
    format = format_of(path)
    return parse_rows(read_text(path), file=path, format=format)


def format_of(path: str) -> Format:
    """Return what the name of a file says about its content.

    Raises:
        ConfigFileError: it is none of `.yml`, `.yaml`, `.json`.
    """
    extension = os.path.splitext(path)[1]
    if extension.lower() not in _FORMATS:
        problem = f'extension "{extension}" not supported; use .yml, .yaml or .json'
        raise ConfigFileError("read", problem, file=path)
    return _FORMATS[extension.lower()]


def read_text(path: str) -> str:
    """Return the text of a file as it is, line ends included, without a byte-order mark.

    Raises:
        ConfigFileError: it does not exist, cannot be read, is too large, or is not UTF-8.
    """
    try:
        with open(path, "rb", opener=unblocked) as file:
            content = file.read(MAX_BYTES + 1)
    except FileNotFoundError as error:
        raise ConfigFileError("read", "no such file", file=path, is_missing=True) from error
    except (OSError, ValueError) as error:
        problem = error.strerror if isinstance(error, OSError) else str(error)
        raise ConfigFileError("read", problem or type(error).__name__, file=path) from error
    if len(content) > MAX_BYTES:
        raise ConfigFileError("read", f"it has more than {MAX_BYTES} bytes", file=path)
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = content[: error.start]
        line, column = before.count(b"\n") + 1, error.start - before.rfind(b"\n")
        problem = "it is not UTF-8; save it with that encoding"
        place = Place(path, line, column)
        raise ConfigFileError("read", problem, file=path, place=place) from error
