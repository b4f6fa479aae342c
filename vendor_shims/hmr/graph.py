"""The loaded modules below the roots, and which of them needs which."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from types import ModuleType
from weakref import WeakKeyDictionary

from vendor_shims.hmr.edges import Edges
from vendor_shims.hmr.recorder import ImportRecorder
from vendor_shims.hmr.roots import Roots
from vendor_shims.hmr.scan import DECLINE, Reference
from vendor_shims.hmr.source_loader import FreshFinder, Source, read_source

_FRAMEWORK = __name__.partition(".")[0]


class ImportGraph:
    """Modules by file, and the imports between them.

    A module is known by its name; the canonical path of its source is its identity. Edges come from
    the syntax of what was loaded, from observed imports, and from `__hmr_dependencies__`. Nothing
    is kept that could be outdated: every answer is about the modules loaded now.

    Invariants: `_sources` says what a module object was made from, so that a module which comes
    back after a failed replacement still has the right edges.
    """

    def __init__(self, roots: Roots) -> None:
        self.roots = roots
        self.recorder = ImportRecorder()
        self._finder = FreshFinder(self)
        self._sources: WeakKeyDictionary[ModuleType, Source | None] = WeakKeyDictionary()
        self._canonical: dict[str, str | None] = {}
        """By file as a module names it: the canonical path, `None` for one that does not count."""

    # -- loading -----------------------------------------------------------------------------

    def install(self) -> None:
        """Load modules below the roots from source, and record imports, from now on."""
        sys.meta_path.insert(0, self._finder)

    def uninstall(self) -> None:
        """Undo `install`; modules that are loaded stay."""
        if self._finder in sys.meta_path:
            sys.meta_path.remove(self._finder)

    def looks_after(self, origin: str) -> bool:
        """Return whether a file, spelled in any way, is below the roots."""
        return self._path(origin) is not None

    def learn(self, module: ModuleType, source: Source | None) -> None:
        """Note what a module was made from."""
        self._sources[module] = source

    def read_ahead(self) -> Iterator[None]:
        """Read the sources of modules that were loaded before, one per step."""
        for name in tuple(self.modules()):
            module = sys.modules.get(name)
            if module is not None and module not in self._sources:
                self.source(name)
                yield

    # -- modules and files ---------------------------------------------------------------------

    def modules(self) -> dict[str, str]:
        """Return the loaded modules below the roots: canonical path by name."""
        found: dict[str, str] = {}
        for name, module in tuple(sys.modules.items()):
            path = self._path_of(module)
            if path is not None:
                found[name] = path
        return found

    def path(self, name: str) -> str | None:
        """Return the canonical path of a loaded module below the roots."""
        return self._path_of(sys.modules.get(name))

    def named(self, path: str) -> list[str]:
        """Return the names under which a file is loaded; the path is canonical."""
        return [name for name, one in self.modules().items() if one == path]

    def source(self, name: str) -> Source | None:
        """Return what a module was made from; `None` for one that is no readable source."""
        module = sys.modules[name]
        if module not in self._sources:
            spec = module.__spec__
            package = "" if spec is None else spec.parent or ""
            path = self._path_of(module)
            is_source = path is not None and path.endswith(".py")
            self._sources[module] = read_source(path, package) if is_source and path else None
        return self._sources[module]

    def is_external(self, name: str) -> bool:
        """Return whether a module is part of the framework, which cannot replace itself."""
        return name.partition(".")[0] == _FRAMEWORK

    def declines(self, name: str) -> bool:
        """Return whether a module cannot be loaded twice in one process.

        It says so with `__hmr_decline__ = True`, is compiled, or registers functions for the end
        of the process.
        """
        module = sys.modules[name]
        source = self.source(name)
        is_compiled = not (self.path(name) or ".py").endswith(".py")
        exits = source is not None and source.scan.registers_exit
        return bool(getattr(module, DECLINE, False)) or is_compiled or exits

    # -- edges ---------------------------------------------------------------------------------

    def edges(self) -> Edges:
        """Return the imports between loaded modules below the roots, as they are now."""
        nodes = self.modules()
        found: dict[str, set[str]] = {name: set() for name in nodes}
        for name in nodes:
            source = None if self.is_external(name) else self.source(name)
            if source is not None:
                for reference in source.scan.references:
                    found[name].update(_targets(reference, nodes))
        for importer, imported in self.recorder.pairs():
            if importer in nodes and imported in nodes and not self.is_external(importer):
                found[importer].add(imported)
        for name, targets in found.items():
            targets.discard(name)
        return Edges(found)

    def imports(self, path: str) -> list[str]:
        """Return the names of the modules that a file imports, sorted; empty for an unknown one."""
        imported = self.edges().imported
        names = self.named(os.path.realpath(path))
        return sorted({target for name in names for target in imported[name]})

    # -- paths -----------------------------------------------------------------------------------

    def _path_of(self, module: ModuleType | None) -> str | None:
        spec = getattr(module, "__spec__", None)
        origin = getattr(spec, "origin", None) or getattr(module, "__file__", None)
        return self._path(origin) if isinstance(origin, str) else None

    def _path(self, origin: str) -> str | None:
        if origin not in self._canonical:
            path = os.path.realpath(origin) if os.path.isabs(origin) else None
            self._canonical[origin] = path if path and self.roots.has(path) else None
        return self._canonical[origin]


def _targets(reference: Reference, nodes: Mapping[str, str]) -> Iterator[str]:
    """Return the loaded modules that an import depends on.

    `from package import part` depends on the part alone when that is a module.
    """
    module = sys.modules.get(reference.module)
    for name in reference.names or ("",):
        part = f"{reference.module}.{name}"
        if part in nodes and getattr(module, name, sys.modules[part]) is sys.modules[part]:
            yield part
        elif reference.module in nodes:
            yield reference.module
