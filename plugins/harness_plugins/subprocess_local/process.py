"""Run the life of one local process: output, exit, escalation, and the end of its tree."""

from __future__ import annotations

import asyncio
import os
import signal as signals
from collections.abc import Awaitable, Callable
from typing import ClassVar

import anyio

from harness.subprocess import (
    Collect,
    Collector,
    Output,
    ProcessExit,
    ProcessHandle,
    Repeatable,
    SpawnSpec,
    SpillDirectory,
)
from harness_plugins.subprocess_local.drain import Drain
from harness_plugins.subprocess_local.exit_watch import ExitWatch
from harness_plugins.subprocess_local.launch import Child
from harness_plugins.subprocess_local.process_table import ProcessTable, TreeId
from harness_plugins.subprocess_local.streams import PipeReader, PipeWriter
from vendor_shims.cordis import AbortSignal

POLL_S = 0.015
IDLE_POLL_S = 0.25
QUIET_S = 0.25
"""After the exit, how long a pipe that a left-behind child holds must be silent."""


class LocalProcess(ProcessHandle):
    """Follow one child from its start to the end of everything that it started.

    Driven by callbacks of the loop, so it needs no task of its own.

    Invariants:
        `_ended` is None until the leader has exited, and never changes afterwards.
        The leader is reaped when the tree is gone and not before (`_gone`), so its number stays
        ours while signals may still be sent.
        `_settled` is set once the leader has exited and its output is complete or cut off.
        A pipe that somebody outside of the tree still holds is read until the runtime lets go.
    """

    patience_s: ClassVar[float] = 5.0
    """How long after KILL a process may linger (in a stuck system call) before we give up on it."""

    def __init__(
        self,
        spec: SpawnSpec,
        child: Child,
        *,
        tree: TreeId,
        table: ProcessTable,
        directory: SpillDirectory,
        on_released: Callable[[LocalProcess], None],
    ) -> None:
        self.pid = child.popen.pid
        self.failure = None
        self._popen = child.popen
        self._grace_s = spec.grace_s
        self._tree = tree
        self._table = table
        self._on_released = on_released
        self._loop = asyncio.get_running_loop()
        self._ended: ProcessExit | None = None
        self._settled = anyio.Event()
        self._gone = False
        self._reported = False
        self._abandoned = False
        self._kill_at: float | None = None
        self._drain_until = 0.0
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._wakes: set[anyio.Event] = set()
        self._drains: list[Drain] = []
        self.stdin = None if child.stdin_fd is None else PipeWriter(child.stdin_fd)
        self._collectors: list[Collector] = []
        self.stdout, self.collected_stdout = self._open(spec.stdout, child.stdout_fd, directory)
        self.stderr, self.collected_stderr = self._open(spec.stderr, child.stderr_fd, directory)
        self._watch = ExitWatch(child.popen, self._on_exit)
        abort = spec.signal
        self._unbind = abort.add_callback(lambda _: self.terminate()) if abort else _nothing

    @property
    def done(self) -> Awaitable[ProcessExit]:
        """Wait for the exit and the output; see `ProcessHandle.done`."""
        return Repeatable(self._wait_settled)

    def terminate(self) -> None:
        """Start TERM, grace, KILL on the whole tree; returns at once."""
        self.end_within(self._grace_s)

    def end_within(self, grace_s: float) -> None:
        """Terminate with a grace of at most `grace_s`; may shorten one that runs already."""
        if self._gone:
            self._release()
            return
        kill_at = self._loop.time() + min(grace_s, self._grace_s)
        if self._kill_at is None or self._abandoned:
            self._abandoned = False
            self._kill_at = kill_at
            self._table.send(self._tree, signals.SIGTERM)
            self._escalate()
        else:
            self._kill_at = min(self._kill_at, kill_at)

    async def wait_for_exit(self, signal: AbortSignal | None = None) -> bool:
        """Wait until nothing of the tree lives; see `ProcessHandle.wait_for_exit`."""
        interval_s = POLL_S
        while self.is_alive():
            if self._abandoned or (signal is not None and signal.aborted):
                return False
            await self._wait_for_news(interval_s, signal)
            interval_s = min(interval_s * 2, IDLE_POLL_S)
        return True

    def is_alive(self) -> bool:
        """Tell whether any process of the tree still runs."""
        if not self._gone and self._ended is not None and not self.members():
            self._finish()
        return not self._gone

    def members(self) -> list[int]:
        """Return the pids of the tree that still run."""
        return self._table.members(self._tree)

    def hang_up(self) -> None:
        """Tell the leader that nobody is there any more, as a closing terminal does."""
        if self._ended is None:
            os.kill(self.pid, signals.SIGHUP)

    def kill_now(self) -> None:
        """Send KILL to the tree without waiting; for the end of the interpreter."""
        if not self._gone:
            self._table.send(self._tree, signals.SIGKILL)

    async def _wait_settled(self) -> ProcessExit:
        await self._settled.wait()
        return self._ended or ProcessExit(None, None)

    async def _wait_for_news(self, at_most_s: float, signal: AbortSignal | None) -> None:
        wake = anyio.Event()
        self._wakes.add(wake)
        remove = signal.add_callback(lambda _: wake.set()) if signal else _nothing
        try:
            with anyio.move_on_after(at_most_s):
                await wake.wait()
        finally:
            remove()
            self._wakes.discard(wake)

    def _open(
        self, output: Output, fd: int | None, directory: SpillDirectory
    ) -> tuple[PipeReader | None, Collector | None]:
        if fd is None:
            return None, None
        if not isinstance(output, Collect):
            return PipeReader(fd), None
        collector = Collector(output, directory)
        self._collectors.append(collector)
        self._drains.append(
            Drain(fd, collector, on_data=self._on_data, on_end=self._on_end_of_output)
        )
        return None, collector

    def _on_exit(self, ended: ProcessExit) -> None:
        self._ended = ended
        self._drain_until = self._loop.time() + self._grace_s
        self._on_end_of_output()
        self._on_data()

    def _on_end_of_output(self) -> None:
        if not self._has_open_pipe():
            if self._ended is not None:
                self._settle()
            self._report()

    def _has_open_pipe(self) -> bool:
        return any(drain.is_open for drain in self._drains)

    def _on_data(self) -> None:
        """After the exit, wait for silence on the pipes, but not beyond the grace."""
        if self._ended is not None and not self._settled.is_set():
            quiet_at = min(self._loop.time() + QUIET_S, self._drain_until)
            self._at("quiet", quiet_at, self._settle)

    def _settle(self) -> None:
        """Publish the result; what is still running keeps its pipes, but is no longer heard."""
        if self._settled.is_set():
            return
        self._unbind()
        for collector in self._collectors:
            collector.close()
        self._settled.set()
        self._notify()
        self.is_alive()

    def _escalate(self) -> None:
        if not self.is_alive() or self._kill_at is None:
            return
        overdue_s = self._loop.time() - self._kill_at
        if overdue_s >= 0:
            # Repeated: a member may have started another between the listing and its own end.
            self._table.send(self._tree, signals.SIGKILL)
        if overdue_s > self.patience_s:
            self._abandon()
        else:
            self._at("escalate", self._loop.time() + POLL_S, self._escalate)

    def _abandon(self) -> None:
        """Give up on a process that not even KILL ends; it stays listed, nobody waits for it."""
        self._abandoned = True
        self._settle()
        self._notify()

    def _finish(self) -> None:
        """Let go of a tree that is gone: now, and only now, the leader's number is freed."""
        self._gone = True
        self._popen.wait()
        self._watch.close()
        for drain in self._drains:
            drain.catch_up()
        if self._kill_at is not None:
            self._release()
        self._settle()
        for timer in self._timers.values():
            timer.cancel()
        self._notify()
        self._report()

    def _release(self) -> None:
        for drain in self._drains:
            drain.close()
        self._report()

    def _report(self) -> None:
        if self._gone and not self._reported and not self._has_open_pipe():
            self._reported = True
            self._on_released(self)

    def _notify(self) -> None:
        for wake in self._wakes:
            wake.set()

    def _at(self, name: str, when: float, action: Callable[[], None]) -> None:
        previous = self._timers.get(name)
        if previous is not None:
            previous.cancel()
        self._timers[name] = self._loop.call_at(when, action)


def _nothing() -> None:
    """Stand in for a remover when there is nothing to remove."""
