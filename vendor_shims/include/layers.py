"""Layers: named lists of patches, most of them files."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias, cast

from vendor_shims.expressions import ExpressionError, check_row

from .document import Document, read_rows
from .errors import ConfigFileError
from .patching import Patch
from .values import is_group

LayerKind: TypeAlias = Literal["rows", "bundle", "profile", "home", "settings", "patch", "flag"]
"""Where a layer comes from, which decides what a patch without a row means to the caller."""

_FILES = ("path", "writeTo", "write_to")
"""The keys of an include's config that name files."""


@dataclass(frozen=True, slots=True)
class Layer:
    """Patches of one origin.

    Attributes:
        name: what a reader of a dump sees.
        kind: where it comes from.
        patches: in order; never changed in place.
        file: the path of its file, if it has one.
        document: what that file holds, for the places of its values.
    """

    name: str
    kind: LayerKind
    patches: Sequence[Patch]
    file: str | None = None
    document: Document | None = field(default=None, repr=False, compare=False)


def read_layer(
    path: str,
    *,
    name: str,
    kind: LayerKind,
    required: bool,
) -> Layer | None:
    """Return the patches in a file; None when it is missing and not required.

    A plugin that rows in it name by a relative path is meant relative to the file, and so are the
    files of a row that names `cordis:include`.

    Raises:
        ConfigFileError: it is required and missing, or cannot be read, parsed, or taken as patches.
        ExpressionError: an expression in it can never be evaluated.
    """
    try:
        document = read_rows(path)
    except ConfigFileError as error:
        if error.is_missing and not required:
            return None
        raise
    for number, patch in enumerate(document.rows):
        _require_rows(document, number, patch)
        _check_expressions(document, number, patch)
    folder = os.path.dirname(os.path.abspath(path))
    patches = [_with_whole_paths(patch, folder) for patch in document.rows]
    return Layer(name, kind, patches, file=path, document=document)


def _require_rows(document: Document, number: int, patch: Patch) -> None:
    if "insert" not in patch:
        return
    rows = patch["insert"]
    path: tuple[str | int, ...] = (number, "insert")
    problem = "must be a list of rows"
    if isinstance(rows, list):
        bad = [i for i, row in enumerate(cast("list[Any]", rows)) if not isinstance(row, dict)]
        if not bad:
            return
        path = (*path, bad[0])
        problem = f"holds a row that is no mapping, number {bad[0] + 1}"
    raise ConfigFileError(
        "validate",
        f"insert of item {number + 1} {problem}",
        file=document.path,
        place=document.place(*path),
    )


def _located(error: ExpressionError, document: Document, *path: str | int) -> ExpressionError:
    """Return the error with the place of the value; a text with `${` does not know its own."""
    lines = error.source.split("\n")[: error.line - 1]
    return ExpressionError(
        error.problem,
        source=error.source,
        offset=sum(len(line) + 1 for line in lines) + error.column - 1,
        place=document.place(*path),
        row=error.row,
        path=error.path,
    )


def _check_expressions(document: Document, number: int, patch: Patch) -> None:
    rest = {key: value for key, value in patch.items() if key not in {"insert", "merge"}}
    parts: list[tuple[tuple[str | int, ...], Patch]] = [((), rest)]
    for index, row in enumerate(cast("list[Patch]", patch.get("insert", []))):
        parts.append((("insert", index), row))
    if "merge" in patch:
        parts.append((("merge",), {"id": patch.get("id"), "config": patch["merge"]}))
    for path, row in parts:
        try:
            check_row(row, file=document.path)
        except ExpressionError as error:
            inner = error.path[1:] if path == ("merge",) else error.path
            raise _located(error, document, number, *path, *inner) from None


def _with_whole_paths(patch: Patch, folder: str) -> Patch:
    """Return a patch whose relative plugin paths start at the root of the file system."""
    result = dict(patch)
    name = result.get("name")
    if isinstance(name, str) and name.startswith(("./", "../")):
        result["name"] = os.path.normpath(os.path.join(folder, name))
    for part in ("config", "merge") if name == "cordis:include" else ():
        config = result.get(part)
        if isinstance(config, Mapping):
            given = cast("Mapping[str, Any]", config)
            files = {key: given[key] for key in _FILES if isinstance(given.get(key), str)}
            whole = {key: os.path.normpath(os.path.join(folder, files[key])) for key in files}
            result[part] = {**given, **whole}
    for key in ("insert", *(("config",) if is_group(patch) else ())):
        rows = result.get(key)
        if isinstance(rows, list):
            result[key] = [
                _with_whole_paths(cast("Patch", row), folder) if isinstance(row, Mapping) else row
                for row in cast("list[Any]", rows)
            ]
    return result
