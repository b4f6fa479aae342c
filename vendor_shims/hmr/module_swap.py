"""Taking modules out of the interpreter to import them afresh, and putting them back."""

from __future__ import annotations

import importlib
import sys
import time
from collections.abc import Iterable
from types import ModuleType

from vendor_shims.hmr.graph import ImportGraph
from vendor_shims.hmr.scan import ACCEPT

SLOW_S = 0.25
"""An import that takes longer holds everything else up, and is worth a line in the log."""


class ModuleSwap:
    """One exchange of modules that can be undone until it is forgotten.

    Old modules are never changed: whoever holds one, or an object from it, keeps using it.

    Invariants: after `undo` the names below the roots in `sys.modules`, and the attributes of their
    packages, are what they were before `take_out`. Modules from elsewhere that were imported
    meanwhile stay, since many of them cannot be imported twice.
    """

    def __init__(self, graph: ImportGraph) -> None:
        self._graph = graph
        self._before: dict[str, ModuleType] = {}
        self._attributes: list[tuple[ModuleType, str, object]] = []
        """Package, name and value of each attribute that held a module which was taken out."""

    def take_out(self, names: Iterable[str]) -> None:
        """Forget these modules, so that the next import of each runs its file again."""
        self._before = {name: sys.modules[name] for name in self._graph.modules()}
        removed = {name: sys.modules.pop(name) for name in names if name in sys.modules}
        for name, module in removed.items():
            package = self._before.get(name.rpartition(".")[0])
            package = package or sys.modules.get(name.rpartition(".")[0])
            child = name.rpartition(".")[2]
            if package is not None and vars(package).get(child) is module:
                self._attributes.append((package, child, module))
                delattr(package, child)
        self._graph.recorder.forget(set(removed))
        importlib.invalidate_caches()

    def fresh_import(self, name: str) -> tuple[ModuleType, float]:
        """Import a module that was taken out; return it and the seconds that took.

        Raises:
            Exception: whatever the module raises; call `undo` then.
        """
        started = time.perf_counter()
        module = importlib.import_module(name)
        return module, time.perf_counter() - started

    def migrate(self) -> None:
        """Let new modules with `__hmr_accept__(old_namespace, new_namespace)` take state over."""
        for name, old in self._before.items():
            new = sys.modules.get(name)
            accept = None if new is None or new is old else vars(new).get(ACCEPT)
            if callable(accept) and new is not None:
                accept(vars(old), vars(new))

    def undo(self) -> None:
        """Bring everything back that was taken out."""
        for name in self._graph.modules():
            if self._before.get(name) is not sys.modules[name]:
                _detach(name, sys.modules.pop(name))
        sys.modules.update(self._before)
        for package, child, value in self._attributes:
            setattr(package, child, value)


def _detach(name: str, module: ModuleType) -> None:
    parent, _, child = name.rpartition(".")
    package = sys.modules.get(parent)
    if package is not None and vars(package).get(child) is module:
        delattr(package, child)
