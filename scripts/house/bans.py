"""Refuse the calls that may happen in one place only: JSON, line splitting, bare tasks."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from house.imports import imports_of
from house.tree import Finding, SourceFile, Tree

WIRE = "harness.wire"
KERNEL = "vendor_shims.cordis"
JSON_MODULES = {"json", "orjson"}
BELOW = {"vendor_shims.expressions"}
"""Packages below the one that reads JSON, which need it for texts of configuration alone."""


def check_bans(tree: Tree) -> list[Finding]:
    """Check the three floors and the examples for calls that belong elsewhere."""
    findings: list[Finding] = []
    for file in [*tree.sources(), *tree.others("examples")]:
        if file.package != WIRE:
            findings += _json(file)
            findings += _line_splitting(file)
        if file.package != KERNEL:
            findings += _bare_tasks(file)
    return findings


def _json(file: SourceFile) -> Iterator[Finding]:
    for item in imports_of(file):
        if item.module in JSON_MODULES and not (file.package in BELOW and item.module == "orjson"):
            yield file.at(item.line, f"{item.module}: JSON is read and written by {WIRE} only")


def _line_splitting(file: SourceFile) -> Iterator[Finding]:
    for node in ast.walk(file.tree):
        if isinstance(node, ast.Attribute) and node.attr == "splitlines":
            yield file.at(node.lineno, f"splitlines() splits inside JSON texts; use {WIRE}")
        if isinstance(node, ast.Await) and _called(node.value) == "readline":
            yield file.at(node.lineno, f"StreamReader.readline has a size limit; use {WIRE}")


def _bare_tasks(file: SourceFile) -> Iterator[Finding]:
    for node in ast.walk(file.tree):
        if isinstance(node, ast.Call) and _starts_bare_task(node.func):
            yield file.at(node.lineno, "a task needs an owner: ctx.spawn or a task group")
        if isinstance(node, ast.ImportFrom) and node.module == "asyncio":
            for alias in node.names:
                if alias.name in {"create_task", "ensure_future"}:
                    yield file.at(node.lineno, "a task needs an owner: ctx.spawn or a task group")


def _starts_bare_task(called: ast.expr) -> bool:
    """Recognise `asyncio.create_task`, `ensure_future` and any loop's; a task group is fine."""
    if not isinstance(called, ast.Attribute):
        return False
    if called.attr == "ensure_future":
        return True
    receiver = ast.unparse(called.value)
    owner = receiver.removesuffix("()").split(".")[-1].lower()
    return called.attr == "create_task" and (owner == "asyncio" or owner.endswith("loop"))


def _called(node: ast.expr) -> str:
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return node.func.attr
    return ""
