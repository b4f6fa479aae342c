"""Translating the closed list of `!!js` forms into the same tree as our own dialect.

Operators by how loosely they bind: `?:`, then `??` and `||`, `&&`, `===` and `!==`, `+`, `!`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from typing import Any

from .flaw import Flaw
from .js_tokens import Token, tokens, unsupported
from .limits import MAX_DEPTH
from .tree import Coalesce, measure, placed

_STRENGTH = {"??": 1, "||": 1, "&&": 2, "===": 3, "!==": 3, "+": 4}
_WORDS: dict[str, Any] = {"true": True, "false": False, "null": None, "undefined": None}
_HINTS = {
    "==": "compare with ===",
    "!=": "compare with !==",
    "?.": "leave out the ?: an absent service counts as missing before ??",
    "=>": "functions cannot be written in configuration",
    "require": "modules cannot be loaded from configuration",
    "import": "modules cannot be loaded from configuration",
    "new": "objects cannot be made in configuration",
    "function": "functions cannot be written in configuration",
    "parseInt": "use Number(...)",
    "parseFloat": "use Number(...)",
    "String": "use a template: `${...}`",
    "__dirname": "write !expr base_dir",
}
_CALLS: dict[tuple[str, ...], tuple[str, int, int]] = {
    ("process", "cwd"): ("cwd", 0, 0),
    ("Number",): ("Number", 1, 1),
    ("JSON", "parse"): ("json", 1, 1),
    ("dshHomePath",): ("dsh_home_path", 0, 20),
}
_VALUES: dict[tuple[str, ...], str] = {
    ("process", "platform"): "platform",
    ("process", "execPath"): "executable",
}
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


def parse_javascript(source: str) -> ast.expr:
    """Return the tree of a source; `col_offset` of each node is its offset there.

    Raises:
        Flaw: it is none of the supported forms, or too large.
    """
    if not source.strip():
        raise Flaw("the expression is empty", 0)
    tree = _Parser(source, 0, len(source), depth=0).whole()
    measure(tree)
    return tree


class _Parser:
    """A parser by operator strength over one range of the source.

    Invariants: `_depth` counts the calls on the stack that wait for an operand, and stays within
    the limit; `_grouped` keeps the nodes that stood in brackets of their own.
    """

    def __init__(self, source: str, start: int, end: int, *, depth: int) -> None:
        self._source = source
        self._tokens = tokens(source, start, end)
        self._at = 0
        self._depth = depth
        self._grouped: list[ast.expr] = []

    def whole(self) -> ast.expr:
        """Read everything."""
        node = self._conditional()
        if self._next.kind != "end":
            raise self._unexpected(self._next)
        return node

    @property
    def _next(self) -> Token:
        return self._tokens[self._at]

    def _take(self) -> Token:
        token = self._next
        self._at += token.kind != "end"
        return token

    def _accept(self, sign: str) -> bool:
        is_there = self._next.kind == "sign" and self._next.text == sign
        self._at += is_there
        return is_there

    def _expect(self, sign: str) -> None:
        if not self._accept(sign):
            token = self._next
            raise Flaw(f"{sign!r} expected before {token.text or 'the end'!r}", token.start)

    def _unexpected(self, token: Token) -> Flaw:
        if token.kind == "end":
            return Flaw("the expression ends too early", token.start)
        return unsupported(repr(token.text[:30]), token.start, _HINTS.get(token.text, ""))

    def _descend(self) -> None:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            problem = f"an expression may be at most {MAX_DEPTH} levels deep"
            raise Flaw(problem, self._next.start)

    def _conditional(self) -> ast.expr:
        self._descend()
        test = self._binary(0)
        if self._accept("?"):
            body = self._conditional()
            self._expect(":")
            orelse = self._conditional()
            test = placed(ast.IfExp(test, body, orelse), test.col_offset)
        self._depth -= 1
        return test

    def _binary(self, weakest: int) -> ast.expr:
        left = self._unary()
        while self._next.kind == "sign":
            sign = self._next
            strength = _STRENGTH.get(sign.text, 0)
            if strength <= weakest:
                break
            self._take()
            right = self._binary(strength)
            left = self._combined(sign, left, right)
        return left

    def _combined(self, sign: Token, left: ast.expr, right: ast.expr) -> ast.expr:
        at = left.col_offset
        match sign.text:
            case "??":
                self._refuse_mixture(sign, (left, right), ast.BoolOp)
                return placed(Coalesce(left, right), at)
            case "||":
                self._refuse_mixture(sign, (left, right), Coalesce)
                return placed(ast.BoolOp(ast.Or(), [left, right]), at)
            case "&&":
                return placed(ast.BoolOp(ast.And(), [left, right]), at)
            case "+":
                return placed(ast.BinOp(left, ast.Add(), right), at)
            case _:
                operator = ast.Eq() if sign.text == "===" else ast.NotEq()
                return placed(ast.Compare(left, [operator], [right]), at)

    def _refuse_mixture(
        self, sign: Token, sides: Sequence[ast.expr], other: type[ast.expr]
    ) -> None:
        for side in sides:
            if isinstance(side, other) and side not in self._grouped:
                problem = "?? next to && or || without brackets"
                raise unsupported(problem, sign.start, "put brackets around one of them")

    def _unary(self) -> ast.expr:
        token = self._take()
        match token.kind, token.text:
            case "sign", "!":
                return placed(ast.UnaryOp(ast.Not(), self._operand()), token.start)
            case "sign", "-":
                if self._next.kind != "number":
                    raise unsupported("'-' before something other than a number", token.start)
                return placed(ast.Constant(-self._take().value), token.start)
            case "sign", "(":
                node = self._conditional()
                self._expect(")")
                self._grouped.append(node)
                return node
            case (("number" | "text"), _):
                return placed(ast.Constant(token.value), token.start)
            case "template", _:
                return self._template(token)
            case "word", _:
                return self._chain(token)
            case _:
                raise self._unexpected(token)

    def _operand(self) -> ast.expr:
        self._descend()
        node = self._unary()
        self._depth -= 1
        return node

    def _template(self, token: Token) -> ast.expr:
        pieces: list[ast.expr] = []
        for part in token.value:
            if isinstance(part, str):
                pieces.append(placed(ast.Constant(part), token.start))
                continue
            start, end = part
            if not self._source[start:end].strip():
                raise Flaw("`${}` holds no expression", start)
            inner = _Parser(self._source, start, end, depth=self._depth + 1).whole()
            pieces.append(placed(ast.FormattedValue(inner, -1), inner.col_offset))
        return placed(ast.JoinedStr(pieces), token.start)

    def _chain(self, first: Token) -> ast.expr:
        """Read a dotted name, and its arguments if it is called."""
        names = [first.text]
        while self._accept("."):
            token = self._take()
            if token.kind != "word":
                raise self._unexpected(token)
            names.append(token.text)
        chain = tuple(names)
        if self._next.text in {"?.", "=>"}:
            raise self._unexpected(self._next)
        node = self._called(chain, first) if self._accept("(") else self._read(chain, first)
        if self._next.text in {"(", "[", "."} and self._next.kind == "sign":
            raise unsupported("a member or call of this", self._next.start)
        return node

    def _called(self, chain: tuple[str, ...], first: Token) -> ast.expr:
        known = _CALLS.get(chain)
        if known is None:
            hint = _HINTS.get(chain[0], "the functions are " + ", ".join(map(".".join, _CALLS)))
            raise unsupported(f"{'.'.join(chain)[:40]}()", first.start, hint)
        name, least, most = known
        arguments: list[ast.expr] = []
        while not self._accept(")"):
            if arguments:
                self._expect(",")
            arguments.append(self._conditional())
        if not least <= len(arguments) <= most:
            raise unsupported(f"{'.'.join(chain)}() with {len(arguments)} arguments", first.start)
        function = placed(ast.Name(name, ast.Load()), first.start)
        return placed(ast.Call(function, arguments, []), first.start)

    def _read(self, chain: tuple[str, ...], first: Token) -> ast.expr:
        at = first.start
        match chain:
            case (word,) if word in _WORDS:
                return placed(ast.Constant(_WORDS[word]), at)
            case ("process", "env", variable):
                return self._variable(variable, first)
            case ("process", "env") if self._accept("["):
                token = self._take()
                if token.kind != "text":
                    raise unsupported("a computed name of a variable", token.start)
                self._expect("]")
                return self._variable(token.value, first)
            case ("ctx", service, member):
                owner = placed(
                    ast.Attribute(
                        placed(ast.Name("ctx", ast.Load()), at), self._own(service, first)
                    ),
                    at,
                )
                return placed(ast.Attribute(owner, self._own(member, first)), at)
            case _ if chain in _VALUES:
                return placed(ast.Name(_VALUES[chain], ast.Load()), at)
            case _:
                hint = _HINTS.get(chain[0], "")
                raise unsupported(repr(".".join(chain)[:40]), first.start, hint)

    def _variable(self, name: str, first: Token) -> ast.expr:
        at = first.start
        return placed(
            ast.Subscript(placed(ast.Name("env", ast.Load()), at), placed(ast.Constant(name), at)),
            at,
        )

    def _own(self, name: str, first: Token) -> str:
        """Return our spelling of a member: `baseUrl` is `base_url` here."""
        if name.startswith("_") or "$" in name:
            raise unsupported(f"the private name {name[:40]!r}", first.start)
        return _HUMP.sub("_", name).lower() if _HUMP.search(name) else name
