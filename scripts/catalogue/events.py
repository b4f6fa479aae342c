"""List the events of the bus: what each carries, who dispatches it and who listens."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator

import attrs

from catalogue.markdown import code, codes, page, sentence
from catalogue.names import Callable, Names, Symbol, called_name, walk_with_functions
from house.tree import package_of

KINDS = {
    Symbol("vendor_shims.cordis.events", name): mode
    for name, mode in {
        "Emit": "emit",
        "Parallel": "parallel",
        "Serial": "serial",
        "Bail": "bail",
        "Waterfall": "waterfall",
        "SyncWaterfall": "waterfall, synchronous",
    }.items()
}
DISPATCHING = {"emit", "parallel", "serial", "bail", "waterfall"}
LISTENING = {"on", "once"}

INTRODUCTION = """\
Every event that a package declares, by the package that owns it. The payload is what a listener
gets; a waterfall listener gets the continuation after it. *Dispatched by* and *heard by* name the
packages whose sources say so; an event that is chosen at run time is more than reading can tell."""


@attrs.frozen
class DeclaredEvent:
    """Hold what the declaration of one event says."""

    name: str
    symbol: Symbol
    mode: str
    payload: tuple[str, ...]
    answer: str
    doc: str


@attrs.define
class Uses:
    """Collect who dispatches and who hears each event, as package names."""

    dispatching: defaultdict[Symbol, set[str]] = attrs.field(factory=lambda: defaultdict(set))
    listening: defaultdict[Symbol, set[str]] = attrs.field(factory=lambda: defaultdict(set))


def render(names: Names) -> str:
    """Write the page."""
    events = declared(names)
    uses = find_uses(names, events)
    by_owner: defaultdict[str, list[DeclaredEvent]] = defaultdict(list)
    for event in events:
        by_owner[package_of(event.symbol.module)].append(event)
    parts = [f"{len(events)} events. {INTRODUCTION}"]
    for owner, own in sorted(by_owner.items()):
        parts += [f"## {owner}", *(_describe(names, event, uses) for event in own)]
    return page("Events", *parts)


def declared(names: Names) -> list[DeclaredEvent]:
    """List the events that the floors declare at the top of a module, by name."""
    found: list[DeclaredEvent] = []
    for symbol, definition in names.definitions.items():
        call = definition.node
        if definition.file not in names.shown or not isinstance(call, ast.Call):
            continue
        function = call.func
        if not isinstance(function, ast.Subscript) or not call.args:
            continue
        kind = names.resolve(symbol.module, function.value)
        name = names.text(symbol.module, call.args[0])
        if kind not in KINDS or name is None:
            continue
        options = {word.arg: word.value for word in call.keywords}
        payload, answer = _types(function.slice)
        doc = definition.doc or (names.text(symbol.module, options.get("doc")) or "")
        mode = KINDS[kind] + (", contained" if _is_true(options.get("contain")) else "")
        found.append(DeclaredEvent(name, symbol, mode, payload, answer, doc))
    return sorted(found, key=lambda event: event.name)


def find_uses(names: Names, events: list[DeclaredEvent]) -> Uses:
    """Find the calls that dispatch or hear events, also through functions that hand one on."""
    uses = Uses()
    by_name = {event.name: event.symbol for event in events}
    forwarding = _forwarding(names)
    for file in names.shown:
        for node in ast.walk(file.tree):
            if not isinstance(node, ast.Call):
                continue
            name = called_name(node).lstrip("_")
            for argument in node.args:
                event = _event_of(names, file.module, argument, by_name)
                if event is None:
                    continue
                if name in LISTENING:
                    uses.listening[event].add(file.package)
                elif name in DISPATCHING or (file.package, name) in forwarding:
                    uses.dispatching[event].add(file.package)
    return uses


def _describe(names: Names, event: DeclaredEvent, uses: Uses) -> str:
    constant = f"{package_of(event.symbol.module)}.{event.symbol.name}"
    facts = {
        "mode": event.mode,
        "constant": code(constant),
        "payload": codes(event.payload, nothing="nothing"),
    }
    facts |= {f"fields of {code(record)}": fields for record, fields in _records(names, event)}
    if event.answer:
        facts["answer"] = code(event.answer)
    facts["dispatched by"] = codes(sorted(uses.dispatching[event.symbol]))
    facts["heard by"] = codes(sorted(uses.listening[event.symbol]))
    listed = "\n".join(f"- {name}: {value}" for name, value in facts.items())
    return "\n\n".join([f"### {code(event.name)}", *filter(None, [sentence(event.doc)]), listed])


def _records(names: Names, event: DeclaredEvent) -> Iterator[tuple[str, str]]:
    """Yield the payload classes that stand beside the event, with their fields."""
    for name in event.payload:
        symbol = Symbol(event.symbol.module, name)
        definition = names.definitions.get(symbol)
        if definition is None or not isinstance(definition.node, ast.ClassDef):
            continue
        fields = [
            f"{node.target.id}: {ast.unparse(node.annotation)}"
            for node in definition.node.body
            if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)
        ]
        yield name, codes(fields)


def _types(subscript: ast.expr) -> tuple[tuple[str, ...], str]:
    """Split `[A, B], R` into the texts of the payload types and of the answer."""
    items = subscript.elts if isinstance(subscript, ast.Tuple) else [subscript]
    payload = items[0].elts if isinstance(items[0], ast.List) else items[:1]
    answer = _written(items[1]) if len(items) > 1 else ""
    return tuple(_written(item) for item in payload), answer


def _written(node: ast.expr) -> str:
    """Return a type as it is written, without the quotes of a postponed one."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    return ast.unparse(node)


def _event_of(
    names: Names, module: str, argument: ast.expr, by_name: dict[str, Symbol]
) -> Symbol | None:
    if isinstance(argument, ast.Constant):
        return by_name.get(argument.value) if isinstance(argument.value, str) else None
    if isinstance(argument, ast.IfExp):
        return _event_of(names, module, argument.body, by_name)
    symbol = names.resolve(module, argument)
    return symbol if symbol in by_name.values() else None


def _forwarding(names: Names) -> set[tuple[str, str]]:
    """Name the functions, with their packages, that dispatch an event that they are given."""
    found: set[tuple[str, str]] = set()
    while True:
        before = len(found)
        for file in names.shown:
            for node, function in walk_with_functions(file.tree):
                if function is None or not isinstance(node, ast.Call):
                    continue
                name = called_name(node).lstrip("_")
                hands_on = name in DISPATCHING or (file.package, name) in found
                if hands_on and _passes_parameter(node, function):
                    found.add((file.package, function.name.lstrip("_")))
        if len(found) == before:
            return found


def _passes_parameter(call: ast.Call, function: Callable) -> bool:
    parameters = {argument.arg for argument in function.args.args} - {"self", "ctx", "agent"}
    return any(isinstance(a, ast.Name) and a.id in parameters for a in call.args[:2])


def _is_true(node: ast.expr | None) -> bool:
    return isinstance(node, ast.Constant) and node.value is True
