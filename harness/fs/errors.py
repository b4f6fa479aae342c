"""Define what a file operation can fail with.

HarnessError
├── FsError            the operation was understood and refused; branch on `code` (see `FsCode`)
└── FsArgumentError    the request cannot be carried out on any backend (also a ValueError)
"""

from typing import Literal, TypeAlias, cast

from harness.errors import HarnessError

FsCode: TypeAlias = Literal[
    "FS_ABORTED",
    "FS_AMBIGUOUS_EDIT",
    "FS_EDIT_NOT_FOUND",
    "FS_IO_ERROR",
    "FS_NOT_DIRECTORY",
    "FS_NOT_FOUND",
    "FS_NOT_OBSERVED",
    "FS_NOT_REGULAR_FILE",
    "FS_NOT_TEXT",
    "FS_PERMISSION_DENIED",
    "FS_SANDBOX_DENIED",
    "FS_STALE_VERSION",
    "FS_TOO_LARGE",
]
"""Every code that an `FsError` can carry; the vocabulary is closed."""


class FsError(HarnessError):
    """Refuse a file operation with one of the codes in `FsCode`.

    The message names the path as the caller knows it, what was tried and what to do next; it is
    shown to the model as it stands.
    """

    code: str = "FS_IO_ERROR"

    def __init__(self, message: str, *, code: FsCode) -> None:
        """Keep the message for people and the code for callers."""
        super().__init__(message, code=code)

    def with_remedy(self, remedy: str) -> "FsError":
        """Return the same refusal with one more sentence about what to do."""
        return FsError(f"{self} {remedy}", code=cast("FsCode", self.code))


class FsArgumentError(HarnessError, ValueError):
    """Reject a path or text that no file system can hold: NUL in a path, an unpaired surrogate."""

    code: str = "FS_INVALID_ARGUMENT"
