"""Plugins that are files next to a configuration: modules under names of their own."""

import hashlib
import importlib
import os
import sys
from importlib.machinery import ModuleSpec
from types import ModuleType

from vendor_shims.loader.errors import PluginNotFound

LOCAL = "dsh_local"
"""The package under which every module loaded by path stands."""


def import_local(path: str) -> ModuleType:
    """Import the file at `path` as `dsh_local.<folder hash>.<stem>`; the same file, one module.

    Its folder counts as a package, so that relative imports of neighbours work. A path that ends
    in `__init__.py` is imported as the package it makes.

    Raises:
        PluginNotFound: the file cannot be a module because of its name.
        Exception: whatever the file raises.
    """
    return importlib.import_module(local_name(path))


def local_name(path: str) -> str:
    """Return the module name for a file, and make sure that an import of it finds the file."""
    real = os.path.realpath(path)
    if os.path.basename(real) == "__init__.py":
        real = os.path.dirname(real)
    folder, file = os.path.split(real)
    stem = file.removesuffix(".py")
    if "." in stem:
        raise PluginNotFound(path, tried=[f"a module name has no dot, {file!r} has; rename it"])
    digest = hashlib.sha256(os.fsencode(folder)).hexdigest()[:8]
    _require_package(LOCAL, None)
    package = f"{LOCAL}.{digest}"
    _require_package(package, folder)
    return f"{package}.{stem}"


def _require_package(name: str, folder: str | None) -> None:
    """Put an empty package into `sys.modules` that finds its modules in `folder`."""
    if name in sys.modules:
        return
    module = ModuleType(name)
    module.__path__ = [] if folder is None else [folder]
    module.__spec__ = ModuleSpec(name, None, is_package=True)
    sys.modules[name] = module
    parent, _, child = name.rpartition(".")
    if parent:
        setattr(sys.modules[parent], child, module)
