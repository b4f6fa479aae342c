"""Bound the size of files and functions, and keep package roots pure."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from house.tree import Finding, SourceFile, Tree, docstring_of

MAX_FILE_LINES = 400
MAX_FUNCTION_LINES = 60
LONG_MARK = "Long because"
"""A docstring sentence that starts so gives the reason for a longer function."""

NAMELESS = {"utils", "util", "helpers", "helper", "common", "base", "manager", "misc"}
LAZY_ROOTS = {
    "harness": "offers the abort types and errors without loading the kernel",
}
"""Package roots that may define `__getattr__`, each with the reason."""

_SUPPRESSION = re.compile(r"#\s*(noqa|pyright: ignore|type: ignore|pragma: no cover)(?P<rest>.*)")
_REASON = re.compile(r"[-#]\s.*[a-z]{3,}")


def check_sizes(tree: Tree) -> list[Finding]:
    """Check file and function lengths; docstring lines of a function do not count."""
    findings: list[Finding] = []
    for file in [*tree.sources(), *tree.others("scripts")]:
        n_lines = len(file.lines)
        if n_lines > MAX_FILE_LINES:
            findings.append(file.at(1, f"{n_lines} lines; split at {MAX_FILE_LINES}"))
        findings += _long_functions(file)
    return findings


def check_names(tree: Tree) -> list[Finding]:
    """Refuse module names that name no concept."""
    return [
        file.at(1, f"{part!r} names no concept; name the module by what it contains")
        for file in tree.sources()
        for part in file.module.split(".")[-1:]
        if part.lstrip("_") in NAMELESS
    ]


def check_roots(tree: Tree) -> list[Finding]:
    """Check that a package root holds a docstring, imports and `__all__`, nothing else."""
    findings: list[Finding] = []
    roots = tree.public_roots()
    for file in tree.sources():
        if file.is_init:
            findings += _impure(file)
        elif file.module in roots and _all_of(file) is None:
            findings.append(file.at(1, "a public module states its surface in __all__"))
    return findings


def check_suppressions(tree: Tree) -> list[Finding]:
    """Check that each suppression names its rule and says why, on its line or the one above."""
    findings: list[Finding] = []
    for file in [*tree.sources(), *tree.others("scripts")]:
        for index, line in enumerate(file.lines):
            found = _SUPPRESSION.search(line)
            if found is None or _inside_text(file, index + 1):
                continue
            above = file.lines[index - 1].strip() if index else ""
            if found[1] == "type: ignore":
                findings.append(file.at(index + 1, "write `pyright: ignore[rule]` and why"))
            elif not (_REASON.search(found["rest"]) or above.startswith("# ")):
                findings.append(file.at(index + 1, f"say why: {found.group().strip()!r}"))
    return findings


def public_names(file: SourceFile) -> list[str]:
    """List what `__all__` of a file names, in its order; empty when there is none."""
    return _all_of(file) or []


def _long_functions(file: SourceFile) -> Iterator[Finding]:
    for node in ast.walk(file.tree):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        text = docstring_of(node)
        n_lines = (node.end_lineno or node.lineno) - node.lineno + 1 - _docstring_lines(node)
        if n_lines > MAX_FUNCTION_LINES and LONG_MARK not in text:
            reason = f"{node.name} has {n_lines} lines; split it or say '{LONG_MARK} ...'"
            yield file.at(node.lineno, reason)


def _docstring_lines(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    if not docstring_of(node):
        return 0
    first = node.body[0]
    return (first.end_lineno or first.lineno) - first.lineno + 1


def _impure(file: SourceFile) -> Iterator[Finding]:
    if not docstring_of(file.tree):
        yield file.at(1, "a package root starts with a docstring")
    names = _all_of(file)
    offers = "." in file.module or any(map(_is_import, file.tree.body))
    if names is None and offers:
        yield file.at(1, "a package root ends in a literal __all__")
    elif len(set(names or ())) != len(names or ()):
        yield file.at(1, "__all__ names something twice")
    for node in file.tree.body:
        if not (_is_import(node) or _is_docstring(node) or _is_all(node) or _is_lazy(file, node)):
            yield file.at(node.lineno, "a package root holds re-exports and __all__, nothing else")


def _is_import(node: ast.stmt) -> bool:
    return isinstance(node, ast.Import | ast.ImportFrom)


def _is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _is_all(node: ast.stmt) -> bool:
    return isinstance(node, ast.Assign | ast.AnnAssign) and "__all__" in {
        target.id
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
        if isinstance(target, ast.Name)
    }


def _is_lazy(file: SourceFile, node: ast.stmt) -> bool:
    """Recognise what a declared lazy root needs: its table, `__getattr__` and typed imports."""
    if file.module not in LAZY_ROOTS:
        return False
    if isinstance(node, ast.FunctionDef):
        return node.name in {"__getattr__", "__dir__"}
    if isinstance(node, ast.If):
        return "TYPE_CHECKING" in ast.dump(node.test) and all(map(_is_import, node.body))
    return isinstance(node, ast.Assign | ast.AnnAssign) and isinstance(node.value, ast.Dict)


def _all_of(file: SourceFile) -> list[str] | None:
    for node in file.tree.body:
        if _is_all(node) and isinstance(node, ast.Assign | ast.AnnAssign):
            value = node.value
            if not isinstance(value, ast.List | ast.Tuple):
                return None
            items = [item.value for item in value.elts if isinstance(item, ast.Constant)]
            return [item for item in items if isinstance(item, str)]
    return None


def _inside_text(file: SourceFile, line: int) -> bool:
    """Tell whether a line lies inside a string that spans several lines."""
    return any(
        isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and node.lineno <= line < (node.end_lineno or node.lineno)
        for node in ast.walk(file.tree)
    )
