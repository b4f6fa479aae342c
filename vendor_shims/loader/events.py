"""What the loader announces."""

from typing import Any

from vendor_shims.cordis import Emit, Waterfall

ENTRY_INIT = Emit[[Any]]("loader/entry-init", contain=True, doc="A row was made; gets the entry.")
PATCH_CONTEXT = Waterfall[[Any], Any](
    "loader/patch-context", is_async=True, doc="Around the placement and the config of a row."
)
PARTIAL_DISPOSE = Emit[[Any, Any, bool]](
    "loader/partial-dispose",
    contain=True,
    doc="A row takes new options; gets the entry, the old options and whether it stays mounted.",
)
CONFIG_UPDATE = Emit[[]]("loader/config-update", doc="Rows changed and are about to be written.")
VOLATILE_UPDATE = Emit[[Any]](
    "loader/volatile-update", doc="Settings changed in place; gets their paths."
)
EXIT = Emit[[Any]]("exit", doc="The program is asked to end or restart; gets the signal or None.")
