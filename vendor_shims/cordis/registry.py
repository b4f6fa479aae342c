"""The record of what is mounted: one runtime per plugin callback, with its fibers."""

from __future__ import annotations

from collections.abc import ItemsView, Iterator, KeysView, ValuesView
from typing import TYPE_CHECKING, Any

from .plugin import Runtime, executable

if TYPE_CHECKING:
    from .fiber import Fiber


class Registry:
    """Runtimes by plugin; any accepted plugin form works as the key of a look-up.

    Invariants: a runtime is listed exactly while it has fibers.
    """

    def __init__(self) -> None:
        self._runtimes: dict[Any, Runtime] = {}

    @property
    def size(self) -> int:
        """The number of distinct plugins that are mounted."""
        return len(self._runtimes)

    def __len__(self) -> int:
        return len(self._runtimes)

    def __iter__(self) -> Iterator[Any]:
        return iter(tuple(self._runtimes))

    def get(self, plugin: Any) -> Runtime | None:
        """Return the runtime of `plugin`, or `None`; raises `InvalidPlugin` for a non-plugin."""
        return self._runtimes.get(executable(plugin))

    def has(self, plugin: Any) -> bool:
        """Return whether `plugin` is mounted."""
        return self.get(plugin) is not None

    def __contains__(self, plugin: Any) -> bool:
        return self.has(plugin)

    def keys(self) -> KeysView[Any]:
        """Return the callbacks, in the order of their first mount."""
        return self._runtimes.keys()

    def values(self) -> ValuesView[Runtime]:
        """Return the runtimes, in the order of their first mount."""
        return self._runtimes.values()

    def items(self) -> ItemsView[Any, Runtime]:
        """Return callback and runtime pairs, in the order of their first mount."""
        return self._runtimes.items()

    entries = items

    def delete(self, plugin: Any) -> Runtime | None:
        """Take the record out now and request the disposal of all its fibers."""
        runtime = self._runtimes.pop(executable(plugin), None)
        if runtime is not None:
            for fiber in tuple(runtime.fibers):
                fiber.dispose()
        return runtime

    async def unload(self, plugin: Any) -> Runtime | None:
        """Do what `delete` does and wait until all fibers are cleaned up."""
        runtime = self.get(plugin)
        if runtime is not None:
            fibers = tuple(runtime.fibers)
            self.delete(plugin)
            for fiber in fibers:
                await fiber.dispose()
        return runtime

    def enter(self, plugin: Any) -> Runtime:
        """Return the runtime of `plugin` for a mount that adds a fiber right away."""
        callback = executable(plugin)
        runtime = self._runtimes.get(callback)
        return Runtime(callback, plugin) if runtime is None else runtime

    def add(self, runtime: Runtime, fiber: Fiber) -> None:
        """List `fiber` under its runtime."""
        self._runtimes.setdefault(runtime.callback, runtime)
        runtime.fibers[fiber] = None

    def discard(self, runtime: Runtime, fiber: Fiber) -> None:
        """Take `fiber` out, and the runtime with its last fiber."""
        runtime.fibers.pop(fiber, None)
        if not runtime.fibers and self._runtimes.get(runtime.callback) is runtime:
            del self._runtimes[runtime.callback]
