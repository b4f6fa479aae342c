"""List the errors of all packages: the tree, the stable codes, and who raises them."""

from __future__ import annotations

import ast
from collections import defaultdict

import attrs

from catalogue.markdown import code, codes, first_line, page, table
from catalogue.names import Definition, Names, Symbol
from house.tree import package_of

ROOT = Symbol("vendor_shims.cordis.errors", "CordisError")

INTRODUCTION = """\
Every deliberate failure, by the package that owns it; each derives from `CordisError`, and each of
`harness` and the plugins from `HarnessError`. Callers branch on `code`, which never changes, and
people read the message. Indentation shows what catches what. *Raised by* names the packages whose
sources construct the class; a class without one is there to be caught."""


@attrs.define
class Constructions:
    """Collect where an error class is constructed, and with which codes of its own."""

    packages: defaultdict[Symbol, set[str]] = attrs.field(factory=lambda: defaultdict(set))
    codes: defaultdict[Symbol, set[str]] = attrs.field(factory=lambda: defaultdict(set))


def render(names: Names) -> str:
    """Write the page."""
    errors = [d for d in names.classes_below(ROOT) if d.file in names.shown]
    made = find_constructions(names, {d.symbol for d in errors})
    by_package: defaultdict[str, list[Definition]] = defaultdict(list)
    for definition in errors:
        by_package[package_of(definition.symbol.module)].append(definition)
    parts = [f"{len(errors)} error classes. {INTRODUCTION}"]
    for package, own in sorted(by_package.items()):
        rows = [_row(names, definition, depth, made) for definition, depth in _as_tree(names, own)]
        heads = ["class", "code", "meaning", "raised by"]
        parts += [f"## {package}", table(heads, rows)]
    return page("Errors", *parts)


def code_of(names: Names, symbol: Symbol) -> str:
    """Return the code of an error class: its own, or the first one above it."""
    definition = names.definitions[symbol]
    assert isinstance(definition.node, ast.ClassDef)
    for item in definition.node.body:
        if isinstance(item, ast.Assign | ast.AnnAssign):
            target = item.target if isinstance(item, ast.AnnAssign) else item.targets[0]
            if isinstance(target, ast.Name) and target.id == "code":
                return names.text(symbol.module, item.value) or ""
    return next((found for base in names.bases(symbol) if (found := code_of(names, base))), "")


def find_constructions(names: Names, errors: set[Symbol]) -> Constructions:
    """Find the calls that make an error, and the codes that such a call gives."""
    made = Constructions()
    for file in names.shown:
        for node in ast.walk(file.tree):
            bare = node.exc if isinstance(node, ast.Raise) else None
            symbol = names.resolve(file.module, bare) if bare is not None else None
            if symbol in errors:
                made.packages[symbol].add(file.package)
            if not isinstance(node, ast.Call):
                continue
            symbol = names.resolve(file.module, node.func)
            if symbol not in errors:
                continue
            made.packages[symbol].add(file.package)
            for word in node.keywords:
                if word.arg == "code" and (own := names.text(file.module, word.value)):
                    made.codes[symbol].add(own)
    return made


def _row(
    names: Names, definition: Definition, depth: int, made: Constructions
) -> tuple[str, str, str, str]:
    symbol = definition.symbol
    known = code_of(names, symbol)
    others = sorted(made.codes[symbol] - {known})
    return (
        "&emsp;" * depth + code(symbol.name),
        codes([known, *others]),
        first_line(definition.doc),
        codes(sorted(made.packages[symbol])),
    )


def _as_tree(names: Names, own: list[Definition]) -> list[tuple[Definition, int]]:
    """Order the classes of a package so that each stands below its base, with its depth."""
    symbols = {definition.symbol for definition in own}
    children: defaultdict[Symbol | None, list[Definition]] = defaultdict(list)
    for definition in own:
        above = [base for base in names.bases(definition.symbol) if base in symbols]
        children[above[0] if above else None].append(definition)

    def below(symbol: Symbol | None, depth: int) -> list[tuple[Definition, int]]:
        listed: list[tuple[Definition, int]] = []
        for child in children[symbol]:
            listed += [(child, depth), *below(child.symbol, depth + 1)]
        return listed

    return below(None, 0)
