"""Hand commands to bash, also those too long for an argument."""

from __future__ import annotations

import os
import secrets
import shlex
import shutil
import tempfile
from collections.abc import Generator
from contextlib import contextmanager, suppress

from harness.bash import BashError

MAX_ARGUMENT_BYTES = 100_000
"""Linux takes at most 128 KiB in one argument; longer commands go through a file."""


class Scripts:
    """Own the private directory for long commands; made at the first one.

    Invariants: each file exists only while its command runs.
    """

    def __init__(self) -> None:
        self._directory: str | None = None

    @contextmanager
    def argv(self, shell: str, command: str) -> Generator[tuple[str, ...]]:
        """Yield the arguments that make `shell` run `command`, without any start-up file.

        Raises:
            BashError: a long command cannot be written to its file.
        """
        options = (shell, "--noprofile", "--norc", "-c")
        encoded = command.encode()
        if len(encoded) <= MAX_ARGUMENT_BYTES:
            yield (*options, command)
            return
        try:
            path = self._write(encoded)
        except OSError as error:
            raise BashError(f"cannot pass a long command to bash: {error}") from error
        try:
            yield (*options, f"source {shlex.quote(path)}")
        finally:
            with suppress(OSError):  # gone with its directory
                os.unlink(path)

    def remove(self) -> None:
        """Delete the directory."""
        if self._directory is not None:
            shutil.rmtree(self._directory, ignore_errors=True)
            self._directory = None

    def _write(self, encoded: bytes) -> str:
        if self._directory is None:
            self._directory = tempfile.mkdtemp(prefix="dsh-bash-")
        path = os.path.join(self._directory, secrets.token_hex(8))
        with open(path, "xb", opener=_private) as file:
            file.write(encoded)
        return path


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
