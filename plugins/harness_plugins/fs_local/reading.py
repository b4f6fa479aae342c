"""Read regular files without ever blocking on something else that has their name."""

import os
from threading import Lock

from harness.fs import FsError, FsTarget, TextDecoder
from harness_plugins.fs_local.os_errors import require_regular, translated
from harness_plugins.fs_local.workers import Checkpoint

CHUNK_BYTES = 1024 * 1024

# Non-blocking, so that a pipe put in the file's place after the look cannot hold the thread.
READ_FLAGS = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NOCTTY


def open_for_reading(target: FsTarget, intent: str) -> int:
    """Open a target that looks regular; check `regular_state` of the descriptor before reading.

    Raises:
        FsError: `FS_NOT_FOUND`, `FS_NOT_REGULAR_FILE`, `FS_PERMISSION_DENIED` or `FS_IO_ERROR`.
    """
    path = target.target_key
    if "\0" in path:
        raise FsError(f"cannot {intent}: no path holds NUL", code="FS_NOT_FOUND")
    with translated(intent):
        require_regular(os.lstat(path), intent)  # opening some devices has effects
        return os.open(path, READ_FLAGS)


def regular_state(fd: int, intent: str) -> os.stat_result:
    """Return the state of an open regular file; something else may have taken its place."""
    info = os.fstat(fd)
    require_regular(info, intent)
    return info


def read_whole(target: FsTarget, *, max_bytes: int | None, checkpoint: Checkpoint) -> bytes:
    """Return a whole file; more than `max_bytes` is `FS_TOO_LARGE`."""
    intent = f"read '{target.display_path}'"
    fd = open_for_reading(target, intent)
    try:
        with translated(intent):
            size = regular_state(fd, intent).st_size
            if max_bytes is not None and size > max_bytes:
                raise _too_large(target, max_bytes)
            data = read_up_to(fd, None if max_bytes is None else max_bytes + 1, checkpoint)
    finally:
        os.close(fd)
    if max_bytes is not None and len(data) > max_bytes:
        raise _too_large(target, max_bytes)
    return data


def read_up_to(fd: int, n_bytes: int | None, checkpoint: Checkpoint) -> bytes:
    """Read from the descriptor until its end, or until `n_bytes` are there."""
    parts: list[bytes] = []
    size = 0
    while n_bytes is None or size < n_bytes:
        checkpoint()
        wanted = CHUNK_BYTES if n_bytes is None else min(CHUNK_BYTES, n_bytes - size)
        part = os.read(fd, wanted)
        if not part:
            break
        parts.append(part)
        size += len(part)
    return parts[0] if len(parts) == 1 else b"".join(parts)


class TextStream:
    """Read one file as text, chunk by chunk, from worker threads.

    Invariants: at most one thread reads at a time; the descriptor is closed exactly once, at the
    end, at the first failure or by `close`, and never while a thread is reading from it.
    """

    def __init__(self, target: FsTarget) -> None:
        self._target = target
        self._intent = f"read '{target.display_path}'"
        self._decoder = TextDecoder(target.display_path)
        self._fd: int | None = None
        self._is_over = False
        self._reading = Lock()

    def next_chunk(self, checkpoint: Checkpoint) -> str | None:
        """Return up to one mebibyte of text, possibly empty, or None after the end; blocks."""
        try:
            with self._reading:
                return None if self._is_over else self._read(checkpoint)
        except BaseException:
            self._is_over = True
            raise
        finally:
            if self._is_over:
                self.close()

    def close(self) -> None:
        """Stop reading; the descriptor goes now, or when the thread that uses it is done."""
        self._is_over = True
        if self._reading.acquire(blocking=False):
            try:
                if self._fd is not None:
                    fd, self._fd = self._fd, None
                    os.close(fd)
            finally:
                self._reading.release()

    def _read(self, checkpoint: Checkpoint) -> str:
        if self._fd is None:
            self._fd = open_for_reading(self._target, self._intent)
            _ = regular_state(self._fd, self._intent)
        with translated(self._intent):
            chunk = read_up_to(self._fd, CHUNK_BYTES, checkpoint)
        final = len(chunk) < CHUNK_BYTES
        if final:
            self._is_over = True
        return self._decoder.decode(chunk, final=final)


def _too_large(target: FsTarget, max_bytes: int) -> FsError:
    return FsError(f"'{target.display_path}' is larger than {max_bytes} bytes", code="FS_TOO_LARGE")
