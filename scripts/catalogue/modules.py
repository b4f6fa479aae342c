"""Draw which package imports which, on the three floors."""

from __future__ import annotations

from collections import defaultdict

from catalogue.markdown import block, code, codes, page, table
from catalogue.names import Names
from house.imports import imports_of
from house.tree import FLOORS, package_of

INTRODUCTION = """\
The packages of the three floors and what they import from each other. Parts for tests (`testing`,
`contract`) are left out. An arrow of the drawing is an import that happens when the package is
loaded; arrows that follow from others are left out of it. The table has every arrow, and under
*later* the imports that wait until a function runs or that only a type checker reads."""


def render(names: Names) -> str:
    """Write the page."""
    loaded, later = find_arrows(names)
    packages = sorted({package_of(file.module) for file in names.shown if "." in file.module})
    rows = [
        (code(name), codes(sorted(loaded[name])), codes(sorted(later[name] - loaded[name])))
        for name in packages
    ]
    n_arrows = sum(len(loaded[name]) for name in packages)
    return page(
        "Module graph",
        f"{len(packages)} packages, {n_arrows} arrows. {INTRODUCTION}",
        block("mermaid", _drawing(packages, reduce_arrows(loaded))),
        "## Every arrow",
        table(["package", "imports", "later"], rows),
    )


def find_arrows(names: Names) -> tuple[defaultdict[str, set[str]], defaultdict[str, set[str]]]:
    """Return what each package imports when it is loaded, and what it imports later."""
    known = {package_of(module) for module in names.files}
    loaded: defaultdict[str, set[str]] = defaultdict(set)
    later: defaultdict[str, set[str]] = defaultdict(set)
    for file in names.shown:
        for item in imports_of(file):
            wanted = [item.module, *(f"{item.module}.{name}" for name in item.names)]
            if item.module.count(".") >= 1:
                wanted = wanted[:1]
            for target in {package_of(module) for module in wanted} & known:
                if "." in target and target != file.package:
                    (later if item.deferred else loaded)[file.package].add(target)
    return loaded, later


def reduce_arrows(arrows: dict[str, set[str]]) -> dict[str, set[str]]:
    """Leave out each arrow whose end is reached by other arrows as well."""
    kept = {name: set(targets) for name, targets in arrows.items()}
    for name in sorted(kept):
        for target in sorted(kept[name]):
            kept[name].discard(target)
            if not _reaches(kept, name, target):
                kept[name].add(target)
    return kept


def _reaches(arrows: dict[str, set[str]], start: str, goal: str) -> bool:
    seen: set[str] = set()
    waiting = [start]
    while waiting:
        here = waiting.pop()
        if here == goal:
            return True
        if here not in seen:
            seen.add(here)
            waiting += arrows.get(here, ())
    return False


def _drawing(packages: list[str], arrows: dict[str, set[str]]) -> str:
    lines = ["flowchart BT"]
    for floor in FLOORS:
        own = [name for name in packages if name.startswith(f"{floor}.")]
        lines += [f"  subgraph {floor}"]
        lines += [f'    {_id(name)}["{name.partition(".")[2]}"]' for name in own]
        lines += ["  end"]
    for name in packages:
        lines += [f"  {_id(name)} --> {_id(target)}" for target in sorted(arrows.get(name, ()))]
    return "\n".join(lines)


def _id(name: str) -> str:
    return name.replace(".", "__")
