"""Read one pipe without ever blocking the child, one bounded chunk per turn of the loop."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable

from harness.subprocess import Collector

CHUNK_BYTES = 65_536
MAX_LAST_CHUNKS = 32
"""Twice the largest pipe: enough for all that is left, and an end if somebody still writes."""


class Drain:
    """Move bytes from a pipe into a collector until end of file.

    Reading goes on after the collector closed, so that a child which outlives the call that
    started it neither blocks on a full pipe nor dies of a broken one.

    Invariants: the descriptor is watched exactly while `is_open`; it is closed exactly once.
    """

    def __init__(
        self,
        fd: int,
        collector: Collector,
        *,
        on_data: Callable[[], None],
        on_end: Callable[[], None],
    ) -> None:
        self._fd = fd
        self._collector = collector
        self._on_data = on_data
        self._on_end = on_end
        self._loop = asyncio.get_running_loop()
        self.is_open = True
        self._loop.add_reader(fd, self._read)

    def catch_up(self) -> None:
        """Take at once what the pipe holds, for use when all its writers should be gone."""
        for _ in range(MAX_LAST_CHUNKS):
            if not self.is_open or not self._read():
                break

    def close(self) -> None:
        """Stop reading and close the descriptor; harmless when done already."""
        if self.is_open:
            self.is_open = False
            self._loop.remove_reader(self._fd)
            os.close(self._fd)

    def _read(self) -> bool:
        try:
            chunk = os.read(self._fd, CHUNK_BYTES)
        except BlockingIOError:  # nothing there now
            return False
        if chunk:
            self._collector.feed(chunk)
            self._on_data()
        else:
            self.close()
            self._on_end()
        return bool(chunk)
