"""Read the YAML dialect: JSON's values plus expressions, in one pass over the parser's events."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

from vendor_shims.expressions import Expression, Place, Tag

from .errors import ConfigFileError
from .node import Budget, Node, place_at
from .scalars import plain_value

if TYPE_CHECKING:
    import yaml

Event: TypeAlias = Any
"""A parser's event; the stubs say nothing useful about its members."""

_STANDARD = "tag:yaml.org,2002:"
EXPRESSION_TAGS: dict[str, Tag] = {
    "!expr": "!expr",
    f"{_STANDARD}py": "!!py",
    f"{_STANDARD}js": "!!js",
}
_SCALAR_TYPES: dict[str, tuple[type, ...]] = {
    f"{_STANDARD}int": (int,),
    f"{_STANDARD}float": (float, int),
    f"{_STANDARD}bool": (bool,),
    f"{_STANDARD}null": (type(None),),
}
_TEXT_TAGS = frozenset(("!", f"{_STANDARD}str"))
_FORBIDDEN = re.compile(
    "[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]"
)


def read_yaml(text: str, file: str) -> Node | None:
    """Return the value of a YAML text, None for one without any.

    Raises:
        ConfigFileError: it is not the dialect, or exceeds the limits; says where.
    """
    found = _FORBIDDEN.search(text)
    if found is not None:
        problem = f"the character U+{ord(found[0]):04X} must not stand in a YAML file"
        place = place_at(text, found.start(), file)
        raise ConfigFileError("parse", problem, file=file, place=place)
    import yaml

    try:
        return _Reader(text, file).document()
    except yaml.MarkedYAMLError as error:
        raise _refused(error, file) from None


def _refused(error: yaml.MarkedYAMLError, file: str) -> ConfigFileError:
    mark = error.problem_mark or error.context_mark
    problem = error.problem or "is no YAML"
    if error.context:
        problem = f"{problem} ({error.context}"
        context = error.context_mark
        same = context is None or (mark is not None and context.line == mark.line)
        problem += ")" if same or context is None else f" that begins in line {context.line + 1})"
    place = None if mark is None else Place(file, mark.line + 1, mark.column + 1)
    return ConfigFileError("parse", problem, file=file, place=place)


