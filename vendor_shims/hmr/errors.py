"""What can go wrong with replacing code.

CordisError
└── HmrError
    ├── WatchFailed     a folder cannot be watched; fails the start of the plugin
    └── DuplicateConfigPath  (ValueError)  a config path is already registered
"""

from vendor_shims.cordis import CordisError


class HmrError(CordisError):
    """The base of what hot reload raises."""

    code = "HMR"


class WatchFailed(HmrError):
    """Raised when a folder is missing, or the system refuses to watch it."""

    code = "HMR_WATCH_FAILED"


class DuplicateConfigPath(HmrError, ValueError):
    """Raised when a file is registered again, be it under another spelling."""

    code = "HMR_DUPLICATE_CONFIG_PATH"

    def __init__(self, path: str) -> None:
        super().__init__(f"config path already registered: {path}")
        self.path = path
