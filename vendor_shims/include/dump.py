"""Show composed rows as one document that can be loaded again."""

from __future__ import annotations

from itertools import groupby

from .composed import Composed
from .document import Format, Row
from .values import ordered
from .yaml_writer import json_text, yaml_text


def dump(composed: Composed, *, format: Format = "yaml") -> str:
    """Return the rows as text; expressions stay as they are written.

    In YAML a line `# == <layer>[, patched by a, b]` stands before each run of rows of one origin;
    JSON has no such lines. What was skipped is not part of the text; see `Composed.skipped`.
    """
    rows = [ordered(row) for row in composed.rows]
    if format == "json":
        return json_text(rows, indent=2) + "\n"
    if not rows:
        return "[]\n"
    runs = groupby(rows, key=lambda row: _origin(composed, row))
    return "\n".join(f"# == {origin}\n{yaml_text(list(run))}\n" for origin, run in runs)


def _origin(composed: Composed, row: Row) -> str:
    entry_id = row["id"]
    names = composed.origin(entry_id) if isinstance(entry_id, str) else ()
    maker, *patchers = names or ("a row whose id is no text",)
    shown = f"{maker}, patched by {', '.join(patchers)}" if patchers else maker
    return " ".join(shown.split())
