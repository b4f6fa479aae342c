"""Follow one command that runs in the background."""

from __future__ import annotations

from collections.abc import Awaitable

from harness.bash import BashTask
from harness.subprocess import CollectedStream, ProcessExit, ProcessHandle, Repeatable, SpawnError
from harness_plugins.bash_local.output import both_streams


class LocalBashTask(BashTask):
    """Read a background command piece by piece, and end it.

    Invariants: every byte is returned by at most one `read_output`.
    """

    def __init__(self, handle: ProcessHandle) -> None:
        self._handle = handle
        self._offsets = {"stdout": 0, "stderr": 0}
        self._failure = handle.failure
        self._told_spills: set[str] = set()

    @property
    def done(self) -> Awaitable[ProcessExit]:
        """Wait for the end; see `BashTask.done`."""
        return Repeatable(self._wait)

    def read_output(self) -> str:
        """Return what is new; see `BashTask.read_output`."""
        notes: list[str] = []
        stdout, stderr = both_streams(self._handle)
        out = self._read("stdout", stdout, notes)
        err = self._read("stderr", stderr, notes)
        if self._failure is not None:
            notes.append(f"[the command could not be started: {self._failure}]")
            self._failure = None
        parts = [out, f"[stderr]\n{err}" if err else "", *notes]
        return "\n".join(part.removesuffix("\n") for part in parts if part)

    def kill(self) -> bool:
        """End the command; see `BashTask.kill`."""
        is_running = self._handle.is_alive()
        self._handle.terminate()
        return is_running

    async def _wait(self) -> ProcessExit:
        try:
            return await self._handle.done
        except SpawnError:  # told by the first read
            return ProcessExit(None, None)

    def _read(self, name: str, stream: CollectedStream, notes: list[str]) -> str:
        read = stream.read_from(self._offsets[name])
        self._offsets[name] = read.next_offset
        if read.lossy:
            notes.append(f"[{name}: earlier output was dropped from memory]")
        if read.spill_path is not None and read.spill_path not in self._told_spills:
            self._told_spills.add(read.spill_path)
            notes.append(f"[{name}: full output in {read.spill_path}]")
        return read.text
