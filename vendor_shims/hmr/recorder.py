"""Who really imported what: the pairs that no source text shows."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import FrameType


class ImportRecorder:
    """Remembers the importer of each module that is being found.

    An import of `a.b` finds `a` first; only `a.b` is kept then, since `a` is merely passed through.
    """

    def __init__(self) -> None:
        self._found: dict[tuple[str, int, int], list[str]] = {}
        """Names by place: the importer, and where in which of its code."""

    def note(self, name: str) -> None:
        """Note that whoever is importing now imports `name`."""
        frame = _importing_frame()
        importer = frame.f_globals.get("__name__", "")
        names = self._found.setdefault((importer, id(frame.f_code), frame.f_lasti), [])
        parent = name.rpartition(".")[0]
        if parent in names:
            names.remove(parent)
        if name not in names:
            names.append(name)

    def pairs(self) -> Iterator[tuple[str, str]]:
        """Return importer and imported, possibly more than once."""
        for (importer, _, _), names in self._found.items():
            for name in names:
                yield importer, name

    def forget(self, importers: set[str]) -> None:
        """Drop what these modules imported; they are about to be imported again."""
        self._found = {
            place: names for place, names in self._found.items() if place[0] not in importers
        }


def _importing_frame() -> FrameType:
    """Return the innermost frame outside the import system and this package."""
    frame = sys._getframe(1)  # pyright: ignore[reportPrivateUsage] - no other way
    while frame.f_back is not None and _is_machinery(frame.f_globals.get("__name__", "")):
        frame = frame.f_back
    return frame


def _is_machinery(module: str) -> bool:
    return module.startswith(("importlib", "_frozen_importlib", __name__.rpartition(".")[0]))
