"""The snapshot law for one plugin: mounted and disposed, it leaves the tree as it was."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import attrs

from vendor_shims.cordis import EffectMeta, Fiber, FiberState

from .kernel import Kernel, kernel
from .snapshot import snapshot


@attrs.frozen
class ProbeReport:
    """What a plugin did in a probe.

    Attributes:
        name: its display name.
        effects: its effect tree when it was active.
        services: the names it provided.
        errors: what was logged as an error meanwhile.
    """

    name: str
    effects: list[EffectMeta]
    services: list[str]
    errors: list[str]


async def plugin_probe(
    plugin: object,
    *,
    config: object = None,
    services: Mapping[str, Any] | None = None,
    exercise: Callable[[Kernel, Fiber], Awaitable[object] | object] | None = None,
) -> ProbeReport:
    """Mount `plugin`, use it, restart it, dispose it, and check that nothing is left of it.

    Args:
        plugin: any accepted plugin form.
        config: its raw config.
        services: values to provide on the root first; classes are mounted as plugins.
        exercise: called with the kernel and the active fiber, before the restart and after it.

    Raises:
        LeakError: the tree is not what it was before the mount.
        TimeoutError: the plugin does not become active; names what it misses.
        Exception: its setup failed with this.
    """
    async with kernel() as made:
        for name, value in (services or {}).items():
            if isinstance(value, type):
                made.root.plugin(value)
            else:
                made.root.provide(name, value)
        await made.settle()
        before = snapshot(made.root)
        fiber = made.root.plugin(plugin, config)
        await _activate(made, fiber)
        report = ProbeReport(
            name=fiber.name,
            effects=fiber.effects(),
            services=[realm.name for realm in fiber.bindings],
            errors=[],
        )
        await _exercise(made, fiber, exercise)
        fiber.restart()
        await _activate(made, fiber)
        await _exercise(made, fiber, exercise)
        end = fiber.dispose()
        while not end.is_open:
            await made.advance(0.1)
        before.require_same(snapshot(made.root))
        report.errors.extend(made.logged("error"))
    return report


async def _activate(made: Kernel, fiber: Fiber) -> None:
    """Let up to an hour of virtual time pass until the fiber is active."""
    await made.settle()
    for _ in range(3600):
        if not fiber.is_moving:
            await fiber
            break
        await made.advance(1.0)
    if fiber.state is not FiberState.ACTIVE:
        raise TimeoutError(f"{fiber.name} is {fiber.state.name}; missing {fiber.unsatisfied}")


async def _exercise(
    made: Kernel,
    fiber: Fiber,
    exercise: Callable[[Kernel, Fiber], Awaitable[object] | object] | None,
) -> None:
    if exercise is not None:
        result = exercise(made, fiber)
        if isinstance(result, Awaitable):
            await result
    await made.settle()
