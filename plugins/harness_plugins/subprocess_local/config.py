"""Configure the local subprocess runtime."""

from __future__ import annotations

from vendor_shims.schema import config, field


@config
class SubprocessLocalConfig:
    """Settings of `subprocess_local`."""

    spill_dir: str | None = field(
        default=None,
        doc="Directory in which the private spill directory is made; the system's temporary "
        "directory by default.",
    )
    cleanup_period_days: int = field(
        default=30, doc="Age in days after which spill files of crashed runs go; 0 keeps them."
    )
    allow_env: list[str] = field(
        factory=list,
        doc="Patterns such as `MY_TOKEN` of inherited variables that children may see although "
        "their names look secret.",
    )
