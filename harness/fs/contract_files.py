"""Reach the files of a backend under test from behind."""

from collections.abc import Awaitable
from pathlib import Path

import pytest

from harness.fs.errors import FsError
from harness.fs.service import FileSystem
from harness.fs.types import FsTarget, FsVersion


class BackendFiles:
    """Store and look up what a backend serves, without going through it.

    Override `put` and `get` when the backend's root is not a directory of this machine.
    """

    def put(self, path: str, data: bytes) -> None:
        """Store bytes behind the backend's back, making parents."""
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        _ = Path(path).write_bytes(data)

    def get(self, path: str) -> bytes:
        """Return the bytes that are really stored."""
        return Path(path).read_bytes()

    async def file(self, fs: FileSystem, root: str, *, name: str, data: bytes) -> FsTarget:
        """Store a file behind the backend's back and return its target."""
        self.put(f"{root}/{name}", data)
        return await fs.resolve(name, cwd=root)


def refused(code: str) -> pytest.RaisesExc[FsError]:
    """Expect an `FsError` with that code."""
    return pytest.raises(FsError, check=lambda exc: exc.code == code)


async def outcome_of(attempt: Awaitable[object]) -> str:
    """Return `done`, or the code of the refusal."""
    try:
        _ = await attempt
    except FsError as exc:
        return exc.code
    return "done"


async def version_of(fs: FileSystem, target: FsTarget) -> FsVersion:
    """Return the version of an existing target."""
    info = await fs.stat(target)
    assert info is not None
    return info.version
