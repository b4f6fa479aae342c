"""Define what can go wrong when a program is started.

HarnessError
└── SubprocessError           anything the subprocess seam refuses
    ├── SpawnError            the process could not be started; says why, which program, where
    ├── ExecutableError       a command does not name a program that can be run
    ├── RuntimeStopping       the runtime is being disposed and starts nothing more
    └── TerminalError         a terminal refuses a request, or its processes outlive its end
"""

from __future__ import annotations

from typing import Literal

from harness.errors import HarnessError

SpawnCode = Literal[
    "EXECUTABLE_NOT_FOUND",
    "EXECUTABLE_NOT_PERMITTED",
    "CWD_INVALID",
    "INVALID_ARGUMENT",
    "SPAWN_FAILED",
]
ExecutableCode = Literal[
    "EXECUTABLE_EMPTY",
    "EXECUTABLE_RELATIVE",
    "EXECUTABLE_NOT_FOUND",
    "EXECUTABLE_NOT_A_FILE",
    "EXECUTABLE_NOT_PERMITTED",
]
TerminalCode = Literal["TERMINAL_SIGNAL_REFUSED", "TERMINAL_CLOSED", "TERMINAL_SURVIVORS"]


class SubprocessError(HarnessError):
    """Report a refusal of the subprocess seam."""

    code = "SUBPROCESS_ERROR"


class SpawnError(SubprocessError):
    """Report that a process could not be started.

    `code` is one of `SpawnCode`; `argv0` and `cwd` are what the caller asked for.
    """

    def __init__(self, message: str, *, code: SpawnCode, argv0: str, cwd: str) -> None:
        super().__init__(message, code=code)
        self.argv0 = argv0
        self.cwd = cwd


class ExecutableError(SubprocessError):
    """Report that a command does not name a runnable program; `code` is an `ExecutableCode`."""

    def __init__(self, message: str, *, code: ExecutableCode, command: str) -> None:
        super().__init__(message, code=code)
        self.command = command


class RuntimeStopping(SubprocessError):
    """Report that the runtime is being disposed and starts nothing more."""

    code = "SUBPROCESS_STOPPING"


class TerminalError(SubprocessError):
    """Report a refused terminal request; `pids` lists processes that outlived `terminate`."""

    def __init__(self, message: str, *, code: TerminalCode, pids: tuple[int, ...] = ()) -> None:
        super().__init__(message, code=code)
        self.pids = pids
