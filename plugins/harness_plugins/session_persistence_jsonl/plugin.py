"""Provide session persistence on JSONL files."""

from typing import ClassVar

from harness.session_persistence import PersistenceCoordinator, WriteBehind
from harness_plugins.session_persistence_jsonl.backend import JsonlBackend
from harness_plugins.session_persistence_jsonl.config import JsonlConfig
from harness_plugins.session_persistence_jsonl.files import OS_LOG_FILES, LogFiles
from vendor_shims.cordis import Context


class JsonlPersistence(PersistenceCoordinator):
    """Store each session as one append-only file of JSON lines, below one directory."""

    Config: ClassVar[type[JsonlConfig]] = JsonlConfig
    guard: ClassVar[bool] = True  # nothing may boot without it where a profile has it

    def __init__(
        self, ctx: Context, config: JsonlConfig, *, files: LogFiles = OS_LOG_FILES
    ) -> None:
        """Set up the backend.

        Raises:
            NotADirectoryError: the root is something else than a directory.
        """
        backend = JsonlBackend(config, files=files)
        backend.check_root()
        super().__init__(
            ctx,
            backend,
            write_behind=WriteBehind(
                max_delay_s=config.write_batch_max_delay_s,
                max_buffered_events=config.max_buffered_events,
                max_buffered_bytes=config.max_buffered_bytes,
            ),
            n_cached_logs=config.n_cached_logs,
        )
        if config.fsync == "never":
            ctx.logger.warn("fsync is off: a power failure may lose acknowledged events")
