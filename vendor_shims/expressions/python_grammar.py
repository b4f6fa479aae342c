"""What our dialect of Python allows; everything else is refused before it is ever evaluated."""

from __future__ import annotations

import ast
from collections.abc import Callable
from difflib import get_close_matches
from typing import Any

from .flaw import Flaw
from .functions import FUNCTIONS, METHODS, Function
from .tree import Coalesce

VALUES = frozenset(("platform", "home", "base_dir", "executable", "version"))
"""Names that are values by themselves."""

_HOLDERS = {
    "env": 'read one variable: env.NAME, env["NAME"] or env("NAME", "default")',
    "ctx": "read a service's member: ctx.service.member",
    "path": "it has one function: path.join(...)",
}
_CLOSED_OVER = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_WORDS: dict[type[ast.AST], str] = {
    ast.Lambda: "a lambda",
    ast.NamedExpr: "`:=`",
    ast.Await: "await",
    ast.Yield: "yield",
    ast.YieldFrom: "yield",
    ast.Starred: "`*` before a value",
    ast.Set: "a set",
    **dict.fromkeys(_CLOSED_OVER, "a comprehension"),
}
_BINARY = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod)
_OPERATOR_SIGNS: dict[type[ast.AST], str] = {
    ast.Pow: "**",
    ast.MatMult: "@",
    ast.LShift: "<<",
    ast.RShift: ">>",
    ast.BitAnd: "&",
    ast.BitOr: "|",
    ast.BitXor: "^",
    ast.Invert: "~",
}


def check(node: ast.expr) -> None:
    """Raise `Flaw` at the first part of a measured tree that is not allowed."""
    checker = _CHECKERS.get(type(node))
    if checker is None:
        raise Flaw(f"{_WORDS.get(type(node), type(node).__name__)} is not allowed", node.col_offset)
    checker(node)


def _check_all(*nodes: ast.expr | None) -> None:
    for node in nodes:
        if node is not None:
            check(node)


def _constant(node: ast.Constant) -> None:
    if not isinstance(node.value, str | int | float | None):
        kind = "..." if node.value is ... else type(node.value).__name__
        raise Flaw(f"a constant of type {kind} is not allowed", node.col_offset)


def _name(node: ast.Name) -> None:
    name = node.id
    if name in VALUES:
        return
    if name in _HOLDERS:
        raise Flaw(f"{name} is not a value; {_HOLDERS[name]}", node.col_offset)
    if name in FUNCTIONS:
        raise Flaw(f"{name} is a function; write {name}(...)", node.col_offset)
    if name.startswith("_"):
        raise Flaw(f"{name!r} is private; no name may begin with an underscore", node.col_offset)
    known = [*VALUES, *_HOLDERS, *FUNCTIONS]
    close = get_close_matches(name, known, n=1)
    hint = f"did you mean {close[0]!r}?" if close else "quote a text"
    if name.isupper():
        hint = f"an environment variable is env.{name}"
    raise Flaw(f"there is no name {name!r}; {hint}", node.col_offset)


def _attribute(node: ast.Attribute) -> None:
    _require_public(node)
    if _is_named(node.value, "env", "ctx"):
        return
    if isinstance(node.value, ast.Attribute) and _is_named(node.value.value, "ctx"):
        _require_public(node.value)
        return
    raise Flaw(
        f"the attribute {node.attr!r} cannot be read here; only env.NAME, ctx.service and"
        " ctx.service.member have attributes",
        _attribute_offset(node),
    )


def _subscript(node: ast.Subscript) -> None:
    index = node.slice
    if not _is_named(node.value, "env"):
        check(node.value)
    elif isinstance(index, ast.Slice):
        raise Flaw("env has variables, not ranges", index.col_offset)
    if isinstance(index, ast.Slice):
        _check_all(index.lower, index.upper, index.step)
    else:
        check(index)


