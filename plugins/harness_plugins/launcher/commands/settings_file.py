"""Read and change the shared settings file, one leaf at a time."""

import os
import re
from collections.abc import Callable
from pathlib import Path

from anyio.to_thread import run_sync

from harness.durable_files import atomic_write, file_lock
from harness.launch import Home
from harness.yaml_edit import YamlDocument, read_yaml_file

SECTION = re.compile(r"[a-z][a-z0-9-]*")
_LOCK_WAIT_S = 30.0


def read_settings(home: Home) -> YamlDocument:
    """Return the settings of a home; empty when there is no file.

    Raises:
        YamlSyntaxError: the file is no acceptable document.
        OSError: it cannot be read.
    """
    return read_yaml_file(home.settings_file)


async def change_settings(home: Home, change: Callable[[YamlDocument], YamlDocument]) -> bool:
    """Write what `change` makes of the settings, in one step; return whether anything changed.

    Raises:
        LockTimeoutError: another process keeps the file locked.
        YamlError: the file cannot be read, or the change not be made in it.
        HomeError, OSError: it cannot be written.
    """
    home.ensure()
    path = Path(_real(home.settings_file))  # a link into a versioned folder stays a link
    async with file_lock(path, _LOCK_WAIT_S):
        before = read_settings(home)
        after = change(before)
        if after.text == before.text:
            return False
        await run_sync(lambda: atomic_write(path, after.text.encode(), mode=0o600))
        return True


def _real(path: Path) -> str:
    return os.path.realpath(path)
