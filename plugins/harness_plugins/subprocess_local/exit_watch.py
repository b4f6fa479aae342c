"""Notice the end of a child at once, without reaping it.

The zombie is kept on purpose: as long as it exists the kernel cannot give its number, which
is also the number of its group and session, to anybody else.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
from collections.abc import Callable

from harness.subprocess import ProcessExit
from harness_plugins.subprocess_local.process_table import signal_name

POLL_S = 0.02


class ExitWatch:
    """Call back once when a child has ended.

    Where the kernel has no process descriptors the child is polled instead.
    """

    def __init__(
        self, popen: subprocess.Popen[bytes], on_exit: Callable[[ProcessExit], None]
    ) -> None:
        self._popen = popen
        self._on_exit = on_exit
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None
        self._fd = _open_descriptor(popen.pid)
        if self._fd is None:
            self._timer = self._loop.call_later(POLL_S, self._poll)
        else:
            self._loop.add_reader(self._fd, self._check)

    def close(self) -> None:
        """Stop watching; harmless when done already."""
        if self._timer is not None:
            self._timer.cancel()
        fd, self._fd = self._fd, None
        if fd is not None:
            self._loop.remove_reader(fd)
            os.close(fd)

    def _poll(self) -> None:
        self._timer = self._loop.call_later(POLL_S, self._poll)
        self._check()

    def _check(self) -> None:
        ended = read_exit(self._popen)
        if ended is not None:
            self.close()
            self._on_exit(ended)


def read_exit(popen: subprocess.Popen[bytes]) -> ProcessExit | None:
    """Return how a child ended, or None while it runs; the child is not reaped if possible."""
    if not hasattr(os, "waitid"):  # macOS before Python 3.13 cannot look without reaping
        return None if popen.poll() is None else _from_code(popen.returncode)
    try:
        status = os.waitid(os.P_PID, popen.pid, os.WEXITED | os.WNOWAIT | os.WNOHANG)
    except ChildProcessError:  # reaped by somebody else: the status is lost
        return ProcessExit(None, None)
    if status is None:
        return None
    exited = status.si_code == os.CLD_EXITED
    return _from_code(status.si_status if exited else -status.si_status)


def _from_code(code: int) -> ProcessExit:
    return ProcessExit(None, signal_name(-code)) if code < 0 else ProcessExit(code, None)


def _open_descriptor(pid: int) -> int | None:
    try:
        return os.pidfd_open(pid)
    except (AttributeError, OSError):  # not this system, or an old kernel
        return None
