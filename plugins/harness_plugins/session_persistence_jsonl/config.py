"""Configure where sessions are stored and when bytes are forced to the device."""

from typing import Annotated

from harness_plugins.session_persistence_jsonl.log_file import FsyncPolicy
from vendor_shims.schema import Ge, Le, MinLen, config, field

_MAX_DELAY_MS = 2_147_483_647
_MIB = 1024 * 1024


@config
class JsonlConfig:
    """Set up the JSONL backend; only `root` is required."""

    root: Annotated[str, MinLen(1)]
    """Directory that holds all sessions; made with mode 0700. Relative ones start at the
    process's working directory at load."""

    fsync: FsyncPolicy = field(default="batch")
    """`batch` forces every batch to the device, `checkpoint` only flushes and closes, `never`
    leaves it to the system (tests and throw-away runs)."""

    pack_chunks: bool = field(default=True)
    """Write runs of three or more deltas as one row; readers take both forms always."""

    write_batch_max_delay_ms: Annotated[int, Ge(1), Le(_MAX_DELAY_MS)] = field(
        default=200, role="ms"
    )
    """Longest time that an event waits in memory, in milliseconds from the first one."""

    max_buffered_events: Annotated[int, Ge(1)] = field(default=100_000)
    """Events that may wait for a storage that does not take them before the agent is stopped."""

    max_buffered_bytes: Annotated[int, Ge(1)] = field(default=256 * _MIB)
    """The same in bytes."""

    max_line_bytes: Annotated[int, Ge(1024)] = field(default=256 * _MIB)
    """Longest record that is written and read, in bytes."""

    n_cached_logs: Annotated[int, Ge(0)] = field(default=5)
    """Logs of sessions that nobody runs here that `inspect` keeps in memory."""

    max_threads: Annotated[int, Ge(1), Le(64)] = field(default=8)
    """Worker threads that the backend uses at a time."""

    @property
    def write_batch_max_delay_s(self) -> float:
        """Return the longest wait in seconds."""
        return self.write_batch_max_delay_ms / 1000
