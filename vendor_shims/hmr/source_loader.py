"""Modules below the roots from their source, never from byte code that may be outdated."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from hashlib import sha256
from importlib.machinery import ModuleSpec, SourceFileLoader
from types import ModuleType
from typing import TYPE_CHECKING

import attrs

from vendor_shims.hmr.scan import Scan, scan
from vendor_shims.syntax_tree import parse_module

if TYPE_CHECKING:
    from vendor_shims.hmr.graph import ImportGraph


@attrs.frozen
class Source:
    """What a module was made from: the digest of the file's bytes, and what it refers to."""

    digest: bytes
    scan: Scan


def digest_of(path: str) -> bytes | None:
    """Return a digest of a file's content; `None` when it cannot be read."""
    try:
        with open(path, "rb") as file:
            return sha256(file.read()).digest()
    except OSError:
        return None


def read_source(path: str, package: str) -> Source | None:
    """Read and scan a file; `None` when it is not there or no Python."""
    try:
        with open(path, "rb") as file:
            data = file.read()
        return Source(sha256(data).digest(), scan(parse_module(data, path), package))
    except (OSError, SyntaxError, ValueError, RecursionError):
        return None


class FreshLoader(SourceFileLoader):
    """Compiles the file as it is now, and tells the graph what it was."""

    def __init__(self, fullname: str, path: str, graph: ImportGraph) -> None:
        super().__init__(fullname, path)
        self._graph = graph

    def exec_module(self, module: ModuleType) -> None:
        """Run the module's source in its namespace."""
        data = self.get_data(self.path)
        tree = parse_module(data, self.path)
        package = module.__spec__.parent if module.__spec__ is not None else ""
        self._graph.learn(module, Source(sha256(data).digest(), scan(tree, package or "")))
        code = compile(tree, self.path, "exec", dont_inherit=True)
        _adopt_submodules(module)
        exec(code, module.__dict__)  # noqa: S102 - this is what importing means


class FreshFinder:
    """A meta path hook: records imports, and loads files below the roots afresh."""

    def __init__(self, graph: ImportGraph) -> None:
        self._graph = graph

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return what the other finders find; a source below the roots gets a loader of ours."""
        self._graph.recorder.note(fullname)
        spec = self._elsewhere(fullname, path, target)
        if spec is None or type(spec.loader) is not SourceFileLoader or spec.origin is None:
            return spec
        if self._graph.looks_after(spec.origin):
            spec.loader = FreshLoader(fullname, spec.origin, self._graph)
            spec.cached = None
        return spec

    def _elsewhere(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None
    ) -> ModuleSpec | None:
        for finder in tuple(sys.meta_path):
            find_spec = None if finder is self else getattr(finder, "find_spec", None)
            spec = None if find_spec is None else find_spec(fullname, path, target)
            if spec is not None:
                return spec
        return None


def _adopt_submodules(package: ModuleType) -> None:
    """Give a package that is made anew its loaded submodules, which are not imported again."""
    prefix = f"{package.__name__}."
    for name, module in list(sys.modules.items()):
        if name.startswith(prefix) and "." not in name[len(prefix) :]:
            setattr(package, name[len(prefix) :], module)
