"""Change a text of YAML or JSON to hold another list, and leave everything else as it is."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple, cast

from .document import Format, parse_nodes
from .errors import ConfigFileError
from .node import Node, value_of
from .values import Value
from .yaml_writer import json_text, yaml_text

_COMMENT = re.compile(r"[ \t]+#[^\n]*")


def edited(text: str, wanted: list[Any], *, file: str, format: Format) -> str:
    """Return `text` changed so that it holds `wanted`.

    Only what differs is written anew: comments, order and form of all the rest stay. Where the
    text has a form that cannot be changed in parts, such as an anchor in what changes, the whole
    list is written anew below the comments at its top.

    Raises:
        ConfigFileError: the text cannot be parsed; it is not overwritten then.
    """
    root = parse_nodes(text, file=file, format=format)
    if root is not None and _identical(value_of(root, file), wanted):
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
        node is not None and _identical(value_of(node, file), wanted)
    )


def _identical(one: Value, other: Value) -> bool:
    if isinstance(one, dict) and isinstance(other, Mapping):
        left, right = cast("dict[str, Any]", one), cast("Mapping[str, Any]", other)
        return left.keys() == right.keys() and all(_identical(left[k], right[k]) for k in left)
    if isinstance(one, list) and isinstance(other, list | tuple):
        ones, others = cast("list[Any]", one), cast("list[Any]", other)
        return len(ones) == len(others) and all(map(_identical, ones, others))
    return type(cast("object", one)) is type(cast("object", other)) and bool(one == other)


def _rewritten(text: str, root: Node | None, wanted: list[Any], format: Format) -> str:
    if format == "json":
        return json_text(wanted, indent=2) + "\n"
    head = text if root is None else text[: _line_start(text, root.start)]
    kept = "" if not head.strip() else head if head.endswith("\n") else f"{head}\n"
    written = f"{kept}{yaml_text(wanted)}\n"
    return written.replace("\r\n", "\n").replace("\n", "\r\n") if "\r\n" in text else written


def _spliced(text: str, root: Node | None, wanted: list[Any], format: Format) -> str | None:
    if root is None:
        return None
    if format == "yaml" and not root.items:
        return _filled(text, root, wanted)
    edit = _Edit(text, is_json=format == "json")
    try:
        edit.value(root, wanted, indent=0)
    except _TooOdd:
        return None
    return edit.result()


def _filled(text: str, root: Node, wanted: list[Any]) -> str:
    """Return a text with rows, one below the other, in the place of `[]`; its comment above."""
    comment = _COMMENT.match(text, root.end)
    kept = "" if comment is None else f"{comment[0].strip()}\n"
    end = root.end if comment is None else root.end + len(comment[0].rstrip())
    written = f"{kept}{yaml_text(wanted)}"
    line_end = "\r\n" if "\r\n" in text else "\n"
    return f"{text[: root.start]}{written.replace(chr(10), line_end)}{text[end:]}"


class _TooOdd(Exception):
    """The text has a form that is not changed in parts."""


class _Splice(NamedTuple):
    start: int
    end: int
    text: str


class _Edit:
    def __init__(self, text: str, *, is_json: bool) -> None:
        self._text = text
        self._is_json = is_json
        self._splices: list[_Splice] = []

    def result(self) -> str:
        self._splices.sort(key=lambda one: one[:2])
        text, line_end = self._text, "\r\n" if "\r\n" in self._text else "\n"
        # From the end, so that places stay right; what was noted first at a place comes first.
        for start, end, new in self._splices[::-1]:
            text = f"{text[:start]}{new.replace(chr(10), line_end)}{text[end:]}"
        return text

    def value(self, node: Node, new: Value, *, indent: int, key: Node | None = None) -> None:
        """Change the value of a key, or an item; `indent` is where a block in it would stand."""
        if _identical(value_of(node, None), new):
            return
        if not node.is_fixed:
            if node.members and isinstance(new, dict) and node.members.keys() & new.keys():
                self._mapping(node, cast("dict[str, Any]", new))
                return
            if node.items and new and isinstance(new, list):
                self._list(node, cast("list[Any]", new))
                return
        self._replace(node, new, indent, key)

    def _replace(self, node: Node, new: Value, indent: int, key: Node | None) -> None:
        text = self._text
        is_block = not (self._is_json or node.is_flow) and key is not None and not _is_small(new)
        colon = -1 if key is None else text.find(":", key.end)
        if not is_block or "\n" in text[colon : node.start] or "\n" in text[node.start : node.end]:
            if key is not None and (is_block or "\n" in text[colon : node.start]):
                written = self._block(new, indent) if is_block else f" {self._flow(new)}"
                self._splices.append(_Splice(colon + 1, node.end, written))
                return
            space = " " if node.start and text[node.start - 1] in ":-," else ""
            self._splices.append(_Splice(node.start, node.end, space + self._flow(new)))
            return
        comment = _COMMENT.match(text, node.end)
        end = node.end if comment is None else comment.end()
        kept = "" if comment is None else comment[0]
        self._splices.append(_Splice(colon + 1, end, kept + self._block(new, indent)))

    # -- mappings --------------------------------------------------------------------------------

    def _mapping(self, node: Node, new: dict[str, Any]) -> None:
        members = node.members or {}
        gone = [key for key in members if key not in new]
        added = {key: value for key, value in new.items() if key not in members}
        if node.is_flow and gone:
            self._splices.append(_Splice(node.start, node.end, self._flow(new)))
            return
        first, _ = next(iter(members.values()))
        indent = self._column(first.start)
        for key, (key_node, member) in members.items():
            if key in new:
                inner = indent + 2
                self.value(self._in_flow(member, node), new[key], indent=inner, key=key_node)
        self._remove_members(members, gone)
        _, last = list(members.values())[-1]
        if not added:
            return
        if node.is_flow:
            pairs = (f"{self._flow(key)}: {self._flow(value)}" for key, value in added.items())
            gap = self._gap(list(members.values())[-1][0])
            self._splices.append(_Splice(last.end, last.end, "".join(f",{gap}{p}" for p in pairs)))
            return
        self._insert_after(last, _indented(yaml_text(added), indent))

    def _remove_members(self, members: Mapping[str, tuple[Node, Node]], gone: list[str]) -> None:
        """Take whole lines away; a key on the line of its dash leaves that to the next one."""
        text, order = self._text, list(members)
        for key in gone:
            key_node, member = members[key]
            start = _line_start(text, key_node.start)
            if text[start : key_node.start].strip():
                kept = next((members[k] for k in order if k not in gone), None)
                if kept is None or order[0] != key:
                    raise _TooOdd
                following = members[order[1]][0]
                self._splices.append(_Splice(key_node.start, following.start, ""))
                if order[1] in gone:
                    raise _TooOdd
                continue
            self._splices.append(_Splice(start, self._after_line(member.end), ""))

    # -- lists -----------------------------------------------------------------------------------

    def _list(self, node: Node, new: list[Any]) -> None:
        from difflib import SequenceMatcher

        items = node.items or []
        before = [_identity(value_of(item, None)) for item in items]
        after = [_identity(value) for value in new]
        steps = SequenceMatcher(None, before, after, autojunk=False).get_opcodes()
        if node.is_flow:
            is_simple = all(
                op == "equal" or (op == "insert" and i1 == len(items)) for op, i1, *_ in steps
            )
            if not is_simple:
                self._splices.append(_Splice(node.start, node.end, self._flow_like(node, new)))
                return
        for op, i1, i2, j1, j2 in steps:
            if op == "equal":
                for item, value in zip(items[i1:i2], new[j1:j2], strict=True):
                    indent = self._column(item.start)
                    self.value(self._in_flow(item, node), value, indent=indent)
                continue
            for item in items[i1:i2]:
                dash = self._dash(item)
                start = _line_start(self._text, dash)
                self._splices.append(_Splice(start, self._after_line(max(item.end, dash + 1)), ""))
            if new[j1:j2]:
                self._insert_items(node, i1, new[j1:j2])

    def _insert_items(self, node: Node, at: int, new: list[Any]) -> None:
        items = node.items or []
        if node.is_flow:
            last = items[-1]
            gap = self._gap(last)
            written = "".join(f",{gap}{self._flow_item(value, gap)}" for value in new)
            self._splices.append(_Splice(last.end, last.end, written))
            return
        column = self._column(self._dash(items[0]))
        lines = _indented(yaml_text(new), column)
        if at:
            self._insert_after(items[at - 1], lines)
        else:
            start = _line_start(self._text, self._dash(items[0]))
            self._splices.append(_Splice(start, start, f"{lines}\n"))

    # -- places ----------------------------------------------------------------------------------

    def _dash(self, item: Node) -> int:
        """Return where the dash of a block item stands, at the beginning of its line."""
        before = self._text[: item.start].rstrip(" ")
        dash = len(before) - 1
        if not before.endswith("-") or before[_line_start(before, dash) : dash].strip():
            raise _TooOdd
        return dash

    def _insert_after(self, node: Node, lines: str) -> None:
        """Put lines below the one on which a node ends."""
        at = node.end
        if at and self._text[at - 1] == "\n":  # a text that keeps its empty lines
            self._splices.append(_Splice(at, at, f"{lines}\n"))
            return
        at = self._line_end(at)
        self._splices.append(_Splice(at, at, f"\n{lines}"))

    def _gap(self, node: Node) -> str:
        """Return what stands before a flow member: a space, or a line end and its indentation."""
        start = _line_start(self._text, node.start)
        before = self._text[start : node.start]
        return " " if before.strip() else f"\n{before}"

    def _column(self, index: int) -> int:
        return index - _line_start(self._text, index)

    def _line_end(self, index: int) -> int:
        end = self._text.find("\n", index)
        if end < 0:
            return len(self._text)
        return end - 1 if self._text[end - 1] == "\r" else end

    def _after_line(self, index: int) -> int:
        if index and self._text[index - 1] == "\n":
            return index
        end = self._text.find("\n", index)
        return len(self._text) if end < 0 else end + 1

    # -- writing ---------------------------------------------------------------------------------

    def _in_flow(self, node: Node, parent: Node) -> Node:
        node.is_flow = node.is_flow or parent.is_flow
        return node

    def _flow(self, value: Value) -> str:
        return json_text(value) if self._is_json else yaml_text(value, is_flow=True)

    def _flow_item(self, value: Value, gap: str) -> str:
        if not self._is_json or "\n" not in gap:
            return self._flow(value)
        return json_text(value, indent=2).replace("\n", gap)

    def _flow_like(self, node: Node, new: list[Any]) -> str:
        gap = self._gap(node.items[0]) if node.items else " "
        if "\n" not in gap:
            return self._flow(new)
        outer = gap[:-2] if gap.endswith("  ") else "\n"
        return f"[{','.join(f'{gap}{self._flow_item(value, gap)}' for value in new)}{outer}]"

    def _block(self, value: Value, indent: int) -> str:
        return f"\n{_indented(yaml_text(value), indent)}"


def _is_small(value: Value) -> bool:
    """Return whether a value is written on the line of its key."""
    return not (isinstance(value, dict | list) and cast("Any", value))


def _identity(value: Value) -> Value:
    """Return what makes two versions of an item the same one."""
    if isinstance(value, dict):
        row = cast("dict[str, Any]", value)
        if row.get("id") is not None:
            return ("id", repr(row["id"]), "insert" in row)
        return ("name", repr(row.get("name")), "insert" in row)
    return ("value", repr(value))


def _indented(text: str, columns: int) -> str:
    return "\n".join(f"{' ' * columns}{line}" if line else "" for line in text.split("\n"))


def _line_start(text: str, index: int) -> int:
    return text.rfind("\n", 0, index) + 1
