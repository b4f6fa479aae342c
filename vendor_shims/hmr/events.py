"""What hot reload announces."""

from typing import Any, NamedTuple

from vendor_shims.cordis import Emit, Parallel, Runtime


class Reload(NamedTuple):
    """One plugin that runs with new code.

    Attributes:
        path: the file of the plugin's module.
        runtime: the record of its new fibers.
    """

    path: str
    runtime: Runtime


HMR_CHANGE = Emit[[str]](
    "hmr/change",
    contain=True,
    doc="A file below the roots came, changed or went that no running plugin was loaded from.",
)
HMR_RELOAD = Emit[[dict[Any, Reload]]](
    "hmr/reload",
    contain=True,
    doc="Plugins run with new code; gets a `Reload` by plugin callback, as the registry keys them.",
)
CONFIG_UPDATE_FAILED = Parallel[[str, Exception]](
    "hmr/config-update-failed",
    doc="A changed configuration could not be applied; gets its path and the error. Contained.",
)
