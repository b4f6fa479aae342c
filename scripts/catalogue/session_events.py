"""List the kinds of events that a session log may hold, with their data and who writes them."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator

import attrs

from catalogue.data_shape import Place, Shape, shape_of
from catalogue.markdown import code, codes, page, table
from catalogue.names import Callable, Names, Symbol, called_name, walk_with_functions
from house.tree import package_of

MODULE = "harness.session.event_types"
REGISTRY = Symbol(MODULE, "EVENT_TYPES")
SURFACE = Symbol(MODULE, "SURFACE_TYPES")
WRITING = {"append", "annotate"}

INTRODUCTION = """\
Every kind that `EVENT_TYPES.register` declares. Beside its data an event has `type`, `seq`, `time`
and, on the surface, `surfaceOp`. A field with `?` is not always there. *Message* means the members
of a message: `id`, `role`, `content`, `source` and what else it carries. The data is read off the
sources that write it; `…` stands for members that reading them does not tell. Kinds that nothing
here writes are declared so that a log which holds them can be read."""


@attrs.define
class Kind:
    """Collect what is known of one kind."""

    name: str
    owner: str
    is_surface: bool = False
    writers: set[str] = attrs.field(factory=set)
    shapes: list[Shape] = attrs.field(factory=list)


def render(names: Names) -> str:
    """Write the page."""
    kinds = find_kinds(names)
    constants = _constants(names)
    written = [kind for kind in kinds.values() if kind.writers]
    other = [kind for kind in kinds.values() if not kind.writers]
    rows = [
        (
            code(kind.name),
            constants.get(kind.name, "none"),
            "yes" if kind.is_surface else "no",
            _fields(kind.shapes),
            codes(sorted(kind.writers)),
        )
        for kind in written
    ]
    heads = ["kind", "constant", "surface", "data", "written by"]
    return page(
        "Session events",
        f"{len(kinds)} kinds, {len(written)} of them written here. {INTRODUCTION}",
        "## Written by these packages",
        table(heads, rows),
        "## Declared for logs of others",
        "\n\n".join(
            f"By {code(owner)}: {codes(kind.name for kind in other if kind.owner == owner)}."
            for owner in sorted({kind.owner for kind in other})
        ),
    )


def find_kinds(names: Names) -> dict[str, Kind]:
    """Find the declared kinds in order of their names, and the calls that write them."""
    kinds: dict[str, Kind] = {}
    for file in names.shown:
        for node in ast.walk(file.tree):
            if _registers(names, file.module, node):
                assert isinstance(node, ast.Call)
                for name in _texts(names, file.module, node.args):
                    kinds.setdefault(name, Kind(name, file.package))
    for name in _texts(names, MODULE, [ast.Name(SURFACE.name)]):
        kinds.setdefault(name, Kind(name, package_of(MODULE))).is_surface = True
    for file in names.shown:
        for call, function in _writing_calls(file.tree):
            name = names.text(file.module, call.args[0])
            if name in kinds:
                kinds[name].writers.add(file.package)
                data = call.args[1] if len(call.args) > 1 else None
                kinds[name].shapes.append(shape_of(data, Place(names, file.module, function)))
    return dict(sorted(kinds.items()))


def _writing_calls(tree: ast.Module) -> Iterator[tuple[ast.Call, Callable | None]]:
    for node, function in walk_with_functions(tree):
        if isinstance(node, ast.Call) and called_name(node) in WRITING and node.args:
            yield node, function


def _registers(names: Names, module: str, node: ast.AST) -> bool:
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return False
    return node.func.attr == "register" and names.resolve(module, node.func.value) == REGISTRY


def _texts(names: Names, module: str, nodes: list[ast.expr]) -> Iterator[str]:
    """Yield the texts of arguments, those of a starred or named collection included."""
    for node in nodes:
        inner = node.value if isinstance(node, ast.Starred) else node
        symbol = names.resolve(module, inner)
        value = names.definitions[symbol].node if symbol else inner
        if (text := names.text(module, inner)) is not None:
            yield text
        elif isinstance(value, ast.Call) and value.args:
            yield from _texts(names, symbol.module if symbol else module, value.args)
        elif isinstance(value, ast.Set | ast.Tuple | ast.List):
            yield from _texts(names, symbol.module if symbol else module, value.elts)


def _constants(names: Names) -> dict[str, str]:
    """Map each kind to the constant that names it, the one of the session package first."""
    found: dict[str, str] = {}
    for symbol, definition in names.definitions.items():
        node = definition.node
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and "/" in node.value:
            if symbol.module == MODULE:
                found[node.value] = code(f"harness.session.{symbol.name}")
            elif symbol.name.isupper() and not symbol.name.startswith("_"):
                found.setdefault(node.value, code(f"{package_of(symbol.module)}.{symbol.name}"))
    return found


def _fields(shapes: list[Shape]) -> str:
    """Join what several writers write; a field that one of them leaves out is not always there."""
    known = [shape for shape in shapes if shape.fields or shape.is_message]
    optional: defaultdict[str, bool] = defaultdict(bool)
    order = list(dict.fromkeys(name for shape in known for name in shape.fields))
    for name in order:
        optional[name] = any(shape.fields.get(name, True) for shape in known)
    listed = ["message"] if any(shape.is_message for shape in known) else []
    listed += [code(name + ("?" if optional[name] else "")) for name in order]
    if any(shape.is_open for shape in shapes):
        listed.append("…")
    return ", ".join(listed) or "none"
