"""Choose the directory that spilled texts go to, and find those of earlier runs."""

from __future__ import annotations

import glob
import os
import re
import secrets
import tempfile
import threading

PREFIX = "dsh-spill-"
_DEFAULT_ROOT = re.compile(re.escape(PREFIX) + r"[0-9A-Za-z]{6}")


class Roots:
    """Own the root of one store: the configured one, else a private one made at first use.

    May be used from several threads.
    """

    def __init__(self, configured: str | None) -> None:
        self._configured = None if configured is None else os.path.abspath(configured)
        self._default: str | None = None
        self._lock = threading.Lock()

    def active(self) -> str:
        """Return the root, which exists afterwards.

        Raises:
            OSError: it cannot be made.
        """
        if self._configured is not None:
            os.makedirs(self._configured, mode=0o700, exist_ok=True)
            return self._configured
        with self._lock:
            if self._default is None:
                self._default = _make_private()
            return self._default

    def sweepable(self) -> list[str]:
        """Return the configured root and the default ones that earlier runs left behind."""
        pattern = os.path.join(glob.escape(tempfile.gettempdir()), f"{PREFIX}*")
        found = [
            path for path in glob.glob(pattern) if _DEFAULT_ROOT.fullmatch(os.path.basename(path))
        ]
        return found if self._configured is None else [self._configured, *found]

    def is_active(self, path: str) -> bool:
        """Tell whether new texts may go to this root."""
        return path in (self._configured, self._default)


def _make_private() -> str:
    while True:
        path = os.path.join(tempfile.gettempdir(), PREFIX + secrets.token_hex(3))
        try:
            os.mkdir(path, 0o700)
        except FileExistsError:
            continue
        return path
