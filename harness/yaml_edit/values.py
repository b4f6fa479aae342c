"""Turn nodes into plain JSON values and values into YAML text, after YAML 1.2's core schema.

`no`, `on` and dates stay text, as they do for every reader of the shared files.
"""

import math
import re
from collections.abc import Mapping
from typing import Any, Final, TypeGuard, cast

from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from harness.wire import dumps_text
from harness.yaml_edit.errors import YamlSyntaxError

MAX_VALUES = 100_000
_PREFIX = "tag:yaml.org,2002:"
_NULLS = frozenset(("", "~", "null", "Null", "NULL"))
_BOOLS: Final = {"true": True, "True": True, "TRUE": True, "false": False, "False": False,
                 "FALSE": False}  # fmt: skip
_INTEGER = re.compile(r"[-+]?[0-9]{1,400}|0o[0-7]{1,400}|0x[0-9a-fA-F]{1,400}")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_PLAIN = re.compile(r"[A-Za-z_/][A-Za-z0-9_./@-]*")
_MEANING_ELSEWHERE = frozenset(("y", "n", "yes", "no", "on", "off", "true", "false", "null"))


class Constructor:
    """Build the value of a tree; counts what it builds, so that aliases cannot multiply."""

    def __init__(self, text: str, file: str) -> None:
        self._text = text
        self._file = file
        self._n_values = 0
        self._depth = 0

    def value(self, node: Node) -> Any:  # noqa: ANN401 - a JSON value
        """Return the JSON value of a node.

        Raises:
            YamlSyntaxError: a tag, a repeated key, a number that JSON lacks, or too much of it all.
        """
        self._n_values += 1
        self._depth += 1
        if self._n_values > MAX_VALUES or self._depth > 4 * 64:
            raise self.fault(node, "its aliases expand to more than any real file holds")
        try:
            match node:
                case MappingNode():
                    return self._mapping(node)
                case SequenceNode():
                    self._check_tag(node, "seq")
                    return [self.value(child) for child in cast("list[Node]", node.value)]
                case ScalarNode():
                    return self._scalar(node)
                case _:  # pragma: no cover - there is no fourth kind
                    raise self.fault(node, "is no value")
        finally:
            self._depth -= 1

    def key(self, node: Node) -> str:
        """Return a mapping's key as text.

        Raises:
            YamlSyntaxError: the key is a collection.
        """
        if not isinstance(node, ScalarNode):
            raise self.fault(node, "a key is a text, not a list or a mapping")
        return node.value

    def fault(self, node: Node, problem: str) -> YamlSyntaxError:
        """Return the error about a node."""
        mark = node.start_mark
        return YamlSyntaxError(problem, file=self._file, line=mark.line + 1, column=mark.column + 1)

    def _mapping(self, node: MappingNode) -> dict[str, Any]:
        self._check_tag(node, "map")
        found: dict[str, Any] = {}
        for key_node, value_node in cast("list[tuple[Node, Node]]", node.value):
            key = self.key(key_node)
            if key in found:
                raise self.fault(key_node, "the same key stands here a second time")
            found[key] = self.value(value_node)
        return found

    def _check_tag(self, node: Node, *allowed: str) -> None:
        if node.tag.removeprefix(_PREFIX) not in allowed:
            raise self.fault(node, "a tag has no meaning here; write the value itself")

    def _scalar(self, node: ScalarNode) -> Any:  # noqa: ANN401 - a JSON value
        self._check_tag(node, "str", "int", "float", "bool", "null")
        text: str = node.value
        is_tagged = self._text[node.start_mark.index : node.start_mark.index + 1] == "!"
        if node.style is not None or (is_tagged and node.tag == f"{_PREFIX}str"):
            return text
        if text in _NULLS:
            return None
        if text in _BOOLS:
            return _BOOLS[text]
        if _INTEGER.fullmatch(text):
            return int(text, {"0o": 8, "0x": 16}.get(text[:2], 10))
        if _FLOAT.fullmatch(text):
            number = float(text)
            if not math.isfinite(number):
                raise self.fault(node, "the number is too large")
            return number + 0.0  # JSON readers do not agree on -0.0
        if text.lstrip("+-").lower() in (".inf", ".nan"):
            raise self.fault(node, "infinity and NaN are no values here")
        return text


def inline(value: object) -> str:
    """Return a value on one line: a scalar, or a collection in flow style."""
    match value:
        case str():
            return _string(value)
        case Mapping():
            items = cast("Mapping[str, object]", value).items()
            return "{" + ", ".join(f"{_string(k)}: {inline(v)}" for k, v in items) + "}"
        case list() | tuple():
            return "[" + ", ".join(map(inline, cast("list[object]", value))) + "]"
        case _:
            return dumps_text(value)


def block(value: Mapping[str, object], indent: int) -> list[str]:
    """Return the lines of a mapping in block style, indented by `indent` blanks."""
    lines: list[str] = []
    for key, item in value.items():
        head = f"{' ' * indent}{_string(key)}:"
        if is_section(item):
            lines += [head, *block(item, indent + 2)]
        else:
            lines.append(f"{head} {inline(item)}")
    return lines


def is_section(value: object) -> TypeGuard[Mapping[str, object]]:
    """Return whether a value is a mapping with something in it."""
    return isinstance(value, Mapping) and bool(cast("Mapping[str, object]", value))


def _string(text: str) -> str:
    if _PLAIN.fullmatch(text) and text.lower() not in _MEANING_ELSEWHERE:
        return text
    return "".join(map(_escaped, dumps_text(text)))


def _escaped(character: str) -> str:
    if character.isprintable() and character != "\ufeff":
        return character
    code = ord(character)
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
