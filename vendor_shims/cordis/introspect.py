"""Pictures of a running tree for people and tools; computed on demand, never kept."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from .fiber import Fiber, FiberState
from .listener import describe
from .owned import Owned

if TYPE_CHECKING:
    from .realm import Realm
    from .tree import Tree


def picture(tree: Tree) -> dict[str, Any]:
    """Return fibers, bindings, listeners and tasks as plain JSON-like data."""
    fibers = all_fibers(tree)
    return {
        "fibers": [_fiber(fiber) for fiber in fibers],
        "bindings": [
            {
                "name": realm.name,
                "provider": binding.provider.name,
                "realm": "default" if realm.label is None else str(realm.label),
                "dependents": [one.name for one in binding.committers],
            }
            for fiber in fibers
            for realm, binding in fiber.bindings.items()
        ],
        "listeners": {
            name: [
                {"owner": one.ctx.fiber.name, "listener": describe(one.fn)} for one in slot.order()
            ]
            for name, slot in sorted(tree.bus.slots.items())
            if slot.order()
        },
        "tasks": [
            {"name": task.get_name(), "owner": owner.name} for task, owner in tree.tasks.items()
        ],
    }


def all_fibers(tree: Tree) -> list[Fiber]:
    """Return every fiber of the tree, parents before children, in mounting order."""
    found: list[Fiber] = []
    todo = [tree.root.fiber]
    while todo:
        fiber = todo.pop()
        found.append(fiber)
        todo.extend(reversed(fiber.children()))
    return found


def _fiber(fiber: Fiber) -> dict[str, Any]:
    return {
        "uid": fiber.uid,
        "name": fiber.name,
        "parent": None if fiber.owner is None else fiber.owner.uid,
        "entry": getattr(fiber.entry, "id", None),
        "state": fiber.state.name,
        "since": fiber.since,
        "error": None if fiber.error is None else f"{type(fiber.error).__name__}: {fiber.error}",
        "unsatisfied": fiber.unsatisfied,
        "effects": _effects(fiber.table),
        "site": fiber.site,
    }


def _effects(owned: Iterable[Owned]) -> list[dict[str, Any]]:
    """Return labelled registrations; `site` is where they were made, in debug trees."""
    return [
        {
            "label": item.label,
            "site": item.site,
            "children": _effects(getattr(item, "children", ()) if not item.is_fiber else ()),
        }
        for item in owned
        if item.label is not None and item.stands()
    ]


def diagnosis(tree: Tree) -> str:
    """Explain every fiber that is not active and every circle of requirements, one a line."""
    fibers = all_fibers(tree)
    offers = _offers(fibers)
    lines: list[str] = []
    for fiber in fibers:
        if fiber.state is FiberState.ACTIVE:
            continue
        line = f"{fiber.name} is {fiber.state.name}"
        if fiber.error is not None:
            line += f": {type(fiber.error).__name__}: {fiber.error}"
        for name, why in fiber.unsatisfied.items():
            line += f"; needs {name}: {why}{_near_miss(fiber, name, offers.get(name, []))}"
        lines.append(line)
    lines.extend(f"circular requirement: {' -> '.join(circle)}" for circle in circles(fibers))
    return "\n".join(lines)


def _offers(fibers: list[Fiber]) -> dict[str, list[tuple[Fiber, Realm, bool]]]:
    """Return by name who provides it (true) or says that it would (false), and in which realm."""
    offers: dict[str, list[tuple[Fiber, Realm, bool]]] = {}
    for fiber in fibers:
        for realm in fiber.bindings:
            offers.setdefault(realm.name, []).append((fiber, realm, True))
        for name in _promised(fiber):
            offers.setdefault(name, []).append((fiber, fiber.ctx.realm(name), False))
    return offers


def _near_miss(fiber: Fiber, name: str, offers: list[tuple[Fiber, Realm, bool]]) -> str:
    """Return who nearly provides `name`: in another realm, or in this one but not active."""
    wanted = fiber.ctx.realm(name)
    for other, realm, is_bound in offers:
        if is_bound and realm is not wanted:
            return f" ({other.name} provides it in another realm)"
        if realm is wanted and other is not fiber and wanted.binding is None:
            return f" ({other.name} would, but is {other.state.name})"
    return ""


def circles(fibers: list[Fiber]) -> list[list[str]]:
    """Return the circles among pending fibers, each as names that start and end alike.

    A fiber is taken to provide the name that its plugin declares: `provide`, or a service's key.
    """
    waiting = [fiber for fiber in fibers if fiber.state is FiberState.PENDING]
    providers: dict[Realm, Fiber] = {}
    for fiber in waiting:
        for name in _promised(fiber):
            providers.setdefault(fiber.ctx.realm(name), fiber)
    edges = {
        fiber: [
            providers[realm]
            for _, realm, spec in fiber.deps
            if spec.required and realm in providers
        ]
        for fiber in waiting
    }
    return [[one.name for one in circle] for circle in _cycles(edges)]


def _promised(fiber: Fiber) -> tuple[str, ...]:
    return () if fiber.runtime is None else fiber.runtime.provides


def _cycles(edges: dict[Fiber, list[Fiber]]) -> list[list[Fiber]]:
    """Return the circles that a walk along the edges closes, each once, without recursion."""
    found: list[list[Fiber]] = []
    done: set[Fiber] = set()
    for start in edges:
        path: list[Fiber] = []
        on_path: dict[Fiber, int] = {}
        todo: list[tuple[Fiber, int]] = [(start, 0)]
        while todo:
            fiber, next_edge = todo.pop()
            if next_edge == 0:
                if fiber in done:
                    continue
                on_path[fiber] = len(path)
                path.append(fiber)
            if next_edge < len(edges[fiber]):
                todo.append((fiber, next_edge + 1))
                other = edges[fiber][next_edge]
                if other in on_path:
                    found.append([*path[on_path[other] :], other])
                elif other not in done:
                    todo.append((other, 0))
            else:
                done.add(fiber)
                path.pop()
                del on_path[fiber]
    return found
