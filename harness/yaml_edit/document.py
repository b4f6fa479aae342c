"""Hold a YAML mapping as its text and as its value, and derive changed ones from it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import TYPE_CHECKING, Any, cast

import attrs

from harness.wire import json_equal
from harness.yaml_edit.errors import YamlEditError, YamlSyntaxError

if TYPE_CHECKING:
    from harness.yaml_edit.splice import Splicer


@attrs.frozen
class YamlDocument:
    """Hold one mapping that people edit; changing it gives a new document.

    `value` is plain JSON and belongs to the document: do not change it. `repr` shows no content.
    """

    file: str
    text: str = attrs.field(repr=False)
    value: Mapping[str, Any] = attrs.field(repr=False)
    _splicer: Splicer = attrs.field(repr=False, eq=False)

    @classmethod
    def parse(cls, text: str, file: str) -> YamlDocument:
        """Read a document; an empty one is an empty mapping.

        Args:
            text: the whole text.
            file: what messages call it.

        Raises:
            YamlSyntaxError: no YAML 1.2 mapping, a repeated key, a tag, or beyond the limits (64
                levels, 100 aliases, 100,000 values).
        """
        from harness.yaml_edit.composer import compose
        from harness.yaml_edit.splice import Splicer
        from harness.yaml_edit.values import Constructor

        root, composer = compose(text, file)
        constructor = Constructor(text, file)
        value: Any = {} if root is None else constructor.value(root)
        if value is None:
            value = {}
        if not isinstance(value, dict):
            raise YamlSyntaxError("expected a mapping, NAME: value", file=file, line=1, column=1)
        mapping = cast("dict[str, Any]", value)
        return cls(file, text, mapping, Splicer(text, root, composer.aliases))

    def get(self, path: Sequence[str]) -> Any:  # noqa: ANN401 - a JSON value
        """Return the value at a path of keys.

        Raises:
            KeyError: there is none.
        """
        found: Any = self.value
        for key in path:
            if not isinstance(found, dict) or key not in found:
                raise KeyError(key)
            found = cast("dict[str, Any]", found)[key]
        return found

    def line(self, path: Sequence[str]) -> int:
        """Return the line of the deepest key of a path that exists, from 1; 0 when none does."""
        return self.place(path)[0]

    def place(self, path: Sequence[str]) -> tuple[int, int]:
        """Return line and column of the deepest key of a path that exists; zeros without any."""
        return self._splicer.place(path)

    def with_value(self, path: Sequence[str], value: object) -> YamlDocument:
        """Return the document with the value at a path of keys set, and nothing else changed.

        Missing mappings on the way are made; comments, order and quoting elsewhere stay.

        Args:
            path: keys from the root, at least one.
            value: plain JSON, of at most 64 levels.

        Raises:
            YamlEditError: something on the way is no mapping, or the text is written in a way that
                cannot be changed in place.
        """
        wanted = deepcopy(dict(self.value))
        inner: dict[str, Any] = wanted
        for index, key in enumerate(path[:-1]):
            if inner.get(key) is None:
                inner[key] = {}
            step = inner[key]
            if not isinstance(step, dict):
                name = ".".join(path[: index + 1])
                raise YamlEditError(f"{self.file}: {name!r} is a value, no section", file=self.file)
            inner = cast("dict[str, Any]", step)
        is_same = path[-1] in inner and json_equal(inner[path[-1]], value)
        if is_same:
            return self
        inner[path[-1]] = value
        return self._checked(self._splicer.set(path, value), wanted, path)

    def without(self, path: Sequence[str]) -> YamlDocument:
        """Return the document without what is at a path of keys; itself when nothing is there.

        Raises:
            YamlEditError: the text is written in a way that cannot be changed in place.
        """
        wanted = deepcopy(dict(self.value))
        inner: Any = wanted
        for key in path[:-1]:
            inner = cast("dict[str, Any]", inner).get(key) if isinstance(inner, dict) else None
        if not isinstance(inner, dict) or path[-1] not in inner:
            return self
        del inner[path[-1]]
        return self._checked(self._splicer.unset(path), wanted, path)

    def _checked(
        self, text: str | None, wanted: dict[str, Any], path: Sequence[str]
    ) -> YamlDocument:
        """Return the document of a changed text, if it says what it should."""
        problem = YamlEditError(
            f"{self.file}: {'.'.join(path)!r} is written in a way that cannot be changed here;"
            " change it with an editor",
            file=self.file,
        )
        if text is None:
            raise problem
        try:
            changed = YamlDocument.parse(text, self.file)
        except YamlSyntaxError:
            raise problem from None
        if not json_equal(changed.value, wanted):
            raise problem
        return changed
