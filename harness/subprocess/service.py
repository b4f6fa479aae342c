"""Define the service that owns process creation, output collection and tree termination."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Awaitable, Mapping
from typing import ClassVar, Literal

from anyio.abc import ByteReceiveStream, ByteSendStream

from harness.subprocess.errors import SpawnError
from harness.subprocess.types import (
    Foreground,
    ProcessExit,
    Retained,
    SpawnSpec,
    StreamRead,
    TerminalSpec,
)
from vendor_shims.cordis import AbortSignal, Service

TerminalSignal = Literal["SIGINT", "SIGTERM", "SIGKILL", "SIGTSTP", "SIGHUP"]


class CollectedStream(ABC):
    """Read a collected stream; reading never consumes, so every reader keeps its own offset."""

    @abstractmethod
    def read_from(self, byte_offset: int) -> StreamRead:
        """Return the text after `byte_offset`.

        An offset that memory no longer holds yields everything still kept at the end of the
        stream, with `lossy` set. A character that is still incomplete waits for the next read.
        """

    @abstractmethod
    def retained(self) -> Retained:
        """Return all that is kept: head, tail and how many bytes lie between."""


class ProcessHandle(ABC):
    """Hold one started process and everything that it starts in turn (its tree).

    pid: process id, also the id of its session and group; -1 when it could not be started.
    stdin, stdout, stderr: byte streams where `pipe` was asked, else None.
    collected_stdout, collected_stderr: collectors where `Collect` was asked, else None.
    failure: why it could not be started, else None.
    """

    pid: int
    failure: SpawnError | None
    stdin: ByteSendStream | None
    stdout: ByteReceiveStream | None
    stderr: ByteReceiveStream | None
    collected_stdout: CollectedStream | None
    collected_stderr: CollectedStream | None

    @property
    @abstractmethod
    def done(self) -> Awaitable[ProcessExit]:
        """Wait for the process itself and its collected output; may be awaited many times.

        Output that a left-behind child still holds open is waited for only briefly, and never
        longer than `grace_s`. Cancelling the waiter does not touch the process.

        Raises:
            SpawnError: the process could not be started.
        """

    @abstractmethod
    def terminate(self) -> None:
        """Start ending the whole tree: TERM, then KILL after the grace. Returns at once.

        Idempotent, and harmless after the end.
        """

    @abstractmethod
    async def wait_for_exit(self, signal: AbortSignal | None = None) -> bool:
        """Wait until nothing of the tree lives.

        Returns:
            False when `signal` aborted first, or when the kernel could not end a process.
        """

    @abstractmethod
    def is_alive(self) -> bool:
        """Tell whether any process of the tree still runs."""


class TerminalHandle(ABC):
    """Hold one process on a terminal of its own, together with all that it starts."""

    pid: int

    @property
    @abstractmethod
    def output(self) -> AsyncIterator[bytes]:
        """Yield what appears on the terminal until it closes; one reader only."""

    @property
    @abstractmethod
    def done(self) -> Awaitable[ProcessExit]:
        """Wait for the end of the process that leads the terminal."""

    @abstractmethod
    async def write(self, content: bytes) -> None:
        """Type `content`; suspends while the terminal accepts no more.

        Raises:
            TerminalError: the terminal is closed (`TERMINAL_CLOSED`).
        """

    @abstractmethod
    def resize(self, rows: int, cols: int) -> None:
        """Tell the terminal its new size."""

    @abstractmethod
    def inspect_foreground(self) -> Foreground | None:
        """Return the foreground group and whether it waits for input, or None when closed."""

    @abstractmethod
    def signal_foreground(self, name: TerminalSignal) -> None:
        """Send a signal to the foreground group.

        Raises:
            TerminalError: KILL would hit the shell itself, or the signal is not allowed
                (`TERMINAL_SIGNAL_REFUSED`); the terminal is closed (`TERMINAL_CLOSED`).
        """

    @abstractmethod
    async def terminate(self) -> None:
        """End all descendants, then the shell; TERM first, KILL after the grace.

        Raises:
            TerminalError: processes survived (`TERMINAL_SURVIVORS`, with their pids).
        """


class SubprocessRuntime(Service):
    """Start processes, collect what they write and end them with all that they started."""

    key: ClassVar[str] = "subprocess"

    @abstractmethod
    async def resolve_executable(
        self,
        command: str,
        env: Mapping[str, str | None] | None = None,
        signal: AbortSignal | None = None,
    ) -> str:
        """Return the absolute path of the program that `command` names.

        A bare name is searched on the PATH that a child with `env` would see.

        Raises:
            ExecutableError: with a code that tells the reason.
        """

    @abstractmethod
    def spawn(self, spec: SpawnSpec) -> ProcessHandle:
        """Start a process and return at once; a failure to start surfaces from `done`.

        Raises:
            AbortError: `spec.signal` is aborted already (or its reason, when an exception).
            RuntimeStopping: the runtime is being disposed.
        """

    @abstractmethod
    async def spawn_terminal(self, spec: TerminalSpec) -> TerminalHandle:
        """Start a process as session leader on a new terminal.

        Raises:
            SpawnError: it could not be started.
            AbortError: `spec.signal` is aborted already (or its reason, when an exception).
            RuntimeStopping: the runtime is being disposed.
        """
