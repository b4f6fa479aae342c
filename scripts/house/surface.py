"""List the public surface, one name a line, so that each change of it shows in a diff."""

from __future__ import annotations

import sys

from house.shape import public_names
from house.tree import ROOT, Tree

SNAPSHOT = ROOT / "tests" / "house" / "public_surface.txt"

HEADER = "# Every public name, from the __all__ of each package root. Written by `make surface`.\n"


def render(tree: Tree) -> str:
    """Write the surface of a checkout as sorted lines of `package.Name`."""
    names = {
        f"{module}.{name}"
        for module, file in tree.public_roots().items()
        for name in public_names(file)
    }
    return HEADER + "".join(f"{name}\n" for name in sorted(names))


def main() -> int:
    """Rewrite the snapshot."""
    SNAPSHOT.write_text(render(Tree()), encoding="utf-8")
    print(f"wrote {SNAPSHOT.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
