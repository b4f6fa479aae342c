"""Find descriptions that stand as docstrings under the fields of a class."""

from __future__ import annotations

import ast
import inspect
import itertools
import textwrap

from vendor_shims.syntax_tree import parse_module


def field_docs(cls: type) -> dict[str, str]:
    """Return the docstrings under annotated fields of `cls` and its bases, by field name.

    Empty when the source cannot be read, as in a compiled distribution.
    """
    docs: dict[str, str] = {}
    for base in reversed(cls.__mro__[:-1]):
        docs.update(_own_docs(base))
    return docs


def _own_docs(cls: type) -> dict[str, str]:
    try:
        tree = parse_module(textwrap.dedent(inspect.getsource(cls)))
    except (OSError, TypeError, SyntaxError):
        return {}
    body = tree.body[0].body if isinstance(tree.body[0], ast.ClassDef) else []
    docs: dict[str, str] = {}
    for statement, following in itertools.pairwise(body):
        if (
            isinstance(statement, ast.AnnAssign)
            and isinstance(statement.target, ast.Name)
            and isinstance(following, ast.Expr)
            and isinstance(following.value, ast.Constant)
            and isinstance(following.value.value, str)
        ):
            docs[statement.target.id] = inspect.cleandoc(following.value.value)
    return docs
