"""Mount the local backend on a real kernel, and serve it an empty directory."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from harness.fs import FileSystem
from harness_plugins.fs_local import FsLocal
from vendor_shims.cordis import Context


class Disk:
    """The served directory, seen by another program."""

    def __init__(self, root: str) -> None:
        self.root = root

    def put(self, name: str, content: str | bytes) -> None:
        data = content if isinstance(content, bytes) else content.encode()
        Path(self.root, name).write_bytes(data)

    def get(self, name: str) -> bytes:
        return Path(self.root, name).read_bytes()

    def stretch(self, name: str, size: int) -> None:
        with Path(self.root, name).open("ab") as file:
            file.truncate(size)


@pytest.fixture
async def fs() -> AsyncIterator[FileSystem]:
    async with Context() as root:
        await root.plugin(FsLocal)
        yield root[FileSystem]


@pytest.fixture
def root(tmp_path: Path) -> str:
    return str(tmp_path.resolve())


@pytest.fixture
def disk(root: str) -> Disk:
    return Disk(root)
