"""The local backend keeps the filesystem contract."""

from harness.fs.contract import FileSystemContract


class TestFsLocal(FileSystemContract):
    pass
