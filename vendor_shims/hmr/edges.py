"""The imports between loaded modules at one moment."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping


class Edges:
    """Who imports whom; modules are named.

    Attributes:
        imported: for each importer the modules that it imports itself.
    """

    def __init__(self, imported: Mapping[str, Collection[str]]) -> None:
        self.imported = imported
        self._importers: dict[str, list[str]] = {}
        for name, targets in imported.items():
            for target in targets:
                self._importers.setdefault(target, []).append(name)

    def closure(self, name: str, *, stop: Collection[str] = ()) -> set[str]:
        """Return a module and all that it imports, but nothing in `stop` or beyond it."""
        return _spread([name], self.imported, stop)

    def reaching(self, names: Iterable[str]) -> set[str]:
        """Return the modules and all that import them, directly or through others."""
        return _spread(names, self._importers, ())


def _spread(
    names: Iterable[str], following: Mapping[str, Collection[str]], stop: Collection[str]
) -> set[str]:
    found = set(names)
    todo = list(found)
    while todo:
        for name in following.get(todo.pop(), ()):
            if name not in found and name not in stop:
                found.add(name)
                todo.append(name)
    return found
