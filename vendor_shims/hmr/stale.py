"""Which modules are loaded again after a change, and for which plugins."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import attrs

from vendor_shims.hmr.edges import Edges
from vendor_shims.hmr.graph import ImportGraph


@attrs.frozen
class Plan:
    """What to do about changed modules.

    Attributes:
        plugins: for each module of a running plugin that reaches a changed one, what is imported
            again: the changed modules, and those between them and it.
        unused: modules to forget, since no running plugin uses them.
        refused: changed modules that only a new process can load again.
    """

    plugins: Mapping[str, frozenset[str]]
    unused: frozenset[str] = frozenset()
    refused: frozenset[str] = frozenset()

    @property
    def modules(self) -> frozenset[str]:
        """All modules that are imported again."""
        return frozenset[str]().union(*self.plugins.values())

    def parts(self) -> list[Plan]:
        """Return the plan cut into those for plugins that share no module."""
        parts: list[Plan] = []
        for name, modules in self.plugins.items():
            touching = [part for part in parts if part.modules & modules]
            joined = {name: modules}
            for part in touching:
                joined |= part.plugins
            parts = [*(part for part in parts if part not in touching), Plan(joined)]
        return parts


def plan(
    graph: ImportGraph,
    changed: Collection[str],
    *,
    plugins: Collection[str],
    former: Collection[str] = (),
) -> Plan:
    """Decide about changed modules; all modules are named.

    Args:
        graph: the loaded modules.
        changed: those whose files changed.
        plugins: the modules of running plugins. Each is reloaded as a whole, so what one imports
            of another does not count.
        former: modules of plugins that ran before.
    """
    edges = graph.edges()
    own = {name for name in plugins if not graph.is_external(name)}
    closures = {name: edges.closure(name, stop=own - {name}) for name in sorted(own)}
    once = {name for module in former for name in edges.closure(module, stop=own)}
    in_use = {name for closure in closures.values() for name in closure}
    refused = {name for name in changed if _is_refused(graph, edges, name, in_use, once)}
    accepted = set(changed) - refused
    dirty = edges.reaching(accepted)
    return Plan(
        plugins={
            name: frozenset(closure & dirty)
            for name, closure in closures.items()
            if closure & accepted
        },
        unused=frozenset(dirty & once - in_use),
        refused=frozenset(refused),
    )


def _is_refused(
    graph: ImportGraph, edges: Edges, name: str, in_use: set[str], once: set[str]
) -> bool:
    """Return whether a changed module, or one between it and its plugins, cannot be reloaded."""
    if graph.is_external(name) or not (name in in_use or name in once):
        return True
    return any(graph.declines(one) for one in edges.reaching([name]) & (in_use | {name}))
