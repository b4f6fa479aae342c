"""Define what can be wrong with a profile and the layers that it is made of.

HarnessError
└── ProfileError                PROFILE_ERROR     anything this package raises, with `hints`
    ├── ProfileNameError        USAGE             no name for a profile, or one that is taken
    ├── UnknownProfileError     PROFILE_UNKNOWN   nothing has the name (LookupError)
    ├── ProfileFileError        CONFIG_INVALID    a `profile.yml`; names file and line
    ├── ProfileStorageError     STORAGE_DENIED    the disk refuses; STORAGE_FULL when it is full
    ├── BundleError             PLUGIN_NOT_FOUND  a bundle is not installed or cannot be loaded
    ├── LayerFlagError          USAGE             `--set`, `--disable` or `--enable` is malformed
    ├── SettingsInvalidError    CONFIG_INVALID    the settings cannot be read, or not be taken
    ├── PatchInvalidError       PATCH_INVALID     a layer cannot be read or is no patch list
    └── PatchUnmatchedError     PATCH_UNMATCHED   patches name rows that are not there
"""

import errno
from pathlib import Path

from harness.errors import HarnessError

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


class ProfileError(HarnessError):
    """Report that no composition can be made; catch it to end with its hints.

    `hints` are at most two sentences on what to do next.
    """

    code: str = "PROFILE_ERROR"

    def __init__(
        self, message: str, *, hints: tuple[str, ...] = (), code: str | None = None
    ) -> None:
        """Say what is wrong, and what to do about it."""
        super().__init__(message, code=code)
        self.hints: tuple[str, ...] = hints


class ProfileNameError(ProfileError, ValueError):
    """Report a name that no profile can get."""

    code: str = "USAGE"


class UnknownProfileError(ProfileError, LookupError):
    """Report a name that neither a profile nor a template has."""

    code: str = "PROFILE_UNKNOWN"


class ProfileFileError(ProfileError, ValueError):
    """Report a `profile.yml` that cannot be taken.

    `line` counts from 1 and is 0 when the whole file is at fault.
    """

    code: str = "CONFIG_INVALID"

    def __init__(self, path: Path, line: int, problem: str) -> None:
        """Name the place and what was expected there."""
        super().__init__(f"{path}:{line}: {problem}" if line else f"{path}: {problem}")
        self.path: Path = path
        self.line: int = line


class ProfileStorageError(ProfileError):
    """Report that a profile cannot be read from or written to the disk."""

    code: str = "STORAGE_DENIED"

    def __init__(self, path: Path, error: OSError) -> None:
        """Name the path and the reason of the operating system."""
        code = "STORAGE_FULL" if error.errno in _FULL else "STORAGE_DENIED"
        super().__init__(f"{path}: {error.strerror or error}", code=code)
        self.path: Path = path


class BundleError(ProfileError):
    """Report a bundle that is not installed, or whose layer cannot be made."""

    code: str = "PLUGIN_NOT_FOUND"


class LayerFlagError(ProfileError, ValueError):
    """Report an option of the command line that makes no patch."""

    code: str = "USAGE"


class SettingsInvalidError(ProfileError, ValueError):
    """Report settings that cannot be taken; names file, line and column where there is one."""

    code: str = "CONFIG_INVALID"


class PatchInvalidError(ProfileError, ValueError):
    """Report a layer that cannot be read; names file, line and column where there is one."""

    code: str = "PATCH_INVALID"


class PatchUnmatchedError(ProfileError, LookupError):
    """Report patches that name rows that do not exist, one per line of the message."""

    code: str = "PATCH_UNMATCHED"
