"""Write or check the catalogues: `python -m catalogue [--check]`.

Without `--check` every page is written; with it, a page that is stale, missing or no longer made
is an error.
"""

from __future__ import annotations

import sys

from catalogue.pages import OWNED, build
from house.tree import ROOT, Tree

FOLDER = ROOT / "docs" / "generated"


def main() -> int:
    """Write the pages, or compare them with what is there."""
    pages = build(Tree())
    if "--check" not in sys.argv[1:]:
        FOLDER.mkdir(parents=True, exist_ok=True)
        for name, text in pages.items():
            (FOLDER / name).write_text(text, encoding="utf-8")
        print(f"wrote {len(pages)} pages to {FOLDER.relative_to(ROOT)}")
        return 0
    errors = [
        f"{(FOLDER / name).relative_to(ROOT)} is stale: run `make docs-generate`"
        for name, text in pages.items()
        if not (FOLDER / name).is_file() or (FOLDER / name).read_text(encoding="utf-8") != text
    ]
    errors += [
        f"{path.relative_to(ROOT)} is made by nothing: remove it"
        for path in sorted(FOLDER.glob("*.md"))
        if path.name not in pages and path.name not in OWNED
    ]
    for error in errors:
        print(error, file=sys.stderr)
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
