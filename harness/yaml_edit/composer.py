"""Parse text into nodes that know their place, within limits that hostile text cannot break."""

from copy import copy
from typing import cast

import yaml
from yaml.nodes import CollectionNode, Node

from harness.yaml_edit.errors import YamlSyntaxError

MAX_DEPTH = 64
MAX_ALIASES = 100


class Composer(yaml.BaseLoader):
    """Compose one document; a use of an alias becomes a node of its own, at its own place.

    `aliases` holds the identity of those nodes, which must not be edited through.
    """

    def __init__(self, text: str, file: str) -> None:
        super().__init__(text)
        self._file = file
        self.aliases: set[int] = set()
        self._kept: list[Node] = []  # an identity is unique while its owner lives
        self._depth = 0

    def compose_node(self, parent: Node | None, index: int) -> Node | None:
        """Compose one node.

        Raises:
            YamlSyntaxError: the nesting is too deep, or there are too many aliases.
        """
        event = cast("yaml.Event", self.peek_event())  # pyright: ignore[reportUnknownMemberType] - stubs
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise self._too_complex(f"nested deeper than {MAX_DEPTH} levels", event)
        node = super().compose_node(parent, index)
        self._depth -= 1
        if not isinstance(event, yaml.AliasEvent) or node is None:
            return node
        node = copy(node)
        node.start_mark, node.end_mark = event.start_mark, event.end_mark
        if isinstance(node, CollectionNode):
            node.flow_style = True  # it ends where it is written, like a flow collection
        self.aliases.add(id(node))
        self._kept.append(node)
        if len(self.aliases) > MAX_ALIASES:
            raise self._too_complex(f"more than {MAX_ALIASES} aliases", event)
        return node

    def _too_complex(self, problem: str, event: yaml.Event) -> YamlSyntaxError:
        mark = event.start_mark
        assert mark is not None, "what comes from a text has a place in it"
        line, column = mark.line + 1, mark.column + 1
        return YamlSyntaxError(problem, file=self._file, line=line, column=column)


def compose(text: str, file: str) -> tuple[Node | None, Composer]:
    """Return the root node, None for an empty document, and who composed it.

    Raises:
        YamlSyntaxError: the text is no single YAML document within the limits.
    """
    try:
        composer = Composer(text, file)
        return composer.get_single_node(), composer
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line, column = (mark.line + 1, mark.column + 1) if mark else (0, 0)
        problem = _without_source(error.problem or error.context or "is no YAML")
        raise YamlSyntaxError(problem, file=file, line=line, column=column) from None
    except yaml.reader.ReaderError as error:
        before = text[: error.position]
        line = before.count("\n") + 1
        column = error.position - before.rfind("\n")
        raise YamlSyntaxError(
            f"holds a character that YAML does not allow ({error.character!r})",
            file=file,
            line=line,
            column=column,
        ) from None


def _without_source(problem: str) -> str:
    """Return the parser's words; names of anchors and aliases come from the text and go."""
    for word in ("alias", "anchor", "tag handle"):
        head, found, _ = problem.partition(word)
        if found:
            return head + found
    return problem
