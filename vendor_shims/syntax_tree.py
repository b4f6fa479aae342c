"""Parse Python source into a tree, whatever the garbage collector does meanwhile.

A finaliser that parses, such as one that logs a traceback, disturbs a parse that it interrupts:
CPython 3.11 then raises `SystemError: AST constructor recursion depth mismatch`.
"""

from __future__ import annotations

import ast
import gc
from collections.abc import Generator
from contextlib import contextmanager

__all__ = ["parse_expression", "parse_module"]


def parse_module(source: str | bytes, path: str = "<unknown>") -> ast.Module:
    """Return the tree of a module.

    Raises:
        SyntaxError, ValueError, MemoryError, RecursionError: as `ast.parse` does.
    """
    with _no_collection():
        return ast.parse(source, path)


def parse_expression(source: str) -> ast.Expression:
    """Return the tree of an expression; it raises what `parse_module` does."""
    with _no_collection():
        return ast.parse(source, mode="eval")


@contextmanager
def _no_collection() -> Generator[None]:
    is_collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if is_collecting:
            gc.enable()
