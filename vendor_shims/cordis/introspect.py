"""Pictures of a running tree for people and tools; computed on demand, never kept."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .effect import EffectMeta
from .fiber import Fiber, FiberState
from .listener import describe

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
        "effects": [_meta(meta) for meta in fiber.effects()],
        "mountedAt": fiber.mounted_at,
    }


def _meta(meta: EffectMeta) -> dict[str, Any]:
    return {"label": meta.label, "children": [_meta(child) for child in meta.children]}


def diagnosis(tree: Tree) -> str:
    """Explain every fiber that is not active and every circle of requirements, one a line."""
    lines: list[str] = []
    for fiber in all_fibers(tree):
        if fiber.state is FiberState.ACTIVE:
            continue
        line = f"{fiber.name} is {fiber.state.name}"
        if fiber.error is not None:
            line += f": {type(fiber.error).__name__}: {fiber.error}"
        for name, why in fiber.unsatisfied.items():
            line += f"; needs {name}: {why}{_near_miss(tree, fiber, name)}"
        lines.append(line)
    lines.extend(f"circular requirement: {' -> '.join(circle)}" for circle in circles(tree))
    return "\n".join(lines)


def _near_miss(tree: Tree, fiber: Fiber, name: str) -> str:
    wanted: Realm = fiber.ctx.realm(name)
    for other in all_fibers(tree):
        for realm in other.bindings:
            if realm.name == name and realm is not wanted:
                return f" ({other.name} provides it in another realm)"
    return ""


def circles(tree: Tree) -> list[list[str]]:
    """Return the circles among pending fibers, each as names that start and end alike.

    A fiber is taken to provide the name that its plugin declares: `provide`, or a service's key.
    """
    waiting = [fiber for fiber in all_fibers(tree) if fiber.state is FiberState.PENDING]
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


def _promised(fiber: Fiber) -> list[str]:
    callback = None if fiber.runtime is None else fiber.runtime.callback
    declared = getattr(callback, "provide", None) or getattr(callback, "key", None)
    if isinstance(declared, str):
        return [declared]
    return [name for name in declared or () if isinstance(name, str)]


def _cycles(edges: dict[Fiber, list[Fiber]]) -> list[list[Fiber]]:
    """Return one circle per group of fibers that wait for each other, without recursion."""
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
