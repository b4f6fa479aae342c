"""References inside one JSON schema document."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from urllib.parse import unquote

from vendor_shims.schema.json_checks import Check
from vendor_shims.schema.report import Path, Report
from vendor_shims.schema.shapes import Raw, is_mapping

_SECTIONS = frozenset({"$defs", "definitions"})


class References:
    """What the schema refers to, compiled once each, so that schemas may be recursive.

    Invariants: a target has its check before the first value is checked; every pointer that was
    followed is compiled by `compile_pending`.
    """

    def __init__(self, document: Raw) -> None:
        self._document = document
        self._targets: dict[str, list[Check]] = {}
        """Checks by pointer; a list that is empty until the target is compiled."""
        self._pending: list[str] = []
        self._in_place: dict[str, set[str]] = {}
        """Pointers that a pointer leads to without descending into the value."""

    def follow(self, pointer: str, owner: str | None) -> Check:
        """Return a check that stands for the target.

        Args:
            pointer: Where the reference leads.
            owner: Pointer of the schema that the reference stands in, None when the value under it
                is another one, as for a property.
        """
        if pointer not in self._targets:
            self._targets[pointer] = []
            self._pending.append(pointer)
        if owner is not None:
            self._in_place.setdefault(owner, set()).add(pointer)
        target = self._targets[pointer]

        def check(value: Raw, path: Path, report: Report) -> None:
            target[0](value, path, report)

        return check

    def compile_pending(self, compile_one: Callable[[Raw, str], Check]) -> Iterator[str]:
        """Compile all targets, those met on the way too; yield the pointers that lead nowhere."""
        while self._pending:
            pointer = self._pending.pop()
            schema = self.find(pointer)
            if schema is None:
                yield pointer
            else:
                self._targets[pointer].append(compile_one(schema, pointer))

    def find(self, pointer: str) -> Raw | None:
        """Return the schema that a pointer leads to, None when there is none."""
        found: Raw = self._document
        parts = [unquote(p).replace("~1", "/").replace("~0", "~") for p in pointer.split("/")]
        if parts[0] != "#" or (len(parts) > 1 and parts[1] not in _SECTIONS):
            return None
        for part in parts[1:]:
            if not is_mapping(found) or part not in found:
                return None
            found = found[part]
        return found

    def loops(self) -> Iterator[str]:
        """Yield the pointers that come back to themselves without descending into the value."""
        for start, targets in self._in_place.items():
            reached: set[str] = set()
            stack = list(targets)
            while stack:
                pointer = stack.pop()
                if pointer not in reached:
                    reached.add(pointer)
                    stack.extend(self._in_place.get(pointer, ()))
            if start in reached:
                yield start
