"""The configuration of hot reload."""

from typing import Annotated, Literal

from vendor_shims.schema import Ge, config, field

IGNORED = (
    "**/node_modules",
    "**/.*",
    "cache",
    "data",
    "**/__pycache__",
    "**/.venv",
    "**/*.pyc",
)


@config
class HmrConfig:
    """Which folders are watched, and what happens when new code does not start."""

    base: str | None = None
    """Folder that `root` and `ignored` start from; that of the configuration by default."""
    root: list[str] = field(factory=lambda: ["."], doc="Folders to watch, below `base`.")
    ignored: list[str] = field(
        factory=lambda: list(IGNORED),
        doc="Globs below each root; what lies in a matching folder is ignored too.",
    )
    debounce: Annotated[int, Ge(0)] = field(
        default=100, role="ms", doc="Quiet time after a change before code is replaced."
    )
    rollback: Literal["setup", "import"] = "setup"
    """What brings the old code back: also a failing setup, or a failing import alone."""
    polling: bool = False
    """Look at the files once a second instead, for file systems that announce no changes."""
