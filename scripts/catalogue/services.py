"""List the services: the key on a context, the class, and what can be called."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator, Mapping

import attrs

from catalogue.markdown import code, codes, first_line, page, table
from catalogue.names import Callable, Definition, Names, Symbol
from house.tree import package_of

SERVICE = Symbol("vendor_shims.cordis.service", "Service")
LIFECYCLE = {"start", "check"}
"""Methods that the kernel calls, not a consumer."""

INTRODUCTION = """\
Every service by its key. The class is what a consumer depends on (`Dep(Class)`, `ctx[Class]` or
`inject = ["key"]`); the back ends implement it. What is listed is what the class itself offers to
callers; `ctx`, `caller` and the like come from `Service`, see the
[kernel reference](../kernel.md#services)."""


@attrs.frozen
class DescribedService:
    """Hold one key with the class that first sets it and the classes below that one."""

    key: str
    definition: Definition
    back_ends: tuple[Symbol, ...]


def render(names: Names) -> str:
    """Write the page."""
    services = find_services(names)
    overview = table(
        ["key", "class", "package", "back ends"],
        [
            (
                f"[{code(service.key)}](#{_anchor(service.key)})",
                code(service.definition.symbol.name),
                code(package_of(service.definition.symbol.module)),
                codes(f"{package_of(end.module)}:{end.name}" for end in service.back_ends),
            )
            for service in services
        ],
    )
    details = [_describe(names, service) for service in services]
    return page("Services", f"{len(services)} services. {INTRODUCTION}", overview, *details)


def find_services(names: Names) -> list[DescribedService]:
    """List the services by key; a class without a key of its own is a back end of its base."""
    classes = [d for d in names.classes_below(SERVICE) if d.file in names.shown]
    owners = {d.symbol: key for d in classes if (key := _key_of(names, d))}
    ends: defaultdict[Symbol, list[Symbol]] = defaultdict(list)
    for definition in classes:
        owner = _owner(names, definition.symbol, owners)
        if owner is not None and owner != definition.symbol:
            ends[owner].append(definition.symbol)
    found = [
        DescribedService(owners[d.symbol], d, tuple(ends[d.symbol]))
        for d in classes
        if d.symbol in owners and _owner(names, d.symbol, owners, skip_self=True) is None
    ]
    return sorted(found, key=lambda service: service.key)


def methods_of(names: Names, symbol: Symbol) -> list[tuple[Callable, str]]:
    """List the public methods of a class and of its bases below `Service`, in source order.

    Each comes with the first line of its docstring. Every overload of a method is a way to call
    it; the implementation behind overloads is none, but says what they do.
    """
    ways: defaultdict[str, list[Callable]] = defaultdict(list)
    for owner in [symbol, *_ancestors(names, symbol)]:
        node = names.definitions[owner].node
        assert isinstance(node, ast.ClassDef)
        own = [m for m in node.body if isinstance(m, Callable) and not m.name.startswith("_")]
        for method in own:
            if method.name not in LIFECYCLE and not _is_overridden(method, ways, own):
                ways[method.name].append(method)
    listed: list[tuple[Callable, str]] = []
    for group in ways.values():
        docs = [first_line(ast.get_docstring(method) or "") for method in group]
        doc = next(filter(None, docs), "")
        overloads = [method for method in group if "overload" in _decorators(method)]
        listed += [(method, doc) for method in overloads or group[:1]]
    return listed


def signature_of(method: Callable) -> str:
    """Write how a method is called, without `self`; a property is written as an attribute."""
    returns = ast.unparse(method.returns).strip("'\"") if method.returns else "None"
    if "property" in _decorators(method):
        return f"{method.name}: {returns}"
    arguments = ast.unparse(_without_self(method))
    keyword = "async " if isinstance(method, ast.AsyncFunctionDef) else ""
    return f"{keyword}{method.name}({arguments}) -> {returns}"


def _describe(names: Names, service: DescribedService) -> str:
    symbol = service.definition.symbol
    rows = [(code(signature_of(method)), doc) for method, doc in methods_of(names, symbol)]
    head = f"## {code(service.key)}\n\n{code(str(symbol))}: {first_line(service.definition.doc)}"
    return f"{head}\n\n{table(['call', 'what it does'], rows)}" if rows else head


def _is_overridden(
    method: Callable, ways: Mapping[str, list[Callable]], own: list[Callable]
) -> bool:
    """Tell whether a class further down has a method of that name already."""
    return any(known not in own for known in ways.get(method.name, ()))


def _key_of(names: Names, definition: Definition) -> str:
    node = definition.node
    assert isinstance(node, ast.ClassDef)
    for item in node.body:
        target = item.targets[0] if isinstance(item, ast.Assign) else None
        if isinstance(item, ast.AnnAssign):
            target = item.target
        if isinstance(target, ast.Name) and target.id == "key":
            assert isinstance(item, ast.Assign | ast.AnnAssign)
            return names.text(definition.symbol.module, item.value) or ""
    return ""


def _owner(
    names: Names, symbol: Symbol, owners: dict[Symbol, str], *, skip_self: bool = False
) -> Symbol | None:
    """Return the highest class above that has the key, or the class itself."""
    above = [base for base in _ancestors(names, symbol) if base in owners]
    if above:
        return above[-1]
    return symbol if symbol in owners and not skip_self else None


def _ancestors(names: Names, symbol: Symbol) -> Iterator[Symbol]:
    for base in names.bases(symbol):
        if base != SERVICE:
            yield base
            yield from _ancestors(names, base)


def _decorators(method: Callable) -> set[str]:
    return {ast.unparse(node).split(".")[-1] for node in method.decorator_list}


def _without_self(method: Callable) -> ast.arguments:
    arguments = method.args
    rest = arguments.args if "staticmethod" in _decorators(method) else arguments.args[1:]
    return ast.arguments(
        posonlyargs=arguments.posonlyargs,
        args=rest,
        vararg=arguments.vararg,
        kwonlyargs=arguments.kwonlyargs,
        kw_defaults=arguments.kw_defaults,
        kwarg=arguments.kwarg,
        defaults=arguments.defaults,
    )


def _anchor(key: str) -> str:
    return key.lower()
