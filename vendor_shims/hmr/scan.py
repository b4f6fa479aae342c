"""What a source file imports, read from its syntax tree."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from importlib.util import resolve_name

import attrs

DECLARED = "__hmr_dependencies__"
DECLINE = "__hmr_decline__"
ACCEPT = "__hmr_accept__"


@attrs.frozen
class Reference:
    """One imported module as written, and the names taken from it.

    Attributes:
        module: its absolute name.
        names: what `from module import` takes; empty when the module itself is taken.
    """

    module: str
    names: tuple[str, ...] = ()


@attrs.frozen
class Scan:
    """What one source refers to.

    Attributes:
        references: the imports anywhere in it, and the modules it declares to depend on.
        registers_exit: whether importing it registers functions for the end of the process; what
            functions register is their own to undo.
    """

    references: tuple[Reference, ...]
    registers_exit: bool = False


def scan(tree: ast.Module, package: str) -> Scan:
    """Read a syntax tree; `package` is what relative imports start from, possibly empty.

    Imports that only a type checker sees are left out. A relative import that leads above the top
    is left out too: running it fails.
    """
    references: list[Reference] = []
    registers_exit = False
    for node, is_deferred in _run_nodes(tree):
        match node:
            case ast.Import():
                references += [one for alias in node.names for one in _plain(alias)]
            case ast.ImportFrom():
                references += _from(node, package)
                registers_exit |= node.module == "atexit" and not is_deferred
            case ast.Assign() | ast.AnnAssign():
                references += _declared(node, package)
            case ast.Attribute(value=ast.Name(id="atexit"), attr="register"):
                registers_exit |= not is_deferred
            case _:
                pass
    return Scan(tuple(dict.fromkeys(references)), registers_exit)


def _run_nodes(tree: ast.Module) -> Iterator[tuple[ast.AST, bool]]:
    """Return the nodes that may run, and whether a function must be called for it, in no order."""
    todo: list[tuple[ast.AST, bool]] = [(tree, False)]
    while todo:
        node, is_deferred = todo.pop()
        yield node, is_deferred
        match node:
            case ast.If() if _is_for_checkers(node.test):
                todo.extend((one, is_deferred) for one in node.orelse)
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                todo.extend((one, is_deferred) for one in node.decorator_list)
                todo.extend((one, True) for one in node.body)
            case _:
                todo.extend((one, is_deferred) for one in ast.iter_child_nodes(node))


def _is_for_checkers(test: ast.expr) -> bool:
    match test:
        case ast.Name(id="TYPE_CHECKING") | ast.Attribute(attr="TYPE_CHECKING"):
            return True
        case _:
            return False


def _plain(alias: ast.alias) -> Iterator[Reference]:
    """Return what `import a.b` uses: `a` and `a.b`; with `as` only the last."""
    yield Reference(alias.name)
    if alias.asname is None:
        parts = alias.name.split(".")
        for n in range(1, len(parts)):
            yield Reference(".".join(parts[:n]))


def _from(node: ast.ImportFrom, package: str) -> Iterator[Reference]:
    module = _absolute("." * node.level + (node.module or ""), package)
    if module is not None:
        yield Reference(module, tuple(alias.name for alias in node.names))


def _absolute(name: str, package: str) -> str | None:
    if not name.startswith("."):
        return name
    try:
        return resolve_name(name, package)
    except ImportError:
        return None


def _declared(node: ast.Assign | ast.AnnAssign, package: str) -> Iterator[Reference]:
    """Return the modules in `__hmr_dependencies__ = ["name", ".name"]`."""
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    if any(isinstance(target, ast.Name) and target.id == DECLARED for target in targets):
        for value in getattr(node.value, "elts", ()):
            if isinstance(value, ast.Constant) and isinstance(value.value, str):
                module = _absolute(value.value, package)
                if module is not None:
                    yield Reference(module)
