"""Report which conformance items of the specification are named by a test.

Usage: `python -m house.spec_report [--check]`. Without `--check` it writes the report; with it, a
stale report is an error. Either way a mark that names no item of the specification is an error.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator
from itertools import groupby

from house.spec_items import named_items, read_spec
from house.tree import ROOT, Tree

SPEC = ROOT.parent / "shared" / "spec"
REPORT = ROOT / "docs" / "generated" / "conformance.md"

INTRODUCTION = """\
# Conformance

Which numbered items of the specification are named by a test (`@pytest.mark.spec`). Written by
`make spec-report`; do not edit.

| specification | items | named | share |
| --- | ---: | ---: | ---: |
"""


def render(spec: dict[str, list[str]], named: Iterable[str]) -> str:
    """Write the report: a table, then the items that no test names, as ranges."""
    known = set(named)
    rows = [_row(name, ids, known) for name, ids in spec.items()]
    everything = [item for ids in spec.values() for item in ids]
    text = INTRODUCTION + "".join(rows) + _row("all", everything, known)
    text += "\n## Items that no test names\n"
    for name, ids in spec.items():
        missing = [item for item in ids if item not in known]
        text += f"\n### {name}\n\n{', '.join(ranges(missing)) or 'none'}\n"
    return text


def ranges(ids: Iterable[str]) -> Iterator[str]:
    """Join ids that follow each other: `02-1`, `02-2`, `02-3` become `02-1..3`."""
    parsed = [_split(item) for item in ids]
    numbered = list(enumerate(parsed))
    for _, run in groupby(numbered, key=lambda entry: (entry[1][0], entry[1][2] - entry[0])):
        entries = [entry for _, entry in run]
        first, last = entries[0], entries[-1]
        head = f"{first[0]}{first[1]}"
        yield head if first == last else f"{head}..{last[1]}"


def unknown(spec: dict[str, list[str]], named: dict[str, list[str]]) -> list[str]:
    """List each named id that the specification does not have, with the places."""
    known = {item for ids in spec.values() for item in ids}
    return [
        f"{', '.join(places)}: the specification has no item {item!r}"
        for item, places in sorted(named.items())
        if item not in known
    ]


def main() -> int:
    """Print the report, write or check its file, and fail on ids that do not exist."""
    if not SPEC.is_dir():
        print(f"spec-report: skipped, {SPEC} is not there; the report is left as it is")
        return 0
    spec = read_spec(SPEC)
    named, findings = named_items(Tree())
    text = render(spec, named)
    print(text)
    errors = [str(finding) for finding in findings] + unknown(spec, named)
    if "--check" in sys.argv[1:]:
        if not REPORT.is_file() or REPORT.read_text(encoding="utf-8") != text:
            errors.append(f"{REPORT.relative_to(ROOT)} is stale: run `make spec-report`")
    else:
        REPORT.parent.mkdir(parents=True, exist_ok=True)
        REPORT.write_text(text, encoding="utf-8")
    for error in errors:
        print(error, file=sys.stderr)
    return 1 if errors else 0


def _row(name: str, ids: list[str], known: set[str]) -> str:
    n_named = sum(item in known for item in ids)
    return f"| {name} | {len(ids)} | {n_named} | {100 * n_named // max(len(ids), 1)} % |\n"


def _split(item: str) -> tuple[str, str, int]:
    """Cut `01-B07` into `01-B`, `07` and 7."""
    found = re.fullmatch(r"(.*?)(\d+)", item)
    assert found is not None  # every id ends in a number
    return found[1], found[2], int(found[2])


if __name__ == "__main__":
    sys.exit(main())
