"""Find out what a name in a source file stands for, across imports and package roots."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cached_property

import attrs

from house.tree import SourceFile, Tree, is_for_tests

Callable = ast.FunctionDef | ast.AsyncFunctionDef


@attrs.frozen
class Symbol:
    """Name something where it is defined: `harness.agent.events` and `CREATED`."""

    module: str
    name: str

    def __str__(self) -> str:
        return f"{self.module}.{self.name}"


@attrs.frozen
class Definition:
    """Hold what a module says about one of its names: a class, a function or an assigned value.

    `doc` is the docstring of a class or function, or the text under an assignment.
    """

    symbol: Symbol
    file: SourceFile
    node: ast.ClassDef | Callable | ast.expr
    doc: str = ""


@attrs.define(slots=False)
class Names:
    """Index the files of the three floors; parts for tests are left out of what is described."""

    tree: Tree

    @cached_property
    def files(self) -> dict[str, SourceFile]:
        """Map module names to files, in order of the module names."""
        return {file.module: file for file in self.tree.sources()}

    @cached_property
    def shown(self) -> list[SourceFile]:
        """List the files that catalogues describe: everything but what is shipped for tests."""
        return [file for file in self.files.values() if not is_for_tests(file.module)]

    @cached_property
    def definitions(self) -> dict[Symbol, Definition]:
        """Map each name that a module defines at its top level to its definition."""
        return {
            definition.symbol: definition
            for file in self.files.values()
            for definition in _defined(file)
        }

    @cached_property
    def _bindings(self) -> dict[str, dict[str, Symbol]]:
        return {module: dict(_imported(file)) for module, file in self.files.items()}

    def resolve(self, module: str, expression: ast.AST) -> Symbol | None:
        """Return what a name or an attribute of a module stands for, or None when nobody knows."""
        if isinstance(expression, ast.Name):
            return self._follow(Symbol(module, expression.id))
        if isinstance(expression, ast.Attribute) and isinstance(expression.value, ast.Name):
            bound = self._bindings.get(module, {}).get(expression.value.id)
            if bound is not None and (inner := _as_module(bound)) in self.files:
                return self._follow(Symbol(inner, expression.attr))
        return None

    def text(self, module: str, expression: ast.AST | None) -> str | None:
        """Return the text that an expression stands for, as a literal or by the name of one."""
        if isinstance(expression, ast.Constant) and isinstance(expression.value, str):
            return expression.value
        if expression is None or (symbol := self.resolve(module, expression)) is None:
            return None
        node = self.definitions[symbol].node
        return (
            node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None
        )

    def classes_below(self, *roots: Symbol) -> list[Definition]:
        """List the classes that derive from `roots`, themselves included, in order of modules."""
        return [
            definition
            for symbol, definition in self.definitions.items()
            if isinstance(definition.node, ast.ClassDef) and self._derives(symbol, roots, set())
        ]

    def bases(self, symbol: Symbol) -> list[Symbol]:
        """List the bases of a class that the sources define, in their order."""
        definition = self.definitions.get(symbol)
        if definition is None or not isinstance(definition.node, ast.ClassDef):
            return []
        plain = [
            base.value if isinstance(base, ast.Subscript) else base
            for base in definition.node.bases
        ]
        resolved = [self.resolve(symbol.module, base) for base in plain]
        return [base for base in resolved if base is not None]

    def _derives(self, symbol: Symbol, roots: tuple[Symbol, ...], seen: set[Symbol]) -> bool:
        if symbol in roots:
            return True
        if symbol in seen:
            return False
        seen.add(symbol)
        return any(self._derives(base, roots, seen) for base in self.bases(symbol))

    def _follow(self, symbol: Symbol) -> Symbol | None:
        seen: set[Symbol] = set()
        while symbol not in self.definitions:
            bound = self._bindings.get(symbol.module, {}).get(symbol.name)
            if bound is None or bound in seen:
                return None
            seen.add(bound)
            symbol = bound
        return symbol


def walk_with_functions(node: ast.AST) -> Iterator[tuple[ast.AST, Callable | None]]:
    """Yield every node below `node` with the innermost function that it stands in."""
    stack: list[tuple[ast.AST, Callable | None]] = [(node, None)]
    while stack:
        here, function = stack.pop()
        yield here, function
        inner = here if isinstance(here, Callable) else function
        stack += [(child, inner) for child in reversed(list(ast.iter_child_nodes(here)))]


def called_name(call: ast.Call) -> str:
    """Return the last part of what is called: `on` of `ctx.on(...)`."""
    function = call.func
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""


def assignments(statement: ast.stmt) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Yield target and value of each assignment that a statement makes."""
    if isinstance(statement, ast.Assign):
        yield from ((target, statement.value) for target in statement.targets)
    elif isinstance(statement, ast.AnnAssign | ast.AugAssign) and statement.value is not None:
        yield statement.target, statement.value


def _as_module(symbol: Symbol) -> str:
    return f"{symbol.module}.{symbol.name}" if symbol.name else symbol.module


def _defined(file: SourceFile) -> Iterator[Definition]:
    body = file.tree.body
    for index, node in enumerate(body):
        if isinstance(node, ast.ClassDef | Callable):
            doc = ast.get_docstring(node) or ""
            yield Definition(Symbol(file.module, node.name), file, node, doc)
            continue
        for target, value in assignments(node):
            if isinstance(target, ast.Name):
                doc = _text_under(body, index)
                yield Definition(Symbol(file.module, target.id), file, value, doc)


def _text_under(body: list[ast.stmt], index: int) -> str:
    following = body[index + 1] if index + 1 < len(body) else None
    if isinstance(following, ast.Expr) and isinstance(following.value, ast.Constant):
        value = following.value.value
        return value.strip() if isinstance(value, str) else ""
    return ""


def _imported(file: SourceFile) -> Iterator[tuple[str, Symbol]]:
    for node in ast.walk(file.tree):
        if isinstance(node, ast.ImportFrom):
            module = _module_of(file, node)
            for alias in node.names:
                yield alias.asname or alias.name, Symbol(module, alias.name)
        elif isinstance(node, ast.Import):
            for alias in node.names:
                if alias.asname:
                    yield alias.asname, Symbol(alias.name, "")


def _module_of(file: SourceFile, node: ast.ImportFrom) -> str:
    if not node.level:
        return node.module or ""
    parts = file.module.split(".")
    keep = len(parts) - node.level + (1 if file.is_init else 0)
    return ".".join([*parts[:keep], *([node.module] if node.module else [])])