class _Reader:
    """Invariants: `_anchors` holds finished nodes; an anchor that is being read maps to None."""

    def __init__(self, text: str, file: str) -> None:
        import yaml

        loader: type[Any] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
        self._next: Callable[[], Any] = loader(text).get_event
        self._types = yaml
        self._text = text
        self._file = file
        self._budget = Budget(file)
        self._anchors: dict[str, Node | None] = {}

    def document(self) -> Node | None:
        self._next()  # the start of the stream
        event = self._next()
        if isinstance(event, self._types.StreamEndEvent):
            return None
        root = self._node(self._next(), 0)
        self._next()  # the end of the document
        event = self._next()
        if not isinstance(event, self._types.StreamEndEvent):
            raise self._error("a second document begins; expected a single one", event)
        return None if root.start == root.end and root.value is None else root

    def _node(self, event: Event, depth: int) -> Node:
        types = self._types
        if isinstance(event, types.AliasEvent):
            return self._alias(event, depth)
        self._budget.spend(1, depth, self._place(event))
        start = event.start_mark
        node = Node(start.index, event.end_mark.index, start.line + 1, start.column + 1)
        anchor: str | None = event.anchor
        if anchor is not None:
            self._anchors[anchor] = None
            node.is_fixed = True
        if isinstance(event, types.ScalarEvent):
            self._scalar(node, event)
        elif isinstance(event, types.SequenceStartEvent):
            self._require_tag(event, "seq")
            self._sequence(node, depth, is_flow=bool(event.flow_style))
        else:
            self._require_tag(event, "map")
            self._mapping(node, depth, is_flow=bool(event.flow_style))
        if anchor is not None:
            self._anchors[anchor] = node
        return node

    def _alias(self, event: Event, depth: int) -> Node:
        if event.anchor not in self._anchors:
            raise self._error(f"there is no anchor {event.anchor!r} before this", event)
        target = self._anchors[event.anchor]
        if target is None:
            raise self._error(f"the alias {event.anchor!r} stands inside what it refers to", event)
        self._budget.spend(target.size, depth, self._place(event))
        mark = event.start_mark
        return Node(
            mark.index,
            event.end_mark.index,
            mark.line + 1,
            mark.column + 1,
            value=target.value,
            items=target.items,
            members=target.members,
            is_flow=True,
            is_fixed=True,
            size=target.size,
        )

    def _scalar(self, node: Node, event: Event) -> None:
        tag: str | None = event.tag
        text: str = event.value
        if event.style in {"|", ">"}:
            node.end = self._end_of_block(node)
        if tag in EXPRESSION_TAGS:
            node.value = Expression(text, EXPRESSION_TAGS[tag])
        elif tag in _TEXT_TAGS or (tag is None and not event.implicit[0]):
            node.value = text
        elif tag is None or tag in _SCALAR_TYPES:
            try:
                node.value = plain_value(text)
            except ValueError as error:
                raise self._error(str(error), event) from None
            expected = _SCALAR_TYPES.get(tag or "")
            if expected is not None and type(node.value) not in expected:
                raise self._error(f"{text!r} is no {tag and tag.removeprefix(_STANDARD)}", event)
        else:
            raise self._unknown_tag(event)

    def _end_of_block(self, node: Node) -> int:
        """Return the end of a block scalar, without the empty lines that mean nothing."""
        written = self._text[node.start : node.end]
        header = written.partition("\n")[0].partition("#")[0]
        return node.end if "+" in header else node.start + len(written.rstrip())

    def _sequence(self, node: Node, depth: int, *, is_flow: bool) -> None:
        node.items, node.is_flow = [], is_flow
        while not _is(event := self._next(), self._types.SequenceEndEvent):
            item = self._node(event, depth + 1)
            node.items.append(item)
            node.size += item.size
            node.end = item.end
        if is_flow:
            node.end = event.end_mark.index

    def _mapping(self, node: Node, depth: int, *, is_flow: bool) -> None:
        node.members, node.is_flow = {}, is_flow
        while not _is(event := self._next(), self._types.MappingEndEvent):
            name = self._key(event)
            mark = event.start_mark
            key = Node(mark.index, event.end_mark.index, mark.line + 1, mark.column + 1, name)
            if name in node.members:
                first = node.members[name][0]
                raise self._error(f"the key {name!r} stands in line {first.line} already", event)
            member = self._node(self._next(), depth + 1)
            node.members[name] = (key, member)
            node.size += member.size
            node.end = member.end
        if is_flow:
            node.end = event.end_mark.index

    def _key(self, event: Event) -> str:
        """Return a key: the text as it is written, whatever it would mean as a value."""
        if not isinstance(event, self._types.ScalarEvent):
            raise self._error("a key must be a text", event)
        if event.tag in EXPRESSION_TAGS:
            raise self._error("an expression may stand only as a value", event)
        if event.tag is not None and event.tag not in _TEXT_TAGS:
            raise self._unknown_tag(event)
        if event.value == "<<" and event.implicit[0]:
            raise self._error("merge keys (<<) are not part of this dialect; use an alias", event)
        return event.value

    def _require_tag(self, event: Event, kind: str) -> None:
        if event.tag is None or event.tag in {"!", f"{_STANDARD}{kind}"}:
            return
        if event.tag in EXPRESSION_TAGS:
            shown = EXPRESSION_TAGS[event.tag]
            raise self._error(f"{shown} needs a text; quote an expression that has brackets", event)
        raise self._unknown_tag(event)

    def _unknown_tag(self, event: Event) -> ConfigFileError:
        shown = event.tag.replace(_STANDARD, "!!")
        return self._error(f"unknown tag {shown}; there are !expr, !!py and !!js", event)

    def _place(self, event: Event) -> Place:
        mark = event.start_mark
        return Place(self._file, mark.line + 1, mark.column + 1)

    def _error(self, problem: str, event: Event) -> ConfigFileError:
        return ConfigFileError("parse", problem, file=self._file, place=self._place(event))


def _is(event: Event, kind: type[Any]) -> bool:
    """Test without narrowing: the marks of every event are there, whatever the stubs say."""
    return isinstance(event, kind)
