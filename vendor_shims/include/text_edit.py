"""Change a text of YAML or JSON to hold another list, and leave everything else as it is."""

from __future__ import annotations

import re
from typing import Any

from .document import Format, parse_nodes
from .errors import ConfigFileError
from .node import Node, value_of
from .node_edit import NodeEdit, TooOdd
from .splices import line_end_of, line_start
from .values import is_identical, unwritable
from .yaml_writer import json_text, yaml_text

_REST_OF_LINE = re.compile(r"[ \t]*(#[^\r\n]*)?")


def edited(text: str, wanted: list[Any], *, file: str, format: Format) -> str:
    """Return `text` changed so that it holds `wanted`.

    Only what differs is written anew: comments, order and form of all the rest stay. Where the
    text has a form that cannot be changed in parts, such as an anchor in what changes, the whole
    list is written anew below the comments at its top.

    Raises:
        ConfigFileError: the text cannot be parsed, or no text can hold what is wanted.
    """
    problem = unwritable(wanted)
    if problem is not None:
        raise ConfigFileError("write", f"no file can hold {problem}", file=file)
    root = parse_nodes(text, file=file, format=format)
    if root is not None and is_identical(value_of(root, file), wanted):
        return text
    for attempt in (_spliced, _rewritten):
        result = attempt(text, root, wanted, format)
        if result is not None and _holds(result, wanted, file, format):
            return result
    raise ConfigFileError("write", "the new content cannot be written in this format", file=file)


def _holds(text: str, wanted: list[Any], file: str, format: Format) -> bool:
    try:
        node = parse_nodes(text, file=file, format=format)
    except ConfigFileError:
        return False
    return (node is None and wanted == []) or (
        node is not None and is_identical(value_of(node, file), wanted)
    )


def _rewritten(text: str, root: Node | None, wanted: list[Any], format: Format) -> str:
    if format == "json":
        return json_text(wanted, indent=2) + "\n"
    head = text if root is None else text[: line_start(text, root.start)]
    kept = "" if not head.strip() else head if head.endswith("\n") else f"{head}\n"
    written = f"{kept}{yaml_text(wanted)}\n"
    return written.replace("\r\n", "\n").replace("\n", line_end_of(text))


def _spliced(text: str, root: Node | None, wanted: list[Any], format: Format) -> str | None:
    if root is None:
        return None
    if format == "yaml" and not root.items:
        return _filled(text, root, wanted)
    edit = NodeEdit(text, is_json=format == "json")
    try:
        edit.value(root, wanted, indent=0)
    except TooOdd:
        return None
    return edit.result()


def _filled(text: str, root: Node, wanted: list[Any]) -> str:
    """Return a text with rows, one below the other, in the place of `[]`; its comments above."""
    rest = _REST_OF_LINE.match(text, root.end)
    assert rest is not None  # it matches nothing, too
    lines = [line.strip() for line in text[root.start + 1 : root.end - 1].split("\n")]
    comments = [line for line in (*lines, rest[1]) if line]
    written = "\n".join((*comments, yaml_text(wanted))).replace("\n", line_end_of(text))
    return f"{text[: root.start]}{written}{text[rest.end() :]}"
