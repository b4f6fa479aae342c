"""Keep what files parse to, so that shipped ones need no YAML parser at the next start."""

from __future__ import annotations

import os
from typing import Any, cast

from vendor_shims.expressions import Expression, Place

from .document import Document, Format, Row, parse_rows
from .errors import ConfigFileError
from .json_reader import read_json
from .node import Mark, value_of
from .values import Value
from .yaml_writer import json_text

_VERSION = 1


class ParsedCache:
    """A folder with one file for each content that was parsed.

    It only saves time: entries that cannot be read or written, or are not what they should be,
    count as missing, and the folder may be deleted at any time.
    """

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def parse(self, text: str, *, file: str, format: Format) -> Document:
        """Return the rows in a text, as `parse_rows` does, from the cache if it has them."""
        entry = self._entry(text, format)
        found = _read(entry, text, file)
        if found is not None:
            return found
        document = parse_rows(text, file=file, format=format)
        _write(entry, document)
        return document

    def _entry(self, text: str, format: Format) -> str:
        from hashlib import sha256

        key = sha256(f"{_VERSION}\n{format}\n{text}".encode("utf-8", "surrogatepass"))
        return os.path.join(self.folder, f"{key.hexdigest()}.json")


def _read(entry: str, text: str, file: str) -> Document | None:
    try:
        with open(entry, encoding="utf-8") as cached:
            node = read_json(cached.read(), entry)
        if node is None:
            return None
        kept = value_of(node, None)
        rows, marks = kept["rows"], kept["marks"]
        return Document(file, text, cast("list[Row]", _placed(rows, marks, file)), marks)
    except (ConfigFileError, OSError, ValueError, LookupError, TypeError):
        return None  # unreadable, or not what `_write` writes


def _write(entry: str, document: Document) -> None:
    content = json_text({"rows": document.rows, "marks": document.marks})
    try:
        node = read_json(content, entry)
        if node is None or value_of(node, None)["rows"] != document.rows:
            return  # a mapping that JSON would read as an expression
        os.makedirs(os.path.dirname(entry), exist_ok=True)
        draft = f"{entry}.{os.getpid()}.tmp"
        with open(draft, "w", encoding="utf-8") as file:
            file.write(content)
        os.replace(draft, entry)
    except (ConfigFileError, OSError):
        return  # the next start parses again


def _placed(value: Value, mark: Mark, file: str) -> Value:
    """Return a value with each expression at its place, having checked that both fit together.

    Raises:
        ValueError, LookupError, TypeError: they do not.
    """
    place = Place(file, mark[0], mark[1])
    if not (isinstance(mark[0], int) and isinstance(mark[1], int)):
        raise TypeError("a mark starts with line and column")
    if isinstance(value, Expression):
        return Expression(value.source, value.tag, place)
    if isinstance(value, list):
        pairs = zip(cast("list[Any]", value), mark[2], strict=True)
        return [_placed(one, inner, file) for one, inner in pairs]
    if isinstance(value, dict):
        members = cast("dict[str, Any]", value)
        if members.keys() != mark[2].keys():
            raise ValueError("a mapping has a mark for each key")
        return {key: _placed(one, mark[2][key], file) for key, one in members.items()}
    return value
