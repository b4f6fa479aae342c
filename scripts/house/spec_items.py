"""Read the numbered conformance items of the specification, and the tests that name them."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from house.tree import Finding, SourceFile, Tree

_SECTION = re.compile(r"^## \d+\. .*conformance", re.IGNORECASE)
# 03 §15: the properties that generated logs and scripts must hold are items as well.
_PROPERTIES = re.compile(r"^## \d+\. Runtime invariants")
_PROPERTY = re.compile(r"^- (?P<property>P\d+) [A-Z]")
_ITEM = re.compile(
    r"""^(?:
        -\s(?P<bullet>[A-Z]\d{2,})\b      # 01: "- B07 [=] ..."
      | (?P<number>\d+)\.\s               # 02, 03, 07, 08: "17. ..."
      | \|\s*(?P<row>[A-Z]?\d+)★?\s*\|    # 04, 05, 06: "| L1 | ...", "| 9★ | ..."
      | (?P<line>[A-Z]\d{3})\s            # 09: "C001 ..."
    )""",
    re.VERBOSE,
)


def items_of(path: Path) -> list[str]:
    """List the item ids of one specification file, such as `01-B07`, in order.

    Raises:
        ValueError: The file prints an item twice.
    """
    prefix = path.name[:2]
    ids: list[str] = []
    pattern: re.Pattern[str] | None = None
    for line in path.read_text(encoding="utf-8").split("\n"):
        if line.startswith("## "):
            pattern = _pattern_for(line)
        elif pattern is not None and (found := pattern.match(line)):
            item = f"{prefix}-{next(filter(None, found.groups()))}"
            if item in ids:
                raise ValueError(f"{path.name} prints {item} twice")
            ids.append(item)
    return ids


def _pattern_for(heading: str) -> re.Pattern[str] | None:
    """Return what an item looks like below a heading, `None` where there are none."""
    if _SECTION.match(heading):
        return _ITEM
    return _PROPERTY if _PROPERTIES.match(heading) else None


def read_spec(folder: Path) -> dict[str, list[str]]:
    """Map each specification file that has conformance items to their ids, in order."""
    found = {path.stem: items_of(path) for path in sorted(folder.glob("[0-9][0-9]-*.md"))}
    return {name: ids for name, ids in found.items() if ids}


def named_items(tree: Tree) -> tuple[dict[str, list[str]], list[Finding]]:
    """Map each id named by a `pytest.mark.spec` to the places that name it.

    Contract suites that ship inside the floors count as well as tests. The second value lists the
    marks whose ids cannot be read without running the file.
    """
    named: dict[str, list[str]] = {}
    findings: list[Finding] = []
    for file in [*tree.others("tests"), *tree.sources()]:
        if "mark.spec" not in file.text:
            continue
        for node in ast.walk(file.tree):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "pytest.mark.spec":
                for item in _literal_ids(file, node, findings):
                    named.setdefault(item, []).append(f"{file.name}:{node.lineno}")
    return named, findings


def _literal_ids(file: SourceFile, node: ast.Call, findings: list[Finding]) -> list[str]:
    ids: list[str] = []
    for argument in node.args:
        if isinstance(argument, ast.Constant) and isinstance(argument.value, str):
            ids.append(argument.value.removesuffix("★"))
        else:
            findings.append(file.at(node.lineno, "write the items of a spec mark as plain texts"))
    return ids
