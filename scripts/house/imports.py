"""Hold the import contract: three floors, packages by their root, no plugin from a plugin."""

from __future__ import annotations

import ast
import re
from collections import deque
from collections.abc import Iterator

import attrs

from house.shape import public_names
from house.tree import FLOORS, Finding, SourceFile, Tree, package_of

COMPOSERS = {
    "harness_plugins.agent_core": "the bundle that composes the agent by design",
    "harness_plugins.launcher": "the command composes a profile and starts it",
    "harness_plugins.subagent_spawn": "built on the in-process driver, a library of its family",
    "harness_plugins.subagent_fork": "built on the in-process driver, a library of its family",
}
"""Plugins that may import other plugins, each with its reason; bundles are added by name."""

BUNDLE_PREFIX = "harness_plugins.bundle_"
"""Application profiles: packages whose only content is a composition."""

OPEN_MODULES = {
    "vendor_shims.cordis.errors": "what the kernel loads needs it, and harness.errors",
}
"""Modules below a package root that others may import, each with its reason."""

TEST_PART = re.compile(r"\w+\.testing\.\w+$")
"""Parts of a floor's `testing` package that need hypothesis, so that its root leaves them out."""

ORDER = list(FLOORS)


@attrs.frozen
class Import:
    """Describe one imported module as written in one file."""

    module: str
    names: tuple[str, ...]
    line: int
    deferred: bool
    """Inside a function or a `TYPE_CHECKING` block, so it takes no part in import order."""


def imports_of(file: SourceFile) -> Iterator[Import]:
    """Yield the imports of a file with relative ones resolved, in source order."""
    yield from _walk(file, file.tree, deferred=False)


def check_imports(tree: Tree) -> list[Finding]:
    """Check each import between packages of the three floors against the contract."""
    modules = {file.module: file for file in tree.sources()}
    roots = tree.public_roots()
    findings: list[Finding] = []
    for file in modules.values():
        for target, item in _own_imports(file, modules):
            findings += _check_floor(file, target, item)
            findings += _check_plugins(file, target, item)
            findings += _check_root(file, target, item, roots)
    return findings


def check_outside_imports(tree: Tree) -> list[Finding]:
    """Check that tests, examples and benchmarks use packages by their root, as users do."""
    modules = {file.module: file for file in tree.sources()}
    roots = tree.public_roots()
    return [
        finding
        for file in tree.others("tests", "examples", "benchmarks")
        for target, item in _own_imports(file, modules)
        for finding in _check_root(file, target, item, roots)
    ]


def check_cycles(tree: Tree) -> list[Finding]:
    """Check that no package loads another one that loads it back.

    What counts is the order of loading, module by module: imports inside functions take no part in
    it, and neither does a module that its package root does not load.
    """
    modules = {file.module: file for file in tree.sources()}
    graph: dict[str, list[str]] = {module: [] for module in modules}
    crossings: list[tuple[SourceFile, Import, str]] = []
    for file in modules.values():
        for target, item in _own_imports(file, modules):
            if item.deferred or target not in modules:
                continue
            graph[file.module].append(target)
            if package_of(target) != file.package:
                # A module of another package comes with the root of that package.
                graph[file.module].append(package_of(target))
                crossings.append((file, item, target))
    findings: list[Finding] = []
    for file, item, target in crossings:
        root = package_of(target)
        if way := _way(graph, target, file.module) or _way(graph, root, file.module):
            names = " -> ".join(dict.fromkeys(map(package_of, [file.module, *way])))
            findings.append(file.at(item.line, f"a circle: {names} -> {file.package}"))
    return findings


def _walk(file: SourceFile, node: ast.AST, *, deferred: bool) -> Iterator[Import]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import):
            for alias in child.names:
                yield Import(alias.name, (), child.lineno, deferred)
        elif isinstance(child, ast.ImportFrom):
            names = tuple(alias.name for alias in child.names)
            yield Import(_resolve(file, child), names, child.lineno, deferred)
        else:
            inner = deferred or isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef)
            inner = inner or (isinstance(child, ast.If) and "TYPE_CHECKING" in ast.dump(child.test))
            yield from _walk(file, child, deferred=inner)


def _resolve(file: SourceFile, node: ast.ImportFrom) -> str:
    if not node.level:
        return node.module or ""
    parts = file.module.split(".")
    keep = len(parts) - node.level + (1 if file.is_init else 0)
    return ".".join([*parts[:keep], *([node.module] if node.module else [])])


def _own_imports(file: SourceFile, modules: dict[str, SourceFile]) -> Iterator[tuple[str, Import]]:
    """Yield what a file imports from the floors; `from a import b` of a module is `a.b`."""
    for item in imports_of(file):
        if item.module.partition(".")[0] not in FLOORS:
            continue
        targets = {item.module}
        if item.names:
            offered = public_names(modules[item.module]) if item.module in modules else []
            targets = {
                inner
                if (inner := f"{item.module}.{name}") in modules and name not in offered
                else item.module
                for name in item.names
            }
        for target in sorted(targets):
            yield target, item


def _check_floor(file: SourceFile, target: str, item: Import) -> Iterator[Finding]:
    here, there = (name.partition(".")[0] for name in (file.module, target))
    if ORDER.index(there) > ORDER.index(here):
        yield file.at(item.line, f"{here} must not import {there}")


def _check_plugins(file: SourceFile, target: str, item: Import) -> Iterator[Finding]:
    package = package_of(target)
    if not (file.package.startswith("harness_plugins.") and package.startswith("harness_plugins.")):
        return
    composes = file.package in COMPOSERS or file.package.startswith(BUNDLE_PREFIX)
    if package != file.package and not composes:
        yield file.at(item.line, f"a plugin imports {package}")


def _check_root(
    file: SourceFile, target: str, item: Import, roots: dict[str, SourceFile]
) -> Iterator[Finding]:
    if file.module and package_of(target) == file.package:
        return
    if target in roots or target in OPEN_MODULES or TEST_PART.match(target):
        return
    package = package_of(target)
    if package in roots:
        yield file.at(item.line, f"import {package}, the root of {target}")
    else:
        yield file.at(item.line, f"there is no package {package}")


def _way(graph: dict[str, list[str]], start: str, goal: str) -> list[str]:
    """Find how one module loads another, as the modules on the way; empty when it does not."""
    reached: dict[str, list[str]] = {start: [start]}
    waiting = deque([start])
    while waiting:
        module = waiting.popleft()
        if module == goal:
            return reached[module]
        for target in graph.get(module, ()):
            if target not in reached:
                reached[target] = [*reached[module], target]
                waiting.append(target)
    return []
