"""Run one process on a terminal of its own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import termios
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import suppress

import anyio
import anyio.lowlevel

from harness.subprocess import (
    Foreground,
    ProcessExit,
    SpawnSpec,
    TerminalError,
    TerminalHandle,
    TerminalSignal,
    TerminalSpec,
)
from harness_plugins.subprocess_local.input_wait import waits_for_input
from harness_plugins.subprocess_local.launch import Child, check_argv, explain
from harness_plugins.subprocess_local.process import LocalProcess
from harness_plugins.subprocess_local.process_table import group_of

ALLOWED = ("SIGINT", "SIGTERM", "SIGKILL", "SIGTSTP", "SIGHUP")
_CHUNK_BYTES = 65_536
_LOOK_S = 0.25

# Only the new session's leader can make the terminal its own, so a small program does that in the
# child before it becomes the real one. Python ignores two signals that must not stay ignored.
_LAUNCHER = """
import fcntl, os, signal, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
for name in (signal.SIGPIPE, signal.SIGXFSZ):
    signal.signal(name, signal.SIG_DFL)
os.execv(sys.argv[1], sys.argv[2:])
"""


def launch_terminal(
    spec: TerminalSpec, program: str, env: Mapping[str, str]
) -> tuple[Child, int, str]:
    """Start `program` (an absolute path) with the arguments of `spec` on a new terminal.

    Returns:
        The child, our non-blocking end of the terminal, and the path of its end.

    Raises:
        SpawnError: it could not be started; no descriptor is left open.
    """
    argv = tuple(spec.argv)
    check_argv(argv, spec.cwd)
    try:
        ours, theirs = os.openpty()
    except OSError as error:
        raise explain(error, argv[0], spec.cwd) from error
    try:
        termios.tcsetwinsize(theirs, (spec.rows, spec.cols))
        popen = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", _LAUNCHER, program, *argv],
            cwd=spec.cwd,
            env=env,
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
        )
        os.set_blocking(ours, False)
        return Child(popen, None, None, None), ours, os.ttyname(theirs)
    except (OSError, ValueError) as error:
        os.close(ours)
        raise explain(error, argv[0], spec.cwd) from error
    finally:
        os.close(theirs)


def process_spec(spec: TerminalSpec) -> SpawnSpec:
    """Return what the life of the terminal's process looks like without its terminal."""
    return SpawnSpec(
        argv=spec.argv,
        cwd=spec.cwd,
        stdin="ignore",
        stdout="inherit",
        stderr="inherit",
        grace_s=spec.grace_s,
        signal=spec.signal,
    )


class LocalTerminal(TerminalHandle):
    """Talk to a process through a pseudo terminal.

    Invariants: `_fd` is our end of the terminal, None once closed.
    """

    def __init__(
        self,
        process: LocalProcess,
        fd: int,
        *,
        path: str,
        on_closed: Callable[[LocalTerminal], None],
    ) -> None:
        self.pid = process.pid
        self._process = process
        self._fd: int | None = fd
        self._path = path
        self._on_closed = on_closed

    @property
    def output(self) -> AsyncIterator[bytes]:
        """Yield what appears; see `TerminalHandle.output`."""
        return self._read()

    @property
    def done(self) -> Awaitable[ProcessExit]:
        """Wait for the end of the process that leads the terminal."""
        return self._process.done

    async def write(self, content: bytes) -> None:
        """Type `content`; see `TerminalHandle.write`."""
        left = memoryview(content)
        while left:
            fd = self._opened()
            try:
                left = left[os.write(fd, left[:_CHUNK_BYTES]) :]
            except BlockingIOError as error:  # nobody reads what was typed before
                if not self._process.is_alive():
                    raise _closed() from error
                # The kernel does not tell when the last reader goes, so look now and then.
                with anyio.move_on_after(_LOOK_S):
                    await anyio.wait_writable(fd)
            except OSError as error:
                raise _closed() from error
        await anyio.lowlevel.checkpoint()

    def resize(self, rows: int, cols: int) -> None:
        """Tell the terminal its new size; its processes get SIGWINCH."""
        termios.tcsetwinsize(self._opened(), (rows, cols))

    def inspect_foreground(self) -> Foreground | None:
        """Return the foreground group; see `TerminalHandle.inspect_foreground`."""
        group = self._foreground()
        if group is None:
            return None
        pids = [pid for pid in self._process.members() if group_of(pid) == group]
        return Foreground(group, waits_for_input(pids, self._path))

    def signal_foreground(self, name: TerminalSignal) -> None:
        """Send a signal to the foreground group; see `TerminalHandle.signal_foreground`."""
        if name not in ALLOWED:
            raise TerminalError(
                f"signal {name!r} cannot be sent; use one of {', '.join(ALLOWED)}",
                code="TERMINAL_SIGNAL_REFUSED",
            )
        group = self._foreground()
        if group is None:
            raise _closed()
        if name == "SIGKILL" and group == self.pid:
            raise TerminalError(
                "the shell itself is in the foreground; close the terminal instead of killing it",
                code="TERMINAL_SIGNAL_REFUSED",
            )
        with suppress(ProcessLookupError):  # ended meanwhile
            os.killpg(group, getattr(signal, name))

    async def terminate(self) -> None:
        """End everything on the terminal; see `TerminalHandle.terminate`."""
        self._process.terminate()
        self._process.hang_up()
        is_gone = await self._process.wait_for_exit()
        self.close()
        if not is_gone:
            pids = tuple(self._process.members())
            raise TerminalError(
                f"processes {list(pids)} cannot be ended", code="TERMINAL_SURVIVORS", pids=pids
            )

    def close(self) -> None:
        """Close our end; harmless when done already."""
        fd, self._fd = self._fd, None
        if fd is not None:
            anyio.notify_closing(fd)
            os.close(fd)
            self._on_closed(self)

    async def _read(self) -> AsyncIterator[bytes]:
        while self._fd is not None:
            try:
                chunk = os.read(self._fd, _CHUNK_BYTES)
            except BlockingIOError:  # nothing new
                try:
                    await anyio.wait_readable(self._fd)
                except anyio.ClosedResourceError:
                    return
                continue
            except OSError:  # how Linux says that the last process has left the terminal
                chunk = b""
            if not chunk:
                return
            await anyio.lowlevel.cancel_shielded_checkpoint()
            yield chunk

    def _foreground(self) -> int | None:
        if self._fd is None:
            return None
        try:
            return os.tcgetpgrp(self._fd) or None
        except OSError:  # no session has this terminal any more
            return None

    def _opened(self) -> int:
        if self._fd is None:
            raise _closed()
        return self._fd


def _closed() -> TerminalError:
    return TerminalError("the terminal is closed; open a new one", code="TERMINAL_CLOSED")
