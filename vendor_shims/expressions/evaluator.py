"""Computing the value of a checked tree."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, cast

from vendor_shims.cordis import ServiceInactive

from .expression import Value
from .flaw import Absent, Flaw
from .functions import FUNCTIONS, METHODS, Function, Scope
from .limits import Budget
from .names import Names
from .operations import (
    BINARY,
    ORDER,
    as_text,
    contains,
    equal,
    formatted,
    is_plain,
    item,
    negative,
    number,
    truth,
)
from .readable import read_member
from .tree import Coalesce

_CONVERSIONS: dict[int, Callable[[object], str]] = {ord("r"): repr, ord("a"): ascii}


class Evaluator:
    """Walks a tree once; what truth, `+`, equality and text mean is up to the dialect.

    Invariants: every step ends with a value within the limits or with a `Flaw` that has an offset.
    """

    functions: ClassVar[Mapping[str, Function]] = FUNCTIONS

    def __init__(self, names: Names) -> None:
        self.names = names
        self.budget = Budget()
        self.scope = Scope(names, self.budget)

    def value(self, node: ast.expr) -> Value:
        """Return the value of a node; raises `Flaw` with the offset of the innermost node."""
        try:
            return _STEPS[type(node)](self, node)
        except Flaw as flaw:
            if flaw.offset is None:
                flaw.offset = node.col_offset
            raise
        except ZeroDivisionError:
            raise Flaw("division by zero", node.col_offset) from None
        except RecursionError:
            raise Flaw("the value or the expression is too deep", node.col_offset) from None
        except (ArithmeticError, TypeError, ValueError, MemoryError) as error:
            # The text of such an error may hold the value, which may be a secret.
            problem = f"this cannot be computed ({type(error).__name__})"
            raise Flaw(problem, node.col_offset) from None

    # -- what a dialect may change -----------------------------------------------------------

    def truth(self, value: object) -> bool:
        """Return whether a value counts as true."""
        return truth(value)

    def add(self, left: object, right: object) -> object:
        """Return `left + right`."""
        return BINARY[ast.Add](left, right, self.budget)

    def equal(self, left: object, right: object) -> bool:
        """Return `left == right`."""
        return equal(left, right)

    def text(self, value: object) -> str:
        """Return a value as a piece of a text."""
        return as_text(value, self.budget)

    # -- names -------------------------------------------------------------------------------

    def constant(self, node: ast.Constant) -> object:
        """Return a literal."""
        return node.value

    def name(self, node: ast.Name) -> object:
        """Return one of the plain names."""
        return getattr(self.names, node.id)

    def attribute(self, node: ast.Attribute) -> object:
        """Return `env.NAME`, `ctx.service` or `ctx.service.member`."""
        owner = node.value
        if isinstance(owner, ast.Name):
            return self.names.env.get(node.attr) if owner.id == "env" else self.service(node)
        holder = self.value(owner)
        if isinstance(holder, Mapping):
            return item(cast("object", holder), node.attr, self.budget)
        return read_member(holder, node.attr)

    def service(self, node: ast.Attribute) -> object:
        """Return the service that the context may read under a name."""
        ctx, name = self.names.ctx, node.attr
        if ctx is None:
            raise Flaw("no services can be read here")
        if name in ctx.member_names() or name in ctx.own_tags:
            raise Flaw(f"ctx.{name} is no service; an expression reads services only")
        try:
            return getattr(ctx, name)
        except ServiceInactive as error:
            raise Absent(str(error)) from error
        except Exception as error:
            raise Flaw(str(error)) from error

    def call(self, node: ast.Call) -> object:
        """Call a function, a method of a plain value, or a marked method of a service."""
        called = node.func
        if isinstance(called, ast.Name):
            return self.functions[called.id].run(self.scope, self._values(node.args))
        called = cast("ast.Attribute", called)
        if isinstance(called.value, ast.Name) and called.value.id == "path":
            return FUNCTIONS["path.join"].run(self.scope, self._values(node.args))
        holder = self.value(called.value)
        arguments = self._values(node.args)
        if not is_plain(holder):
            return read_member(holder, called.attr, arguments)
        method = METHODS.get(called.attr)
        if method is None or not method.accepts(len(arguments)):
            raise Flaw(f"a {type(holder).__name__} has no such method")
        return method.run(self.scope, [holder, *arguments])

    def subscript(self, node: ast.Subscript) -> object:
        """Return an item, a range, or a variable of the environment."""
        index = self._index(node.slice)
        if isinstance(node.value, ast.Name) and node.value.id == "env":
            return FUNCTIONS["env"].run(self.scope, [index])
        return item(self.value(node.value), index, self.budget)

    def _index(self, node: ast.expr) -> object:
        if not isinstance(node, ast.Slice):
            return self.value(node)
        bounds = [part and self.value(part) for part in (node.lower, node.upper, node.step)]
        return slice(*bounds)

    def _values(self, nodes: Sequence[ast.expr]) -> list[Any]:
        return [self.value(node) for node in nodes]

    # -- operators ---------------------------------------------------------------------------

    def coalesce(self, node: Coalesce) -> object:
        """Return the left value, or the right one for None and for an absent service."""
        try:
            left = self.value(node.left)
        except Absent:
            left = None
        return self.value(node.right) if left is None else left

    def bool_op(self, node: ast.BoolOp) -> object:
        """Return the first value that decides `and` or `or`."""
        decides = isinstance(node.op, ast.Or)
        result: object = None
        for one in node.values:
            result = self.value(one)
            if self.truth(result) is decides:
                break
        return result

    def binary(self, node: ast.BinOp) -> object:
        """Return the result of an operator."""
        left, right = self.value(node.left), self.value(node.right)
        if isinstance(node.op, ast.Add):
            return self.add(left, right)
        return BINARY[type(node.op)](left, right, self.budget)

    def unary(self, node: ast.UnaryOp) -> object:
        """Return `not value`, `-value` or `+value`."""
        value = self.value(node.operand)
        if isinstance(node.op, ast.Not):
            return not self.truth(value)
        return negative(value) if isinstance(node.op, ast.USub) else number(value, "+")

    def compare(self, node: ast.Compare) -> bool:
        """Return whether every comparison of a chain holds."""
        left = self.value(node.left)
        for operator, right_node in zip(node.ops, node.comparators, strict=True):
            if isinstance(right_node, ast.Name) and right_node.id == "env":
                right: object = self.names.env
            else:
                right = self.value(right_node)
            if not self._holds(operator, left, right):
                return False
            left = right
        return True

    def _holds(self, operator: ast.cmpop, left: object, right: object) -> bool:
        match operator:
            case ast.Is() | ast.IsNot():
                return (left is right) is isinstance(operator, ast.Is)
            case ast.Eq() | ast.NotEq():
                return self.equal(left, right) is isinstance(operator, ast.Eq)
            case ast.In() | ast.NotIn():
                return contains(right, left) is isinstance(operator, ast.In)
            case _:
                return ORDER[type(operator)](left, right)

    def conditional(self, node: ast.IfExp) -> object:
        """Return one of two values."""
        return self.value(node.body if self.truth(self.value(node.test)) else node.orelse)

    # -- displays ----------------------------------------------------------------------------

    def list_display(self, node: ast.List) -> list[Any]:
        """Return a new list."""
        return self._values(node.elts)

    def tuple_display(self, node: ast.Tuple) -> tuple[Any, ...]:
        """Return a tuple."""
        return tuple(self._values(node.elts))

    def dict_display(self, node: ast.Dict) -> dict[Any, Any]:
        """Return a new mapping."""
        made: dict[Any, Any] = {}
        for key_node, value_node in zip(node.keys, node.values, strict=True):
            key = self.value(cast("ast.expr", key_node))
            if isinstance(key, list | tuple | Mapping) or not is_plain(key):
                raise Flaw("a key is a text or a number")
            made[key] = self.value(value_node)
        return made

    def joined(self, node: ast.JoinedStr) -> str:
        """Return an f-string."""
        pieces = self._values(node.values)
        self.budget.text(sum(map(len, pieces)))
        return "".join(pieces)

    def formatted_value(self, node: ast.FormattedValue) -> str:
        """Return a field of an f-string."""
        value = self.value(node.value)
        spec = "" if node.format_spec is None else self.value(node.format_spec)
        convert = _CONVERSIONS.get(node.conversion)
        if convert is not None:
            self.budget.text(len(as_text(value, self.budget)))
            value = convert(value)
        elif node.conversion == ord("s") or not spec:
            value = self.text(value)
        return formatted(value, spec, self.budget)


_STEPS: dict[type[ast.AST], Callable[[Evaluator, Any], Any]] = {
    ast.Constant: Evaluator.constant,
    ast.Name: Evaluator.name,
    ast.Attribute: Evaluator.attribute,
    ast.Subscript: Evaluator.subscript,
    ast.Call: Evaluator.call,
    ast.BinOp: Evaluator.binary,
    ast.UnaryOp: Evaluator.unary,
    ast.BoolOp: Evaluator.bool_op,
    Coalesce: Evaluator.coalesce,
    ast.Compare: Evaluator.compare,
    ast.IfExp: Evaluator.conditional,
    ast.List: Evaluator.list_display,
    ast.Tuple: Evaluator.tuple_display,
    ast.Dict: Evaluator.dict_display,
    ast.JoinedStr: Evaluator.joined,
    ast.FormattedValue: Evaluator.formatted_value,
}
