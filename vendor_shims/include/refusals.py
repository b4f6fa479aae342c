"""What an include refuses, said with the file and the place that are at fault."""

from __future__ import annotations

import os
from collections.abc import Generator
from contextlib import contextmanager

from vendor_shims.loader import EntryTree, InvalidEntry

from .composed import Composed
from .errors import ConfigFileError


def require_no_cycle(tree: EntryTree) -> None:
    """Refuse a file that is included, by whatever way, from itself.

    Raises:
        ConfigFileError: it is; names the files on the way.
    """
    files = list(_files_around(tree))
    if not files:
        return
    own, *outer = map(os.path.realpath, files)
    if own in outer:
        way = files[outer.index(own) + 1 :: -1]
        problem = f"it includes itself: {' > '.join(map(os.path.basename, way))}"
        raise ConfigFileError("read", problem, file=files[0])


def _files_around(tree: EntryTree | None) -> Generator[str]:
    """Return the files of a tree and of those that it stands in, the innermost first."""
    while tree is not None:
        if tree.path is not None:
            yield tree.path
        tree = None if tree.entry is None else tree.entry.tree


@contextmanager
def located(composed: Composed) -> Generator[None]:
    """Say where a row stands that no tree can take, if a file has it.

    Raises:
        ConfigFileError: there is one.
    """
    try:
        yield
    except InvalidEntry as error:
        place = None if error.entry_id is None else composed.place(error.entry_id, *error.keys)
        if place is None or place.file is None:
            raise
        raise ConfigFileError("validate", str(error), file=place.file, place=place) from error


@contextmanager
def within_depth(file: str) -> Generator[None]:
    """Say it clearly when a config by code cannot be compared with what a file has.

    Raises:
        ConfigFileError: it holds itself, or is nested too deep.
    """
    try:
        yield
    except RecursionError:
        problem = "a config set by code holds itself, or is nested too deep"
        raise ConfigFileError("write", problem, file=file) from None
