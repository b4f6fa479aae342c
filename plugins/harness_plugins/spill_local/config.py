"""Configure the local spill store."""

from __future__ import annotations

from vendor_shims.schema import config, field


@config
class SpillLocalConfig:
    """Settings of `spill_local`."""

    root: str | None = field(
        default=None,
        doc="Directory for spilled texts; a private one in the system's temporary directory "
        "by default.",
    )
    cleanup_period_days: int = field(
        default=30, doc="Age in days after which spilled texts are removed; 0 keeps them forever."
    )
