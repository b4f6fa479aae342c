"""Read which members a piece of JSON data has off the expression that builds it."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import attrs

from catalogue.names import Callable, Names, assignments, called_name

MAX_DEPTH = 8
"""How many names and calls are followed; data is built close to where it is written."""

PASSING_ON = {"freeze_json", "dict", "FrozenDict"}
"""Functions that give their argument back as data."""


@attrs.define
class Shape:
    """Hold the members of an object.

    `fields` maps names to whether they may be absent. `is_message` says that the members of a
    message are among them, `is_open` that there may be more than can be read.
    """

    fields: dict[str, bool] = attrs.field(factory=dict)
    is_message: bool = False
    is_open: bool = False

    def join(self, other: Shape) -> None:
        """Add what another expression contributes."""
        for name, is_optional in other.fields.items():
            self.fields[name] = self.fields.get(name, True) and is_optional
        self.is_message |= other.is_message
        self.is_open |= other.is_open


@attrs.frozen
class Place:
    """Say where an expression stands, so that the names in it can be looked up."""

    names: Names
    module: str
    function: Callable | None


def shape_of(data: ast.expr | None, place: Place, *, depth: int = 0) -> Shape:
    """Return the shape of an expression; no data has no members."""
    if data is None:
        return Shape()
    if depth > MAX_DEPTH:
        return Shape(is_open=True)
    if isinstance(data, ast.Dict):
        return _of_literal(data, place, depth)
    if isinstance(data, ast.IfExp):
        return _either([shape_of(b, place, depth=depth + 1) for b in (data.body, data.orelse)])
    if isinstance(data, ast.Call):
        return _of_call(data, place, depth)
    if isinstance(data, ast.Name) and place.function is not None:
        return _of_name(data.id, place, depth)
    return _of_attribute(data, place, depth)


def _of_literal(data: ast.Dict, place: Place, depth: int) -> Shape:
    shape = Shape()
    for key, value in zip(data.keys, data.values, strict=True):
        if isinstance(key, ast.Constant) and isinstance(key.value, str):
            shape.fields[key.value] = False
        elif key is None:
            shape.join(shape_of(value, place, depth=depth + 1))
        else:
            shape.is_open = True
    return shape


def _either(shapes: list[Shape]) -> Shape:
    """Join alternatives: what one of them lacks is not always there."""
    joined = Shape(is_open=not shapes)
    for shape in shapes:
        joined.is_message |= shape.is_message
        joined.is_open |= shape.is_open
    for name in dict.fromkeys(name for shape in shapes for name in shape.fields):
        joined.fields[name] = any(shape.fields.get(name, True) for shape in shapes)
    return joined


def _of_call(call: ast.Call, place: Place, depth: int) -> Shape:
    shape = Shape()
    name = called_name(call)
    if name == "to_json":
        owner = call.func.value if isinstance(call.func, ast.Attribute) else call
        shape.is_message = ast.unparse(owner).endswith("message")
        shape.is_open = not shape.is_message
    elif name in PASSING_ON:
        for argument in call.args:
            shape.join(shape_of(argument, place, depth=depth + 1))
        for word in call.keywords:
            if word.arg is None:
                shape.join(shape_of(word.value, place, depth=depth + 1))
            else:
                shape.fields[word.arg] = False
    else:
        shape.join(_of_returns(call, place, depth))
    return shape


def _of_returns(call: ast.Call, place: Place, depth: int) -> Shape:
    """Join what a function of ours may return; of a method nothing is known."""
    symbol = place.names.resolve(place.module, call.func)
    definition = place.names.definitions.get(symbol) if symbol else None
    if definition is None or not isinstance(definition.node, Callable):
        return Shape(is_open=True)
    inner = Place(place.names, definition.symbol.module, definition.node)
    returned = [n.value for n in ast.walk(definition.node) if isinstance(n, ast.Return)]
    return _either([shape_of(value, inner, depth=depth + 1) for value in returned])


def _of_attribute(data: ast.expr, place: Place, depth: int) -> Shape:
    """Join what the class around the expression assigns to the same attribute of `self`."""
    tree = place.names.files[place.module].tree
    owners = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef) and place.function in node.body
    ]
    found: list[Shape] = []
    for method in (item for owner in owners for item in owner.body if isinstance(item, Callable)):
        for statement, _ in _statements(method.body, is_conditional=False):
            for target, value in assignments(statement):
                if ast.unparse(target) == ast.unparse(data):
                    inner = Place(place.names, place.module, method)
                    found.append(shape_of(value, inner, depth=depth + 1))
    return _either(found)


def _of_name(name: str, place: Place, depth: int) -> Shape:
    """Join the assignments of a local name and the members that are put into it later."""
    assert place.function is not None
    whole: list[Shape] = []
    members: dict[str, bool] = {}
    for statement, is_conditional in _statements(place.function.body, is_conditional=False):
        for target, value in assignments(statement):
            if isinstance(target, ast.Name) and target.id == name:
                whole.append(shape_of(value, place, depth=depth + 1))
            elif (member := _member_of(target, name)) is not None:
                members.setdefault(member, is_conditional)
    shape = _either(whole)
    for member, is_optional in members.items():
        shape.fields.setdefault(member, is_optional)
    return shape


def _member_of(target: ast.expr, name: str) -> str | None:
    """Return `key` of a target `name["key"]`."""
    if not isinstance(target, ast.Subscript) or not isinstance(target.value, ast.Name):
        return None
    key = target.slice
    if target.value.id != name or not isinstance(key, ast.Constant):
        return None
    return key.value if isinstance(key.value, str) else None


def _statements(body: list[ast.stmt], *, is_conditional: bool) -> Iterator[tuple[ast.stmt, bool]]:
    """Yield the statements of a body and of its blocks, and whether they may be passed over."""
    for statement in body:
        yield statement, is_conditional
        for field in ("body", "orelse", "finalbody"):
            inner: list[ast.stmt] = getattr(statement, field, [])
            branches = isinstance(statement, ast.If | ast.For | ast.While | ast.Try)
            if not isinstance(statement, Callable | ast.ClassDef):
                yield from _statements(inner, is_conditional=is_conditional or branches)
