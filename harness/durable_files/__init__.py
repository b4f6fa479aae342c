"""Write files that survive a crash whole, and lock them between processes."""

from harness.durable_files.atomic import atomic_write
from harness.durable_files.errors import LockTimeoutError
from harness.durable_files.files import OS_FILES, FileOps, OsFiles
from harness.durable_files.lock import FileLock, LockOwner, file_lock, read_owner, try_file_lock

__all__ = [
    "OS_FILES",
    "FileLock",
    "FileOps",
    "LockOwner",
    "LockTimeoutError",
    "OsFiles",
    "atomic_write",
    "file_lock",
    "read_owner",
    "try_file_lock",
]
