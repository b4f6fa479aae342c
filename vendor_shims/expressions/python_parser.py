"""Reading our dialect of Python into a checked tree."""

from __future__ import annotations

import ast
import warnings

from vendor_shims.syntax_tree import parse_expression

from .flaw import Flaw
from .python_grammar import check
from .python_source import MARK, PythonSource
from .tree import Coalesce, measure, placed


def parse_python(source: str) -> ast.expr:
    """Return the tree of a source; columns of its nodes are offsets there.

    Raises:
        Flaw: it is no expression, too large, or uses what is not allowed.
    """
    if "\0" in source:
        raise Flaw("not a valid expression: it holds a NUL character", source.index("\0"))
    prepared = PythonSource(source)
    if not prepared.text.strip():
        raise Flaw("the expression is empty", 0)
    tree = _parsed(prepared)
    for node in ast.walk(tree):
        if isinstance(node, ast.expr | ast.keyword):
            node.col_offset = prepared.byte_offset(node.lineno, node.col_offset)
            end_line, end_column = node.end_lineno or 1, node.end_col_offset or 0
            node.end_col_offset = prepared.byte_offset(end_line, end_column)
    measure(tree)
    tree = _Fold().visit(tree)
    check(tree)
    return tree


def _parsed(prepared: PythonSource) -> ast.expr:
    try:
        with warnings.catch_warnings():
            # Otherwise "\d" would be kept silently by one version of Python and refused by another.
            warnings.simplefilter("error")
            return parse_expression(prepared.text).body
    except SyntaxError as error:
        problem = error.msg.replace(f" or {MARK} or ", "??")
        line, column = error.lineno or 1, (error.offset or 0) - 1
        if problem.startswith("f-string"):
            offset = 0  # Python counts the parts of an f-string from its own beginning.
        elif column < 0:
            offset = len(prepared.source)  # what is missing is missing at the end
        else:
            offset = prepared.offset(line, column)
        raise Flaw(f"not a valid expression: {problem}", offset) from None
    except (ValueError, MemoryError, RecursionError):
        # Lone surrogates; operations nested beyond what the parser takes.
        raise Flaw("not a valid expression: it holds a bad character or is too deep", 0) from None


class _Fold(ast.NodeTransformer):
    """Turns the marked `or` back into `??`; both associate to the left."""

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.expr:
        self.generic_visit(node)
        if not isinstance(node.op, ast.Or):
            return node
        left, waiting = node.values[0], node.values[1:]
        while waiting:
            if len(waiting) > 1 and _is_mark(waiting[0]):
                left = placed(Coalesce(left, waiting[1]), left.col_offset)
                waiting = waiting[2:]
            else:
                left = placed(ast.BoolOp(node.op, [left, waiting[0]]), left.col_offset)
                waiting = waiting[1:]
        return left


def _is_mark(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id == MARK
