"""What is registered in a tree, as plain data that can be compared before and after."""

from __future__ import annotations

from collections.abc import Iterator

import attrs

from vendor_shims.cordis import Context, EffectMeta, Fiber


class LeakError(AssertionError):
    """Raised when something that should have been undone is still there; names each piece."""


@attrs.frozen
class Snapshot:
    """The registrations of a tree at one moment, by display names; equal means nothing leaked.

    Attributes:
        fibers: each mounted fiber as its path of names from the root, parents first.
        effects: each labelled effect as `path: label > label`.
        listeners: `event: owner`, in delivery order within an event.
        bindings: `name @ realm: provider` of every bound service.
        accessors: the computed context attributes.
        registry: the names of the registered plugins.
        tasks: the kernel's running tasks as `owner: task name`; names that asyncio made are left
            out, since they count up.
        busy: the fibers in a transition.
    """

    fibers: tuple[str, ...]
    effects: tuple[str, ...]
    listeners: tuple[str, ...]
    bindings: tuple[str, ...]
    accessors: tuple[str, ...]
    registry: tuple[str, ...]
    tasks: tuple[str, ...]
    busy: tuple[str, ...]

    def require_same(self, after: Snapshot) -> None:
        """Raise `LeakError` naming everything that `after` has more or less than this."""
        lines: list[str] = []
        for field in attrs.fields(Snapshot):
            name: str = field.name
            old: tuple[str, ...] = getattr(self, name)
            new: tuple[str, ...] = getattr(after, name)
            if old != new:
                lines += [f"{name}: left over: {item}" for item in _excess(new, old)]
                lines += [f"{name}: missing: {item}" for item in _excess(old, new)]
                if sorted(old) == sorted(new):
                    lines.append(f"{name}: another order: {list(new)} was {list(old)}")
        if lines:
            raise LeakError("the tree is not what it was before:\n  " + "\n  ".join(lines))


def snapshot(root: Context) -> Snapshot:
    """Return what is registered in the tree of `root` now."""
    tree = root.kernel
    fibers = list(_walk(root.fiber))
    return Snapshot(
        fibers=tuple(_path(fiber) for fiber in fibers),
        effects=tuple(
            f"{_path(fiber)}: {line}" for fiber in fibers for line in _labels(fiber.effects())
        ),
        listeners=tuple(
            f"{name}: {_path(one.ctx.fiber)}"
            for name, slot in sorted(tree.bus.slots.items())
            for one in slot.order()
        ),
        bindings=tuple(
            f"{realm.name} @ {realm.label}: {_path(fiber)}"
            for fiber in fibers
            for realm in fiber.bindings
        ),
        accessors=tuple(tree.accessors),
        registry=tuple(str(runtime.name) for runtime in root.registry.values()),
        tasks=tuple(
            f"{_path(owner)}: {'' if task.get_name().startswith('Task-') else task.get_name()}"
            for task, owner in tree.tasks.items()
        ),
        busy=tuple(_path(fiber) for fiber in tree.busy),
    )


def _walk(fiber: Fiber) -> Iterator[Fiber]:
    todo = [fiber]
    while todo:
        one = todo.pop()
        yield one
        todo.extend(reversed(one.children()))


def _path(fiber: Fiber) -> str:
    names = [one.name for one in fiber.lineage() if one.owner is not None]
    return "/".join(reversed(names)) or "root"


def _labels(metas: list[EffectMeta], above: str = "") -> Iterator[str]:
    for meta in metas:
        line = f"{above} > {meta.label}" if above else meta.label
        yield line
        yield from _labels(meta.children, line)


def _excess(items: tuple[str, ...], others: tuple[str, ...]) -> list[str]:
    left = list(others)
    found: list[str] = []
    for item in items:
        if item in left:
            left.remove(item)
        else:
            found.append(item)
    return found
