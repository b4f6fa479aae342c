"""Turn annotations into nodes, once per class."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from pathlib import Path
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    Literal,
    NewType,
    Union,
    cast,
    get_args,
    get_origin,
    get_type_hints,
)

import attrs

from vendor_shims.schema.config import ALIAS, DOC, EXTRA_ATTRIBUTE, ROLE
from vendor_shims.schema.containers import ListNode, MappingNode, TupleNode
from vendor_shims.schema.errors import SchemaError
from vendor_shims.schema.markers import Constraint
from vendor_shims.schema.node import Dump, Node
from vendor_shims.schema.objects import ObjectField, ObjectNode, is_factory
from vendor_shims.schema.report import Report
from vendor_shims.schema.scalars import (
    AnyNode,
    BooleanNode,
    EnumNode,
    InstanceNode,
    IntegerNode,
    LiteralNode,
    NullNode,
    NumberNode,
    PathNode,
    StringNode,
)
from vendor_shims.schema.unions import UnionNode
from vendor_shims.schema.values import Secret, Volatile
from vendor_shims.schema.wrappers import ConstrainedNode, NullableNode, SecretNode, VolatileNode

_NODE_ATTRIBUTE = "__schema_node__"
_SCALARS: Mapping[Any, Node] = {
    Any: AnyNode(),
    object: AnyNode(),
    None: NullNode(),
    NoneType: NullNode(),
    bool: BooleanNode(),
    int: IntegerNode(),
    float: NumberNode(),
    str: StringNode(),
    Path: PathNode(),
}
_LISTS: Mapping[Any, Any] = {
    list: list,
    Sequence: list,
    Iterable: list,
    set: set,
    frozenset: frozenset,
}
_SCALAR_TYPES = (str, int, bool, NoneType)


def node_of(annotation: Any) -> Node:  # noqa: ANN401  # any type expression
    """Return the node of a type; that of a class is built once and kept on the class.

    Raises:
        SchemaError: The annotation, or one inside it, has no raw form.
    """
    if isinstance(annotation, type) and attrs.has(annotation):
        return object_node(annotation)
    return _compile(annotation, repr(annotation))


def object_node(cls: type) -> ObjectNode:
    """Return the node of an attrs class.

    Raises:
        SchemaError: One of its annotations has no raw form, or a default breaks its own rules.
    """
    found = cls.__dict__.get(_NODE_ATTRIBUTE)
    if found is not None:
        return cast("ObjectNode", found)
    node = ObjectNode(cls)
    setattr(cls, _NODE_ATTRIBUTE, node)
    try:
        _fill(node)
    except BaseException:
        delattr(cls, _NODE_ATTRIBUTE)
        raise
    return node


def wrapper_of(cls: type, name: str) -> type[Secret[Any] | Volatile[Any]] | None:
    """Return what the values of a field are wrapped in, None for most fields."""
    field = object_node(cls).field(name)
    node = None if field is None else field.node
    if isinstance(node, NullableNode):
        node = node.inner
    if isinstance(node, SecretNode):
        return Secret
    return Volatile if isinstance(node, VolatileNode) else None


def wire_name(name: str) -> str:
    """Return the camelCase key of a Python name."""
    head, *tail = name.strip("_").split("_")
    return head + "".join(part[:1].upper() + part[1:] for part in tail)


def _fill(node: ObjectNode) -> None:
    cls = node.cls
    hints = _hints(cls)
    collects = getattr(cls, EXTRA_ATTRIBUTE, "forbid") == "allow"
    fields: list[ObjectField] = []
    for attribute in attrs.fields(cls):
        if not attribute.init:
            continue
        where = f"{cls.__name__}.{attribute.name}"
        compiled = _compile(hints.get(attribute.name, Any), where)
        made = ObjectField(
            name=attribute.name,
            argument=attribute.alias or attribute.name,
            wire=attribute.metadata.get(ALIAS) or wire_name(attribute.name),
            node=compiled,
            default=attribute.default,
            doc=attribute.metadata.get(DOC, ""),
            role=attribute.metadata.get(ROLE, ""),
        )
        if collects and attribute.name == "extra":
            if not isinstance(compiled, MappingNode):
                raise SchemaError(f"{where} must be a mapping, it collects unknown keys")
            node.rest = made
        else:
            fields.append(made)
    node.fields = tuple(fields)
    for made in fields:
        _check_default(made, cls)


def _hints(cls: type) -> dict[str, Any]:
    try:
        return get_type_hints(cls, localns={cls.__name__: cls}, include_extras=True)
    except NameError as error:
        module = sys.modules.get(cls.__module__)
        where = getattr(module, "__name__", cls.__module__)
        raise SchemaError(
            f"{cls.__name__}: cannot resolve an annotation in {where}: {error}"
        ) from error


def _check_default(field: ObjectField, cls: type) -> None:
    if field.is_required or is_factory(field.default):
        return
    report = Report()
    field.node.check(field.node.dump(field.default, Dump(reveal=True)), (field.wire,), report)
    if report.n_found:
        problems = [issue.render() for issue in report.issues]
        raise SchemaError(f"{cls.__name__}.{field.name}: the default is not valid", problems)


def _compile(annotation: Any, where: str) -> Node:  # noqa: ANN401  # any type expression
    try:
        scalar = _SCALARS.get(annotation)
    except TypeError:  # an unhashable annotation, such as Literal[[]]
        scalar = None
    if scalar is not None:
        return scalar
    origin = get_origin(annotation)
    if origin is not None:
        return _special(origin, get_args(annotation), where)
    if isinstance(annotation, NewType):
        return _compile(annotation.__supertype__, where)
    if isinstance(annotation, type):
        return _class(annotation, where)
    raise SchemaError(f"{where}: {annotation!r} is not a type that configuration can have")


def _special(origin: Any, arguments: tuple[Any, ...], where: str) -> Node:  # noqa: ANN401  # as above
    if origin is Annotated:
        rules = tuple(rule for rule in arguments[1:] if isinstance(rule, Constraint))
        return _constrain(_compile(arguments[0], where), rules, where)
    if origin is Union or origin is UnionType:
        return _union(arguments, where)
    if origin is Literal:
        return _literal(arguments, where)
    if origin is Secret:
        return SecretNode(_compile(arguments[0], where))
    if origin is Volatile:
        return VolatileNode(_compile(arguments[0], where))
    return _container(origin, arguments, where)


def _class(cls: type[Any], where: str) -> Node:
    if cls in {list, set, frozenset, tuple, dict}:
        return _container(cls, (Any, ...) if cls is tuple else (), where)
    if attrs.has(cls):
        return object_node(cls)
    return EnumNode(cls) if issubclass(cls, Enum) else InstanceNode(cls)


def _container(origin: Any, arguments: tuple[Any, ...], where: str) -> Node:  # noqa: ANN401  # a class
    if origin is tuple and arguments[1:] == (...,):
        return ListNode(_member(arguments[0], where), tuple)
    if origin is tuple:
        return TupleNode(tuple(_member(argument, where) for argument in arguments))
    if origin in _LISTS:
        return ListNode(_member(arguments[0] if arguments else Any, where), _LISTS[origin])
    if isinstance(origin, type) and issubclass(origin, dict | Mapping):
        key, member = arguments or (str, Any)
        if not isinstance(_compile(key, where), StringNode):
            raise SchemaError(f"{where}: keys of a mapping must be str, not {key!r}")
        return MappingNode(_member(member, where))
    raise SchemaError(f"{where}: {origin!r} has no raw form")


def _member(annotation: Any, where: str) -> Node:  # noqa: ANN401  # any type expression
    node = _compile(annotation, where)
    if isinstance(node, VolatileNode):
        raise SchemaError(f"{where}: Volatile[...] must be the whole type of a field")
    return node


def _union(arguments: tuple[Any, ...], where: str) -> Node:
    members = tuple(_member(a, where) for a in arguments if a is not NoneType)
    inner = members[0] if len(members) == 1 else UnionNode(members)
    return NullableNode(inner) if NoneType in arguments else inner


def _literal(values: tuple[Any, ...], where: str) -> Node:
    for value in values:
        if type(value) not in _SCALAR_TYPES:
            raise SchemaError(
                f"{where}: a literal must be text, number, boolean or None: {value!r}"
            )
    return LiteralNode(values)


def _constrain(node: Node, rules: tuple[Constraint, ...], where: str) -> Node:
    if not rules:
        return node
    if isinstance(node, NullableNode | SecretNode | VolatileNode):
        return type(node)(_constrain(node.inner, rules, where))
    for rule in rules:
        if node.kind not in rule.kinds:
            raise SchemaError(
                f"{where}: {type(rule).__name__} does not fit a value of type {node.expected}"
            )
    return ConstrainedNode(node, rules)
