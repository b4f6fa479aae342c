"""Define what can go wrong before a command runs.

HarnessError
└── BashError                 anything the bash seam refuses
    ├── BashRequestError      the request itself is wrong: blank, NUL bytes, bad limits
    ├── WorkdirError          the working directory does not exist or is not a directory
    ├── ShellNotFoundError    no bash can be found on this machine
    └── BashEnvError          a contributor to the command environment breaks its contract

A command that fails, times out or is aborted is a result, not an error.
"""

from __future__ import annotations

from harness.errors import HarnessError


class BashError(HarnessError):
    """Report a refusal of the bash seam."""

    code = "BASH_ERROR"


class BashRequestError(BashError):
    """Report a request that cannot be run as it is; the message names the field."""

    code = "BASH_INVALID_REQUEST"


class WorkdirError(BashError):
    """Report a working directory that cannot be used; nothing was run anywhere else."""

    code = "BASH_WORKDIR_INVALID"

    def __init__(self, message: str, *, workdir: str) -> None:
        super().__init__(message)
        self.workdir = workdir


class ShellNotFoundError(BashError):
    """Report that no bash is installed where the harness looks for one."""

    code = "BASH_NOT_FOUND"


class BashEnvError(BashError):
    """Report a contributor with bad, reserved, duplicate or undeclared names or values."""

    code = "BASH_ENV_INVALID"
