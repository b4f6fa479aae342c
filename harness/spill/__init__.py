"""Own the vocabulary of `ctx.spill_store` and the care for directories that only we may write."""

from harness.spill.errors import SpillError, SpillUnsafeError
from harness.spill.private_dir import (
    create_private_file,
    has_protected_ancestors,
    private_directory,
    sweep_directory,
)
from harness.spill.service import SpillRecord, SpillSource, SpillStore

__all__ = [
    "SpillError",
    "SpillRecord",
    "SpillSource",
    "SpillStore",
    "SpillUnsafeError",
    "create_private_file",
    "has_protected_ancestors",
    "private_directory",
    "sweep_directory",
]
