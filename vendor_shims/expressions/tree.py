"""The tree that both dialects are read into: Python's nodes, and one more for `??`."""

from __future__ import annotations

import ast
from typing import TypeVar

from .flaw import Flaw
from .limits import MAX_DEPTH, MAX_NODES

N = TypeVar("N", bound=ast.expr)


class Coalesce(ast.expr):
    """`left ?? right`: the right side when the left one is None or an absent service."""

    _fields = ("left", "right")
    left: ast.expr
    right: ast.expr

    def __init__(self, left: ast.expr, right: ast.expr) -> None:
        super().__init__()
        self.left = left
        self.right = right


def placed(node: N, offset: int) -> N:
    """Return a new node after telling it its offset in the source."""
    node.lineno, node.col_offset = 1, offset
    return node


_NOT_COUNTED = (ast.expr_context, ast.operator, ast.boolop, ast.unaryop, ast.cmpop)


def measure(tree: ast.expr) -> None:
    """Raise `Flaw` when a tree has too many nodes or is too deep; needs no depth itself."""
    n_nodes = 0
    waiting: list[tuple[ast.AST, int, int]] = [(tree, 1, tree.col_offset)]
    while waiting:
        node, depth, offset = waiting.pop()
        offset = getattr(node, "col_offset", offset)
        n_nodes += 1
        if n_nodes > MAX_NODES:
            raise Flaw(f"an expression may have at most {MAX_NODES} parts", offset)
        if depth > MAX_DEPTH:
            raise Flaw(f"an expression may be at most {MAX_DEPTH} levels deep", offset)
        children = [
            (child, depth + 1, offset)
            for child in ast.iter_child_nodes(node)
            if not isinstance(child, _NOT_COUNTED)
        ]
        waiting.extend(reversed(children))
