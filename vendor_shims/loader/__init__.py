"""Run a tree of plugins from rows of configuration, and change it while it runs.

root.plugin(Loader)
await root["loader"].create({"id": "web", "name": "./web.py", "config": {"port": 8080}})
"""

from vendor_shims.loader.audit import RowReport, audit, required
from vendor_shims.loader.entry import Entry
from vendor_shims.loader.entry_group import EntryGroup
from vendor_shims.loader.entry_tree import EntryTree
from vendor_shims.loader.errors import (
    CyclicGroup,
    DuplicateEntry,
    EntryError,
    InvalidEntry,
    LoaderError,
    PluginNotFound,
    UnknownEntry,
)
from vendor_shims.loader.events import (
    CONFIG_UPDATE,
    ENTRY_INIT,
    EXIT,
    PARTIAL_DISPOSE,
    PATCH_CONTEXT,
    VOLATILE_UPDATE,
)
from vendor_shims.loader.importing import contained
from vendor_shims.loader.loader import Loader, LoaderConfig
from vendor_shims.loader.local_modules import import_local, local_name
from vendor_shims.loader.options import KNOWN, Options, checked, ordered, same, unknown
from vendor_shims.loader.references import ENTRY_POINT_GROUP, Found, PluginResolver

__all__ = [
    "CONFIG_UPDATE",
    "ENTRY_INIT",
    "ENTRY_POINT_GROUP",
    "EXIT",
    "KNOWN",
    "PARTIAL_DISPOSE",
    "PATCH_CONTEXT",
    "VOLATILE_UPDATE",
    "CyclicGroup",
    "DuplicateEntry",
    "Entry",
    "EntryError",
    "EntryGroup",
    "EntryTree",
    "Found",
    "InvalidEntry",
    "Loader",
    "LoaderConfig",
    "LoaderError",
    "Options",
    "PluginNotFound",
    "PluginResolver",
    "RowReport",
    "UnknownEntry",
    "audit",
    "checked",
    "contained",
    "import_local",
    "local_name",
    "ordered",
    "required",
    "same",
    "unknown",
]
