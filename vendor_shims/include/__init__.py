"""Rows of plugins from files, in layers of patches, and changes written back to a layer.

document = parse_rows(text, file="rows.yml")
rows = apply_entry_patches(document.rows, [{"id": "web", "merge": {"port": 8080}}], print)
"""

from .composed import Composed, Skipped, Supplier, compose
from .document import Document, Format, Row, parse_rows, read_rows, require_ids
from .dump import dump
from .errors import ConfigFileError
from .include import Include, IncludeConfig
from .layers import Layer, LayerKind, read_layer
from .patch_file import PatchFile
from .patching import Patch, apply_entry_patches
from .whole_tree import BootError, boot
from .written_changes import with_changed_rows, with_patches

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
    "Patch",
    "PatchFile",
    "Row",
    "Skipped",
    "Supplier",
    "apply_entry_patches",
    "boot",
    "compose",
    "dump",
    "parse_rows",
    "read_layer",
    "read_rows",
    "require_ids",
    "with_changed_rows",
    "with_patches",
]
