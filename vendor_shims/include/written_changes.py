"""Changes of rows as a new text for a file of patches, or for the file of rows itself."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from .changes import changes_between
from .document import Document, Row, format_of, parse_nodes, parse_rows, require_ids
from .folding import folded
from .patching import apply_entry_patches
from .text_edit import edited
from .values import is_group


def with_patches(text: str, before: Sequence[Row], after: Sequence[Row], *, file: str) -> str:
    """Return the text of a file of patches, changed to bring some rows to others.

    A row is patched by its id and what is different; one that the file itself inserts is changed
    there. Comments and everything that is not about these rows stay. The order of rows that are
    in both lists does not count.

    Args:
        text: what the file holds; it may be empty.
        before: the rows that come out with the file as it is; every one has an id.
        after: the rows that shall come out.
        file: its path, which says whether it is YAML or JSON.

    Raises:
        ConfigFileError: the text is no list of patches; it must not be overwritten then.
    """
    document = _document(text, file)
    given = [] if document is None else document.rows
    patches = folded(given, changes_between(before, after))
    return edited(text, patches, file=file, format=format_of(file))


def with_changed_rows(text: str, before: Sequence[Row], after: Sequence[Row], *, file: str) -> str:
    """Return the text of a file of rows, changed as some rows differ from others.

    The arguments are those of `with_patches`; the file may hold more than `before` by now. A row
    that has no id in the file gets none, if it would be given the same again.

    Raises:
        ConfigFileError: the text is no list of rows; it must not be overwritten then.
    """
    document = _document(text, file)
    given = [] if document is None else document.rows
    if document is not None:
        require_ids(document)
    named = _named(given)
    wanted = _named(named, folded([], changes_between(before, after)))
    known = dict(_by_id(given, named))
    rows = [_as_given(row, known, with_ids=False) for row in wanted]
    if _ids(_named(rows)) != _ids(wanted):
        rows = [_as_given(row, known, with_ids=True) for row in wanted]
    return edited(text, rows, file=file, format=format_of(file))


def _document(text: str, file: str) -> Document | None:
    format = format_of(file)
    if parse_nodes(text, file=file, format=format) is None:
        return None
    return parse_rows(text, file=file, format=format)


def _named(rows: Sequence[Row], patches: Sequence[Row] = ()) -> list[Row]:
    return apply_entry_patches(rows, patches, lambda _: None)


def _by_id(given: Sequence[Row], named: Sequence[Row]) -> Iterator[tuple[str, Row]]:
    """Return each row as the file has it, by the id that it goes by."""
    for one, row in zip(given, named, strict=True):
        yield row["id"], one
        if is_group(one):
            yield from _by_id(one["config"], row["config"])


def _as_given(row: Row, known: Mapping[str, Row], *, with_ids: bool) -> Row:
    """Return a row without what stands for an absent option, and without an id that was drawn."""
    before = known.get(row["id"])
    result = {
        key: value
        for key, value in row.items()
        if value is not None or (before is not None and key in before and before[key] is None)
    }
    if before is not None and before.get("id") is None and not with_ids:
        result.pop("id")
    if is_group(row):
        config: list[Row] = row["config"]
        result["config"] = [_as_given(one, known, with_ids=with_ids) for one in config]
    return result


def _ids(rows: Sequence[Row]) -> list[object]:
    return [(row["id"], _ids(row["config"]) if is_group(row) else None) for row in rows]
