"""Run every rule on the checkout: `python -m house.rules`."""

from __future__ import annotations

import sys
from collections.abc import Callable

from house.bans import check_bans
from house.documents import check_links, check_readmes, check_words
from house.imports import check_cycles, check_imports, check_outside_imports
from house.shape import check_names, check_roots, check_sizes, check_suppressions
from house.tree import Finding, Tree

RULES: dict[str, Callable[[Tree], list[Finding]]] = {
    "imports follow the three floors and package roots": check_imports,
    "tests and examples import package roots": check_outside_imports,
    "packages do not import in a circle": check_cycles,
    "JSON, line splitting and tasks have one home": check_bans,
    "files and functions fit a screen": check_sizes,
    "modules are named by a concept": check_names,
    "package roots are pure": check_roots,
    "suppressions say why": check_suppressions,
    "each package has a short README": check_readmes,
    "links between documents lead somewhere": check_links,
    "no words from outside the project": check_words,
}
"""Each rule under the sentence that it holds to be true."""


def main() -> int:
    """Print each broken rule with its places."""
    tree = Tree()
    n_findings = 0
    for name, rule in RULES.items():
        findings = rule(tree)
        n_findings += len(findings)
        if findings:
            print(f"not so: {name}")
            print("".join(f"  {finding}\n" for finding in findings), end="")
    print(f"{len(RULES)} rules, {n_findings} findings")
    return 1 if n_findings else 0


if __name__ == "__main__":
    sys.exit(main())