def _call(node: ast.Call) -> None:
    if node.keywords:
        raise Flaw("arguments by name are not allowed", node.keywords[0].col_offset)
    called = node.func
    if isinstance(called, ast.Name) and called.id in FUNCTIONS:
        known = FUNCTIONS[called.id]
    elif isinstance(called, ast.Attribute) and _is_named(called.value, "path"):
        if called.attr != "join":
            raise Flaw("path has one function: path.join(...)", _attribute_offset(called))
        known = FUNCTIONS["path.join"]
    elif isinstance(called, ast.Attribute):
        known = _method(called)
    else:
        text = f"{called.id}()" if isinstance(called, ast.Name) else "calling this"
        raise Flaw(f"{text} is not allowed; the functions are {_listed()}", called.col_offset)
    if known is not None and not known.accepts(len(node.args)):
        raise Flaw(f"wrong number of arguments; {known.usage}", node.col_offset)
    _check_all(*node.args)


def _method(called: ast.Attribute) -> Function | None:
    """Check the callee of a method; return its signature, or None when a service has it."""
    _require_public(called)
    owner = called.value
    if isinstance(owner, ast.Attribute) and _is_named(owner.value, "ctx"):
        _require_public(owner)
        return None
    method = METHODS.get(called.attr)
    if method is None:
        names = ", ".join(sorted(METHODS))
        raise Flaw(
            f"the method {called.attr!r} is not allowed; those are {names}",
            _attribute_offset(called),
        )
    if _is_named(owner, "env"):
        raise Flaw('write env("NAME", "default")', _attribute_offset(called))
    check(owner)
    return method


def _binary(node: ast.BinOp) -> None:
    if not isinstance(node.op, _BINARY):
        raise Flaw(f"the operator {_OPERATOR_SIGNS[type(node.op)]} is not allowed", node.col_offset)
    _check_all(node.left, node.right)


def _unary(node: ast.UnaryOp) -> None:
    if isinstance(node.op, ast.Invert):
        raise Flaw("the operator ~ is not allowed", node.col_offset)
    check(node.operand)


def _compare(node: ast.Compare) -> None:
    check(node.left)
    left = node.left
    for operator, right in zip(node.ops, node.comparators, strict=True):
        if isinstance(operator, ast.Is | ast.IsNot):
            if not (_is_none(left) or _is_none(right)):
                raise Flaw("`is` compares with None only; use ==", right.col_offset)
            check(right)
        elif not (isinstance(operator, ast.In | ast.NotIn) and _is_named(right, "env")):
            check(right)
        left = right


def _dict(node: ast.Dict) -> None:
    for key, value in zip(node.keys, node.values, strict=True):
        if key is None:
            raise Flaw("`**` before a value is not allowed", value.col_offset)
        check(key)
        check(value)


def _formatted(node: ast.FormattedValue) -> None:
    _check_all(node.value, node.format_spec)


def _require_public(node: ast.Attribute) -> None:
    if node.attr.startswith("_"):
        raise Flaw(
            f"{node.attr!r} is private; no name may begin with an underscore",
            _attribute_offset(node),
        )


def _is_named(node: ast.expr, *names: str) -> bool:
    return isinstance(node, ast.Name) and node.id in names


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _attribute_offset(node: ast.Attribute) -> int:
    """Return the offset of an attribute's own name."""
    return (node.end_col_offset or 0) - len(node.attr)


def _listed() -> str:
    return ", ".join(sorted(FUNCTIONS))


_CHECKERS: dict[type[ast.AST], Callable[[Any], None]] = {
    ast.Constant: _constant,
    ast.Name: _name,
    ast.Attribute: _attribute,
    ast.Subscript: _subscript,
    ast.Call: _call,
    ast.BinOp: _binary,
    ast.UnaryOp: _unary,
    ast.Compare: _compare,
    ast.Dict: _dict,
    ast.FormattedValue: _formatted,
    ast.BoolOp: lambda node: _check_all(*node.values),
    Coalesce: lambda node: _check_all(node.left, node.right),
    ast.IfExp: lambda node: _check_all(node.test, node.body, node.orelse),
    ast.List: lambda node: _check_all(*node.elts),
    ast.Tuple: lambda node: _check_all(*node.elts),
    ast.JoinedStr: lambda node: _check_all(*node.values),
}
