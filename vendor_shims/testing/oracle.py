"""What must hold of a kernel at rest, derived from the books of the program that ran on it."""

from __future__ import annotations

from collections.abc import Iterator

from vendor_shims.cordis import Binding, Fiber, FiberState

from .books import Books, Load, Registered, Value, Violation
from .program import SERVICES


def check(books: Books) -> None:
    """Compare a tree at rest with the books of its books.

    Raises:
        Violation: something leaked, was undone wrongly, or does not see the current services.
    """
    problems = [
        *books.broken,
        *_tables(books),
        *_listeners(books),
        *_bindings(books),
        *_views(books),
        *_registry(books),
        *_fibers(books),
    ]
    if problems:
        raise Violation("\n  ".join(["the tree does not agree with the books:", *problems]))


def check_end(books: Books, failed_steps: list[str]) -> None:
    """Check, after the root was closed, that every disposer ran once and nothing was noticed.

    Raises:
        Violation: it was not so, or steps of the kernel itself failed.
    """
    problems = [*failed_steps, *books.broken]
    problems += [
        f"effect {one.number} was undone {one.n_undone} times"
        for one in books.registered
        if one.kind == "effect" and one.n_undone != 1
    ]
    if problems:
        raise Violation("\n  ".join(["in the end:", *problems]))


def _tables(books: Books) -> Iterator[str]:
    expected: dict[Fiber, list[Registered]] = {fiber: [] for fiber in books.fibers}
    standing = books.live()
    for one in standing:
        expected[one.owner].append(one)
    for fiber, registered in expected.items():
        handles = [one.handle for one in registered if one.handle is not None]
        n_plain = len(registered) - len(handles)
        table = [item for item in fiber.table if item not in books.own]
        named = [item for item in table if item.label is not None]
        yield from (f"{fiber} still has {item.label}" for item in named if item not in handles)
        yield from (f"{fiber} lost {item.label}" for item in handles if item not in table)
        if len(table) - len(named) != n_plain:
            yield f"{fiber} has {len(table) - len(named)} plain disposers, not {n_plain}"
    for one in books.registered:
        if one.kind == "effect":
            n_due = 0 if one in standing else 1
            if one.n_undone != n_due:
                yield f"effect {one.number} was undone {one.n_undone} times, not {n_due}"


def _listeners(books: Books) -> Iterator[str]:
    slots = books.root.kernel.bus.slots.values()
    found = [one for slot in slots for one in slot.order() if one not in books.own]
    expected = [one.handle for one in books.live("listener")]
    yield from (f"{one.label} of {one.owner} still listens" for one in found if one not in expected)
    yield from (f"{one.label} of {one.owner} stopped" for one in expected if one not in found)


def _bindings(books: Books) -> Iterator[str]:
    expected = [one.handle for one in books.live("binding")]
    for fiber in books.fibers:
        for binding in fiber.bindings.values():
            if binding not in expected:
                yield f"{fiber} still provides {binding.realm}"
            if binding.realm.binding is not binding:
                yield f"{binding.realm} does not hold the binding of {fiber}"
            users = [user for user in books.fibers if binding in user.view.values()]
            if set(binding.committers) != set(users):
                yield f"{binding.realm} is used by {users}, not {list(binding.committers)}"
    for realm in books.root.kernel.realms():
        if realm.binding is not None and realm.binding not in expected:
            yield f"{realm} holds a binding that is gone"
        yield from (f"{one} still watches" for one in realm.watchers if one.uid is None)


def _views(books: Books) -> Iterator[str]:
    for fiber in books.fibers:
        if fiber.drains:
            yield f"{fiber} still waits for its users"
        if fiber.view and fiber.state is not FiberState.ACTIVE:
            yield f"{fiber} still holds services: {list(fiber.view)}"
        stored = {name for name in SERVICES if name in fiber.ctx.__dict__}
        if stored != {realm.name for realm in fiber.view}:
            yield f"{fiber} has {stored} in its context"


def _registry(books: Books) -> Iterator[str]:
    alive = {fiber for fiber in books.fibers if fiber.uid is not None}
    known = {books.root.fiber}
    for record in books.root.registry.values():
        if not record.fibers:
            yield f"the record of {record.name} is empty"
        known.update(record.fibers)
    if alive != known:
        yield f"the registry does not know what lives: {alive ^ known}"


def _fibers(books: Books) -> Iterator[str]:
    last: dict[Fiber, Load] = {load.fiber: load for load in books.loads}
    standing: dict[Binding, Registered] = {one.handle: one for one in books.live("binding")}
    for fiber in books.fibers[1:]:
        if fiber.uid is None:
            if fiber.state is not FiberState.DISPOSED:
                yield f"{fiber} is not disposed"
            continue
        current: dict[str, int | None] = {}
        is_satisfied = True
        for name, spec in fiber.inject.items():
            number = _available(books, standing, fiber, name, required=spec.required)
            current[name] = number
            is_satisfied = is_satisfied and (number is not None or not spec.required)
        yield from _state(books, fiber, last.get(fiber), current, is_satisfied=is_satisfied)


def _state(
    books: Books,
    fiber: Fiber,
    load: Load | None,
    current: dict[str, int | None],
    *,
    is_satisfied: bool,
) -> Iterator[str]:
    if not is_satisfied:
        if fiber.state not in (FiberState.PENDING, FiberState.FAILED):
            yield f"{fiber} runs without its services {current}"
        return
    if load is None:
        yield f"{fiber} was never loaded although it has {current}"
        return
    expected = {"ok": FiberState.ACTIVE, "failed": FiberState.FAILED}.get(load.result)
    if fiber.state is not expected:
        yield f"{fiber} should be {expected} after a load that ended {load.result}"
    if load.seen != current:
        yield f"{fiber} saw {load.seen}, current is {current}"
    if load.config is not books.configs[fiber]:
        yield f"{fiber} runs with {load.config}, not {books.configs[fiber]}"
    if fiber.state is FiberState.ACTIVE:
        for name, number in current.items():
            value: Value | None = getattr(fiber.ctx, name, None)
            if number is not None and (value is None or value.number != number):
                yield f"{fiber} reads {name} as {value}, not {number}"
            if number is not None and value is not fiber.ctx.get(name):
                yield f"{fiber} reads an old value of {name}"


def _available(
    books: Books,
    standing: dict[Binding, Registered],
    fiber: Fiber,
    name: str,
    *,
    required: bool,
) -> int | None:
    """Return the number of the binding that the fiber should use, from the books alone."""
    label = books.placement[fiber].get(name)
    for binding, one in standing.items():
        if binding.realm.name != name or binding.realm.label != label:
            continue
        is_refused = binding.check is not None and not books.flags[name]
        if one.owner.state is not FiberState.ACTIVE or is_refused:
            return None
        if not required and depends_on(one.owner, fiber):
            return None
        return binding.value.number
    return None


def depends_on(fiber: Fiber, other: Fiber) -> bool:
    """Return whether `fiber` lives below `other` or uses, directly or not, what it provides."""
    todo, seen = [fiber], {fiber}
    while todo:
        one = todo.pop()
        if one is other:
            return True
        above = [] if one.owner is None else [one.owner]
        for next_one in [*above, *(binding.provider for binding in one.view.values())]:
            if next_one not in seen:
                seen.add(next_one)
                todo.append(next_one)
    return False
