"""Define what can be wrong with the place and the environment of a launch.

HarnessError
└── LaunchError                    LAUNCH_ERROR         anything this package raises
    ├── HomeError                  HOME_UNUSABLE        the home directory cannot be used
    ├── DotenvError                DOTENV_INVALID       a `.env` line; names file and line
    └── InvalidEnvironmentError    INVALID_ENVIRONMENT  a name or value no process can get
"""

from pathlib import Path

from harness.errors import HarnessError


class LaunchError(HarnessError):
    """Report that the program cannot start here as it is told to; catch it to end with a hint."""

    code: str = "LAUNCH_ERROR"


class HomeError(LaunchError):
    """Report a home directory that cannot be found or made."""

    code: str = "HOME_UNUSABLE"


class DotenvError(LaunchError, ValueError):
    """Report a `.env` file that cannot be read or taken; the message never holds a value.

    `line` counts from 1 and is 0 when the whole file is at fault.
    """

    code: str = "DOTENV_INVALID"

    def __init__(self, path: Path, line: int, problem: str) -> None:
        """Name the place and what to do about it."""
        super().__init__(f"{path}:{line}: {problem}" if line else f"{path}: {problem}")
        self.path: Path = path
        self.line: int = line


class InvalidEnvironmentError(LaunchError, ValueError):
    """Report an environment name or value that the operating system cannot pass on."""

    code: str = "INVALID_ENVIRONMENT"
