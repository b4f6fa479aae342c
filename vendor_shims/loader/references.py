"""Plugin references: from the name in a row to an object that can be mounted."""

from __future__ import annotations

import importlib
import importlib.util
import os
import re
import sys
from collections.abc import Iterable
from functools import cached_property
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple

from vendor_shims.loader.errors import PluginNotFound
from vendor_shims.loader.importing import contained
from vendor_shims.loader.local_modules import import_local

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

ENTRY_POINT_GROUP = "harness.plugins"

_BUILTINS = {
    "cordis:group": "vendor_shims.group:Group",
    "cordis:include": "vendor_shims.include:Include",
    "cordis:hmr": "vendor_shims.hmr:Hmr",
}
_UPSTREAM = re.compile(r"@deepseek-ai/dsh-([a-z0-9-]+)")
_MODULE = re.compile(r"[A-Za-z_]\w*(\.\w+)*")


class Found(NamedTuple):
    """A plugin, and the name of the module it came from; `None` for an object given in code."""

    plugin: Any
    module: str | None


class PluginResolver:
    """Find plugins by reference.

    A reference is, in this order: a builtin such as `cordis:group`, a path that starts with `./`,
    `../` or `/`, the name of an entry point, `package.module` or `package.module:attribute`, or
    the package name that the original project uses for the same plugin.
    """

    def __init__(self) -> None:
        self._builtins: dict[str, Any] = dict(_BUILTINS)

    def register(self, name: str, plugin: object) -> None:
        """Let rows name `plugin`, an object or a reference to one, as `name`."""
        self._builtins[name] = plugin

    def forget(self) -> None:
        """Look installed distributions up again at the next reference to one."""
        self.__dict__.pop("_advertised", None)

    def names(self) -> list[str]:
        """Return the names that stand for a plugin here: builtins and entry points."""
        return sorted({*self._builtins, *self._advertised})

    def resolve(self, reference: str, *, base_dir: str | None = None) -> Found:
        """Import what `reference` leads to; the caller checks that it is a plugin.

        Args:
            reference: as in the class's description.
            base_dir: where a relative path starts; the working directory when `None`.

        Raises:
            PluginNotFound: nothing goes by that name, or the module has no such plugin.
            ImportError: the module ends the program when it is imported.
            Exception: whatever else the module raises while it is imported.
        """
        with contained():
            return self._found(reference, base_dir)

    def _found(self, reference: str, base_dir: str | None) -> Found:
        if reference in self._builtins:
            target = self._builtins[reference]
            return (
                self._import(target, reference) if isinstance(target, str) else Found(target, None)
            )
        if reference.startswith(("./", "../", "/")):
            return self._from_file(reference, base_dir)
        if reference in self._advertised:
            return self._import(self._advertised[reference].value, reference)
        tried = ["no builtin", f"no entry point in {ENTRY_POINT_GROUP}"]
        for target in (reference, *_renamed(reference)):
            module, _, attribute = target.partition(":")
            if not _MODULE.fullmatch(module):
                tried.append(f"{module!r} cannot be a module")
            elif _exists(module):
                return _plugin_of(importlib.import_module(module), attribute, reference)
            else:
                tried.append(f"no module {module}")
        raise PluginNotFound(reference, tried=tried, nearest=_nearest(reference, self.names()))

    @cached_property
    def _advertised(self) -> dict[str, EntryPoint]:
        from importlib.metadata import entry_points

        found: dict[str, EntryPoint] = {}
        for point in entry_points(group=ENTRY_POINT_GROUP):  # the first on the path counts
            found.setdefault(point.name, point)
        return found

    def _import(self, target: str, reference: str) -> Found:
        module, _, attribute = target.partition(":")
        if not _exists(module):
            raise PluginNotFound(
                reference, tried=[f"it stands for {target}, which is not installed"]
            )
        return _plugin_of(importlib.import_module(module), attribute, reference)

    def _from_file(self, reference: str, base_dir: str | None) -> Found:
        path, colon, attribute = reference.rpartition(":")
        if not colon:
            path, attribute = reference, ""
        full = os.path.join(base_dir or os.getcwd(), path)
        for candidate in (full, f"{full}.py", os.path.join(full, "__init__.py")):
            if os.path.isfile(candidate):
                return _plugin_of(import_local(candidate), attribute, reference)
        folder = os.path.dirname(full)
        siblings = os.listdir(folder) if os.path.isdir(folder) else []
        files = [name for name in siblings if name.endswith(".py")]
        near = [f"./{name}" for name in _nearest(os.path.basename(full), files)]
        raise PluginNotFound(reference, tried=[f"there is no file {full}"], nearest=near)


def _exists(module: str) -> bool:
    """Return whether a module can be found; importing its packages may raise what they raise."""
    if module in sys.modules:
        return True
    parent, _, _ = module.rpartition(".")
    if parent and not _exists(parent):
        return False
    if parent:
        importlib.import_module(parent)
        if not hasattr(sys.modules[parent], "__path__"):
            return False
    return importlib.util.find_spec(module) is not None


def _plugin_of(module: ModuleType, attribute: str, reference: str) -> Found:
    if attribute:
        plugin: Any = module
        for name in attribute.split("."):
            plugin = getattr(plugin, name, None)
        if plugin is not None:
            return Found(plugin, module.__name__)
        near = [f"{module.__name__}:{name}" for name in _nearest(attribute, vars(module))]
        raise PluginNotFound(
            reference, tried=[f"{module.__name__} has no attribute {attribute}"], nearest=near
        )
    if callable(getattr(module, "apply", None)):
        return Found(module, module.__name__)
    named = [f"{module.__name__}:{name}" for name in _candidates(module)]
    listed = f"name one of {', '.join(named)}" if named else "nothing in it looks like a plugin"
    raise PluginNotFound(
        reference, tried=[f"module {module.__name__} has no function `apply`; {listed}"]
    )


def _candidates(module: ModuleType) -> list[str]:
    """Return the public classes of a module itself that declare what plugins declare."""
    marks = ("inject", "Config", "__deps__", "start")
    return sorted(
        name
        for name, value in vars(module).items()
        if isinstance(value, type)
        and value.__module__ == module.__name__
        and not name.startswith("_")
        and any(hasattr(value, mark) for mark in marks)
    )


def _renamed(reference: str) -> tuple[str, ...]:
    """Return what a package name of the original project may be called here."""
    match = _UPSTREAM.fullmatch(reference)
    if match is None:
        return ()
    name = match[1].replace("-", "_")
    return (f"harness_plugins.{name}", f"harness.{name}")


def _nearest(name: str, known: Iterable[str]) -> list[str]:
    from difflib import get_close_matches

    return get_close_matches(name, [*known], n=3, cutoff=0.5)
