"""Store sessions as JSONL files, one append-only file a session."""

from harness_plugins.session_persistence_jsonl.backend import JsonlBackend
from harness_plugins.session_persistence_jsonl.config import JsonlConfig
from harness_plugins.session_persistence_jsonl.files import OS_LOG_FILES, LogFiles, OsLogFiles
from harness_plugins.session_persistence_jsonl.layout import (
    encode_segment,
    log_name,
    parse_generation,
    project_dir,
    project_key,
)
from harness_plugins.session_persistence_jsonl.plugin import JsonlPersistence
from harness_plugins.session_persistence_jsonl.scan import LogScanner, Scan

__all__ = [
    "OS_LOG_FILES",
    "JsonlBackend",
    "JsonlConfig",
    "JsonlPersistence",
    "LogFiles",
    "LogScanner",
    "OsLogFiles",
    "Scan",
    "encode_segment",
    "log_name",
    "parse_generation",
    "project_dir",
    "project_key",
]
