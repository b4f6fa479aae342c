"""Define the service that runs bash commands."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable
from typing import ClassVar

from harness.bash.types import BashRequest, BashRunResult, BashSpec
from harness.subprocess import ProcessExit
from vendor_shims.cordis import Service


class BashTask(ABC):
    """Hold one command that runs in the background, without a time limit."""

    @property
    @abstractmethod
    def done(self) -> Awaitable[ProcessExit]:
        """Wait for the end of the command; never raises, may be awaited many times.

        A command that could not be started counts as killed: both fields are None.
        """

    @abstractmethod
    def read_output(self) -> str:
        """Return what was written since the last call: stdout, stderr, then notes.

        New stderr stands under a `[stderr]` heading. Notes tell of lost bytes and spill files,
        and once, why the command could not be started.
        """

    @abstractmethod
    def kill(self) -> bool:
        """Start ending the command with all it started; False when it had ended already."""


class BashExecutor(Service):
    """Run bash commands: resolve a request once, then execute exactly that spec."""

    key: ClassVar[str] = "bash"

    sandbox_mode: str | None = None
    """Confinement that commands run under, or None when this executor does not confine."""

    @abstractmethod
    async def resolve(self, request: BashRequest) -> BashSpec:
        """Fill defaults, clamp limits, merge the environment and check the directory.

        Raises:
            BashRequestError: a field is unusable; the message names it.
            WorkdirError: the directory does not exist or is not a directory.
        """

    @abstractmethod
    async def run(self, spec: BashSpec) -> BashRunResult:
        """Run the command to its end, its time limit or its abort, whichever is first.

        The last two end everything that the command started before this returns. When the
        awaiting task is cancelled the same happens, then the cancellation goes on.

        Raises:
            AbortError: the signal was aborted before the start (or its reason).
            ShellNotFoundError: there is no bash on this machine.
            WorkdirError: the directory vanished since `resolve`.
            SpawnError: the process could not be started for another reason.
        """

    @abstractmethod
    def start_task(self, spec: BashSpec) -> BashTask:
        """Start the command in the background and return at once.

        Raises:
            AbortError: the signal is aborted already (or its reason, when an exception).
        """
