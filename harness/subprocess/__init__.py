"""Own the vocabulary of `ctx.subprocess`: specs, handles, streams and errors."""

from harness.subprocess.collector import Collector
from harness.subprocess.errors import (
    ExecutableCode,
    ExecutableError,
    RuntimeStopping,
    SpawnCode,
    SpawnError,
    SubprocessError,
    TerminalCode,
    TerminalError,
)
from harness.subprocess.repeatable import Repeatable
from harness.subprocess.service import (
    CollectedStream,
    ProcessHandle,
    SubprocessRuntime,
    TerminalHandle,
    TerminalSignal,
)
from harness.subprocess.spill_file import SpillDirectory
from harness.subprocess.types import (
    Collect,
    Data,
    Foreground,
    Output,
    ProcessExit,
    Retained,
    SpawnSpec,
    Spill,
    Stdin,
    StreamRead,
    TerminalSpec,
)

__all__ = [
    "Collect",
    "CollectedStream",
    "Collector",
    "Data",
    "ExecutableCode",
    "ExecutableError",
    "Foreground",
    "Output",
    "ProcessExit",
    "ProcessHandle",
    "Repeatable",
    "Retained",
    "RuntimeStopping",
    "SpawnCode",
    "SpawnError",
    "SpawnSpec",
    "Spill",
    "SpillDirectory",
    "Stdin",
    "StreamRead",
    "SubprocessError",
    "SubprocessRuntime",
    "TerminalCode",
    "TerminalError",
    "TerminalHandle",
    "TerminalSignal",
    "TerminalSpec",
]
