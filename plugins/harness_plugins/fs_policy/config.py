"""Configure the read-before-edit policy."""

from typing import Annotated

from vendor_shims.schema import Ge, config, field


@config
class FsPolicyConfig:
    """Bound what the policy remembers."""

    max_files_per_session: Annotated[int, Ge(1)] = field(default=4096)
    """Observations kept per session; beyond it the least recently used must be read again."""
