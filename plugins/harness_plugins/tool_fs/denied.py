"""Refuse the files that no tool may show or change."""

import os
from collections.abc import Iterable
from fnmatch import fnmatchcase
from pathlib import Path

from harness.fs import FsError, FsTarget


class DeniedFiles:
    """Match canonical paths against patterns; relative patterns start at `home`."""

    def __init__(self, patterns: Iterable[str], home: Path) -> None:
        root = os.path.realpath(home)
        self._patterns = tuple(os.path.join(root, pattern) for pattern in patterns)

    def refuse(self, target: FsTarget, process_path: str) -> None:
        """Raise `FS_PERMISSION_DENIED` when the file is on the list."""
        if any(fnmatchcase(process_path, pattern) for pattern in self._patterns):
            raise FsError(
                f"'{target.display_path}' may hold secrets and is off limits to file tools.",
                code="FS_PERMISSION_DENIED",
            )
