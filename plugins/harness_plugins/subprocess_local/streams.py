"""Offer pipes to a child as byte streams, and streams that only report why there is no child."""

from __future__ import annotations

import os

import anyio
import anyio.lowlevel
from anyio.abc import ByteReceiveStream, ByteSendStream

from harness.subprocess import SpawnError

_MAX_WRITE_BYTES = 65_536


class PipeReader(ByteReceiveStream):
    """Read what a child writes; nothing is buffered, so a slow reader slows the child."""

    def __init__(self, fd: int) -> None:
        self._fd: int | None = fd

    async def receive(self, max_bytes: int = 65_536) -> bytes:
        """Return the next bytes, at least one.

        Raises:
            anyio.EndOfStream: every writer has closed the pipe.
            anyio.ClosedResourceError: this end is closed.
        """
        while True:
            fd = _opened(self._fd)
            try:
                chunk = os.read(fd, max_bytes)
            except BlockingIOError:  # empty now
                await anyio.wait_readable(fd)
                continue
            if chunk:
                await anyio.lowlevel.cancel_shielded_checkpoint()
                return chunk
            raise anyio.EndOfStream

    async def aclose(self) -> None:
        """Close the descriptor; harmless when done already."""
        self._fd = _close(self._fd)


class PipeWriter(ByteSendStream):
    """Write to a child; suspends while the pipe is full."""

    def __init__(self, fd: int) -> None:
        self._fd: int | None = fd

    async def send(self, item: bytes) -> None:
        """Write all of `item`.

        Raises:
            anyio.BrokenResourceError: the child reads no more.
            anyio.ClosedResourceError: this end is closed.
        """
        left = memoryview(item)
        while left:
            fd = _opened(self._fd)
            try:
                left = left[os.write(fd, left[:_MAX_WRITE_BYTES]) :]
            except BlockingIOError:  # full now
                await anyio.wait_writable(fd)
            except BrokenPipeError as error:
                raise anyio.BrokenResourceError from error
        await anyio.lowlevel.checkpoint()

    async def aclose(self) -> None:
        """Close the descriptor, so that the child sees end of file; harmless when done already."""
        self._fd = _close(self._fd)


class DeadStream(ByteReceiveStream, ByteSendStream):
    """Stand in for a stream of a process that never started: every use reports the reason."""

    def __init__(self, reason: SpawnError) -> None:
        self._reason = reason

    async def receive(self, max_bytes: int = 65_536) -> bytes:
        """Raise the reason."""
        del max_bytes
        raise self._reason

    async def send(self, item: bytes) -> None:
        """Raise the reason."""
        del item
        raise self._reason

    async def aclose(self) -> None:
        """Do nothing."""


def _opened(fd: int | None) -> int:
    if fd is None:
        raise anyio.ClosedResourceError
    return fd


def _close(fd: int | None) -> None:
    if fd is not None:
        anyio.notify_closing(fd)
        os.close(fd)
