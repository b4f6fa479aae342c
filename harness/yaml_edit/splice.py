"""Cut new values into the text of a document, at the places that its nodes know.

What a cut yields is parsed again and compared before anybody uses it, so the rules here may trust
that a text is written in a usual way.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypeAlias, cast

from yaml.nodes import CollectionNode, MappingNode, Node, ScalarNode

from harness.yaml_edit.values import block, inline, is_section

Entry: TypeAlias = tuple[Node, Node]


class _Found(NamedTuple):
    """Say how far a path leads: the mapping at its end, and the entry of the last key there."""

    mapping: MappingNode
    entry: Entry | None
    depth: int
    """How many keys of the path are behind the mapping; the next one is `entry`'s."""


class Splicer:
    """Change one text; `root` is None for a document without content."""

    def __init__(self, text: str, root: Node | None, aliases: set[int]) -> None:
        self._text = text
        self._root = root if isinstance(root, MappingNode) else None
        self._aliases = aliases
        self._newline = "\r\n" if "\r\n" in text else "\n"

    def place(self, path: Sequence[str]) -> tuple[int, int]:
        """Return line and column of the deepest existing key of a path; zeros without any."""
        place, node = (0, 0), self._root
        for key in path:
            entry = None if node is None else _entry(node, key)
            if entry is None:
                break
            place = (entry[0].start_mark.line + 1, entry[0].start_mark.column + 1)
            node = entry[1] if isinstance(entry[1], MappingNode) else None
        return place

    def set(self, path: Sequence[str], value: object) -> str | None:
        """Return the text with a value set; None when it cannot be done in place."""
        if self._root is None:
            return self._appended(_nested(path, value))
        found = self._find(path)
        if found is None:
            return None
        rest = path[found.depth :]
        if found.entry is not None:
            return self._replaced(found, _nested_value(rest[1:], value))
        new = _nested(rest, value)
        entries = _entries(found.mapping)
        if not entries:
            return self._filled(found.mapping, new, is_nested=found.depth > 0)
        if found.mapping.flow_style:
            at = self._end(entries[-1][1])
            return self._cut(at, at, ", " + inline(new)[1:-1])
        return self._inserted(found.mapping, entries[-1][1], new)

    def unset(self, path: Sequence[str]) -> str | None:
        """Return the text without an entry that exists; None when it cannot be done in place."""
        found = self._find(path)
        if found is None or found.entry is None or found.depth != len(path) - 1:
            return None
        entries = _entries(found.mapping)
        index = entries.index(found.entry)
        key, value = found.entry
        if len(entries) == 1 and found.depth > 0:
            parent = self._find(path[:-1])
            return None if parent is None else self._replaced(parent, {})
        if found.mapping.flow_style:
            start = key.start_mark.index
            if index + 1 < len(entries):
                return self._cut(start, entries[index + 1][0].start_mark.index, "")
            if index:
                start = self._end(entries[index - 1][1])
            return self._cut(start, self._end(value), "")
        line_start = self._text.rfind("\n", 0, key.start_mark.index) + 1
        if self._text[line_start : key.start_mark.index].strip():
            return None
        return self._cut(line_start, self._next_line(value), "")

    def _find(self, path: Sequence[str]) -> _Found | None:
        """Follow a path as far as mappings lead; None when the way goes through an alias."""
        node = self._root
        assert node is not None
        for depth, key in enumerate(path):
            entry = _entry(node, key)
            is_last = depth == len(path) - 1
            if entry is None or is_last or not isinstance(entry[1], MappingNode):
                return _Found(node, entry, depth)
            node = entry[1]
            if id(node) in self._aliases:
                return None
        raise AssertionError("a path has at least one key")  # pragma: no cover - callers see to it

    def _appended(self, new: Mapping[str, object]) -> str:
        text = self._text
        if text and not text.endswith("\n"):
            text += self._newline
        return text + self._newline.join(block(new, 0)) + self._newline

    def _replaced(self, found: _Found, value: object) -> str | None:
        """Put another value behind an existing key."""
        assert found.entry is not None
        key, old = found.entry
        end = self._end(old)
        if found.mapping.flow_style:
            start = old.start_mark.index
            return self._cut(start, end, self._spaced(start, inline(value)))
        if _is_block(old) or is_section(value):
            start = self._text.find(":", key.end_mark.index) + 1
            return self._cut(start, end, self._behind_colon(key, value))
        start = old.start_mark.index
        return self._cut(start, end, self._spaced(start, inline(value)))

    def _behind_colon(self, key: Node, value: object) -> str:
        if is_section(value):
            lines = block(value, key.start_mark.column + 2)
            return "".join(self._newline + line for line in lines)
        return " " + inline(value)

    def _filled(
        self, mapping: MappingNode, new: Mapping[str, object], *, is_nested: bool
    ) -> str | None:
        """Put the first entries into an empty mapping, which can only be written `{}`."""
        start, end = mapping.start_mark.index, mapping.end_mark.index
        if is_nested:
            return self._cut(start, end, inline(new))
        return self._cut(start, end, self._newline.join(block(new, 0)))

    def _inserted(self, mapping: MappingNode, last: Node, new: Mapping[str, object]) -> str:
        """Put lines behind the last entry of a mapping in block style."""
        indent = _entries(mapping)[0][0].start_mark.column
        at = self._next_line(last)
        lines = "".join(line + self._newline for line in block(new, indent))
        if at and self._text[at - 1] != "\n":
            lines = self._newline + lines
        return self._cut(at, at, lines)

    def _end(self, node: Node) -> int:
        """Return where the content of a node ends, before blanks and comments behind it."""
        if isinstance(node, CollectionNode) and not node.flow_style:
            last = cast("list[Entry | Node]", node.value)[-1]
            return self._end(last[1] if isinstance(last, tuple) else last)
        end = node.end_mark.index
        if _is_block_scalar(node):
            return len(self._text[:end].rstrip())
        return end

    def _next_line(self, node: Node) -> int:
        """Return where the line behind a node begins, or the end of the text."""
        last = node
        while isinstance(last, CollectionNode) and not last.flow_style:
            child = cast("list[Entry | Node]", last.value)[-1]
            last = child[1] if isinstance(child, tuple) else child
        if _is_block_scalar(last):
            return last.end_mark.index
        at = self._text.find("\n", self._end(node))
        return len(self._text) if at < 0 else at + 1

    def _spaced(self, at: int, text: str) -> str:
        """Return text with a blank before it when it would touch a colon."""
        return f" {text}" if self._text[at - 1 : at] == ":" else text

    def _cut(self, start: int, end: int, new: str) -> str:
        return self._text[:start] + new + self._text[end:]


def _entries(mapping: MappingNode) -> list[Entry]:
    return cast("list[Entry]", mapping.value)


def _entry(mapping: MappingNode, key: str) -> Entry | None:
    for entry in _entries(mapping):
        if entry[0].value == key:
            return entry
    return None


def _is_block(node: Node) -> bool:
    """Return whether a value stands in lines of its own below its key."""
    return isinstance(node, CollectionNode) and not node.flow_style


def _is_block_scalar(node: Node) -> bool:
    return isinstance(node, ScalarNode) and node.style in ("|", ">")


def _nested(path: Sequence[str], value: object) -> Mapping[str, object]:
    return {path[0]: _nested_value(path[1:], value)}


def _nested_value(path: Sequence[str], value: object) -> object:
    for key in reversed(path):
        value = {key: value}
    return value
