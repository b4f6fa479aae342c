"""Stand in for a process that could not be started."""

from __future__ import annotations

from collections.abc import Awaitable

from harness.subprocess import (
    Collect,
    Collector,
    Output,
    ProcessExit,
    ProcessHandle,
    Repeatable,
    SpawnError,
    SpawnSpec,
    SpillDirectory,
)
from harness_plugins.subprocess_local.streams import DeadStream
from vendor_shims.cordis import AbortSignal


class FailedProcess(ProcessHandle):
    """Report the reason wherever the caller looks: from `done` and from every stream."""

    def __init__(self, spec: SpawnSpec, reason: SpawnError) -> None:
        self.pid = -1
        self.failure = reason
        self._reason = reason
        self.stdin = DeadStream(reason) if spec.stdin == "pipe" else None
        self.stdout, self.collected_stdout = _streams(spec.stdout, reason)
        self.stderr, self.collected_stderr = _streams(spec.stderr, reason)

    @property
    def done(self) -> Awaitable[ProcessExit]:
        """Raise the reason when awaited."""
        return Repeatable(self._fail)

    def terminate(self) -> None:
        """Do nothing."""

    async def wait_for_exit(self, signal: AbortSignal | None = None) -> bool:
        """Return True at once: nothing runs."""
        del signal
        return True

    def is_alive(self) -> bool:
        """Return False: nothing runs."""
        return False

    async def _fail(self) -> ProcessExit:
        raise self._reason


def _streams(output: Output, reason: SpawnError) -> tuple[DeadStream | None, Collector | None]:
    if isinstance(output, Collect):
        empty = Collector(output, SpillDirectory())
        empty.close()
        return None, empty
    return (DeadStream(reason) if output == "pipe" else None), None
