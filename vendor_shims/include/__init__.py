"""Rows of plugins from files, in layers of patches, and changes written back to a layer.

document = parse_rows(text, file="rows.yml")
rows = apply_entry_patches(document.rows, [{"id": "web", "merge": {"port": 8080}}], print)
"""

from typing import TYPE_CHECKING

from .composed import Composed, Skipped, compose
from .document import Document, Format, Row, parse_rows, read_rows
from .dump import dump
from .errors import ConfigFileError
from .layers import Layer, LayerKind, read_layer
from .parsed_cache import ParsedCache
from .patch_file import PatchFile
from .patching import Patch, apply_entry_patches
from .written_changes import with_changed_rows, with_patches

if TYPE_CHECKING:
    from .whole_tree import BootError, boot
    from .include import Include, IncludeConfig

__all__ = [
    "BootError",
    "Composed",
    "ConfigFileError",
    "Document",
    "Format",
    "Include",
    "IncludeConfig",
    "Layer",
    "LayerKind",
    "ParsedCache",
    "Patch",
    "PatchFile",
    "Row",
    "Skipped",
    "apply_entry_patches",
    "boot",
    "compose",
    "dump",
    "parse_rows",
    "read_layer",
    "read_rows",
    "with_changed_rows",
    "with_patches",
]


def __getattr__(name: str) -> object:
    """Load the plugin, and with it the loader, when it is asked for."""
    if name in {"Include", "IncludeConfig"}:
        from . import include

        return getattr(include, name)
    if name in {"BootError", "boot"}:
        from importlib import import_module

        return getattr(import_module(".whole_tree", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
