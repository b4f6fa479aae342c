"""Configure the local filesystem backend."""

from vendor_shims.schema import config, field

_MIB = 1024 * 1024


@config
class FsLocalConfig:
    """Bound what one file operation may hold in memory and how many run at once."""

    diff_basis_max_bytes: int = field(default=10 * _MIB)
    """Replaced files of this size or more are not kept as `before` (bytes)."""

    max_text_bytes: int = field(default=64 * _MIB)
    """Larger files are not read or edited as one text; stream them (bytes)."""

    threads: int = field(default=16)
    """Blocking calls that run at the same time; more wait."""
