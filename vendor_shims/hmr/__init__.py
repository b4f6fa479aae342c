"""Replace changed plugin code in a running tree, and leave everything else as it is.

root.plugin(Loader)
root.plugin(TimerService)
root.plugin(Hmr, {"base": "/home/me/project"})
"""

from vendor_shims.hmr.config import HmrConfig
from vendor_shims.hmr.errors import DuplicateConfigPath, HmrError, WatchFailed
from vendor_shims.hmr.events import CONFIG_UPDATE_FAILED, HMR_CHANGE, HMR_RELOAD, Reload
from vendor_shims.hmr.graph import ImportGraph
from vendor_shims.hmr.hmr import Hmr
from vendor_shims.hmr.module_swap import ModuleSwap
from vendor_shims.hmr.roots import Roots
from vendor_shims.hmr.watching import Watch

__all__ = [
    "CONFIG_UPDATE_FAILED",
    "HMR_CHANGE",
    "HMR_RELOAD",
    "DuplicateConfigPath",
    "Hmr",
    "HmrConfig",
    "HmrError",
    "ImportGraph",
    "ModuleSwap",
    "Reload",
    "Roots",
    "Watch",
    "WatchFailed",
]
