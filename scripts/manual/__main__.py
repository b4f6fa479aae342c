"""Assemble the source of the site, or check the built one: `python -m manual [--check]`."""

from __future__ import annotations

import sys

from house.tree import ROOT, Tree
from manual.assemble import assemble
from manual.offline import remote_loads

SOURCE = ROOT / "build" / "manual"
SITE = ROOT / "build" / "site"


def main() -> int:
    """Write the pages that the generator reads, or fail on what the site would load from afar."""
    if "--check" not in sys.argv[1:]:
        print(f"assembled {len(assemble(Tree(), SOURCE))} pages in {SOURCE.relative_to(ROOT)}")
        return 0
    found = remote_loads(SITE)
    for one in found:
        print(f"not readable without a network: {one}", file=sys.stderr)
    n_pages = len(list(SITE.rglob("*.html")))
    print(f"{n_pages} pages in {SITE.relative_to(ROOT)}, {len(found)} loads from elsewhere")
    return 1 if found or not n_pages else 0


if __name__ == "__main__":
    sys.exit(main())
