"""Keep complete streams in owner-only files inside one private directory."""

from __future__ import annotations

import glob
import os
import secrets
import shutil
import tempfile
from contextlib import suppress

from harness.spill import sweep_directory

PREFIX = "dsh-process-"


class SpillDirectory:
    """Own one private 0700 directory, made at the first file and removed at the end."""

    def __init__(self, parent: str | None = None) -> None:
        self._parent = parent
        self.path: str | None = None

    def new_file(self) -> tuple[int, str]:
        """Create a file nobody can guess, mode 0600; return its descriptor and path.

        Raises:
            OSError: the directory or the file cannot be made.
        """
        if self.path is None:
            self.path = tempfile.mkdtemp(prefix=PREFIX, dir=self._parent)
        path = os.path.join(self.path, f"{secrets.token_hex(16)}.log")
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        return os.open(path, flags, 0o600), path

    def sweep_siblings(self, older_than: float) -> None:
        """Remove files last written before `older_than` that crashed runs left beside ours."""
        parent = self._parent or tempfile.gettempdir()
        for path in glob.glob(os.path.join(glob.escape(parent), f"{PREFIX}*")):
            if path != self.path:
                sweep_directory(path, older_than=older_than)
                with suppress(OSError):  # not empty, not ours, or gone
                    os.rmdir(path)

    def remove(self) -> None:
        """Delete the directory and all its files."""
        if self.path is not None:
            shutil.rmtree(self.path, ignore_errors=True)
            self.path = None


class SpillFile:
    """Write one stream to a file until it ends, fails or grows past its limit.

    Invariants: `path` is set only while the file holds every byte written so far; a file that
    is not advertised does not stay behind.
    """

    def __init__(self, directory: SpillDirectory, max_bytes: int) -> None:
        self._directory = directory
        self._room = max_bytes
        self._fd: int | None = None
        self.path: str | None = None
        self.is_started = False

    def write(self, content: bytes) -> None:
        """Append `content`; a failure or too much of it gives the file up for good."""
        if self.is_started and self._fd is None:
            return
        self.is_started = True
        self._room -= len(content)
        if self._room < 0:
            self.discard()
            return
        try:
            self._append(content)
        except OSError:  # disk full, directory gone: the run goes on without a file
            self.discard()

    def close(self) -> None:
        """Finish the file; it stays readable when closing works."""
        fd, self._fd = self._fd, None
        if fd is not None:
            try:
                os.close(fd)
            except OSError:  # a delayed write error: what is on disk is not the whole stream
                self._forget()

    def discard(self) -> None:
        """Close and delete the file; nothing is advertised from now on."""
        fd, self._fd = self._fd, None
        if fd is not None:
            with suppress(OSError):  # the file goes away whatever the descriptor says
                os.close(fd)
        self._forget()

    def _append(self, content: bytes) -> None:
        if self._fd is None:
            self._fd, self.path = self._directory.new_file()
        left = memoryview(content)
        while left:
            left = left[os.write(self._fd, left) :]

    def _forget(self) -> None:
        path, self.path = self.path, None
        if path is not None:
            with suppress(OSError):  # gone with its directory
                os.unlink(path)
