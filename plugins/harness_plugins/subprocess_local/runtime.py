"""Provide `ctx.subprocess` with real processes of this machine."""

from __future__ import annotations

import atexit
import itertools
import os
import secrets
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress

import anyio.to_thread
import attrs

from harness.launch import DEFAULT_SCRUB, InvalidEnvironmentError, scrub_environment
from harness.subprocess import (
    ExecutableError,
    ProcessHandle,
    RuntimeStopping,
    SpawnError,
    SpawnSpec,
    SpillDirectory,
    SubprocessRuntime,
    TerminalHandle,
    TerminalSpec,
)
from harness_plugins.subprocess_local.config import SubprocessLocalConfig
from harness_plugins.subprocess_local.executable import find_executable
from harness_plugins.subprocess_local.failed_process import FailedProcess
from harness_plugins.subprocess_local.launch import Child, check_argv, launch
from harness_plugins.subprocess_local.orphan_guard import OrphanGuard
from harness_plugins.subprocess_local.process import LocalProcess
from harness_plugins.subprocess_local.process_table import (
    TOKEN_NAME,
    LinuxTable,
    ProcessTable,
    system_table,
)
from harness_plugins.subprocess_local.terminal import (
    LocalTerminal,
    launch_terminal,
    process_spec,
)
from vendor_shims.cordis import AbortSignal, Context

STOP_GRACE_S = 3.0
"""Longest grace at disposal, so that it stays within the time a disposer gets."""
DAY_S = 86_400


class SubprocessLocal(SubprocessRuntime):
    """Start children of this process and end them, with all they started, at the latest with it.

    Invariants:
        `_live` holds every process whose tree may still run or whose pipes are still open,
        `_terminals` every terminal that is not closed.
        Nothing is started once `_stopping` is set.
    """

    Config = SubprocessLocalConfig

    def __init__(self, ctx: Context, config: SubprocessLocalConfig) -> None:
        super().__init__(ctx)
        self._table: ProcessTable = system_table()
        self._config = config
        self._rules = attrs.evolve(DEFAULT_SCRUB, allow=tuple(config.allow_env))
        self._directory = SpillDirectory(config.spill_dir)
        self._live: set[LocalProcess] = set()
        self._terminals: set[LocalTerminal] = set()
        self._stopping = False
        self._owner_pid = os.getpid()
        self._token = secrets.token_hex(8)
        self._numbers = itertools.count(1)
        self._guard: OrphanGuard | None = None

    def start(self) -> Callable[[], Awaitable[None]]:
        """Arrange for every child to end with this service, and with the interpreter."""
        atexit.register(self._kill_all)
        if self._config.cleanup_period_days > 0:
            self.ctx.spawn(self._sweep(), name="subprocess-sweep", shield=True)
        return self._stop

    async def resolve_executable(
        self,
        command: str,
        env: Mapping[str, str | None] | None = None,
        signal: AbortSignal | None = None,
    ) -> str:
        """Return the absolute path of a program; see `SubprocessRuntime.resolve_executable`."""
        if signal is not None:
            signal.throw_if_aborted()
        child = scrub_environment(os.environ, env, rules=self._rules)
        search_path = child.get("PATH", os.defpath)
        return await anyio.to_thread.run_sync(find_executable, command, search_path)

    def spawn(self, spec: SpawnSpec) -> ProcessHandle:
        """Start a process; see `SubprocessRuntime.spawn`."""
        self._check_startable(spec.signal)
        self._ensure_guard()
        token = self._new_token()
        try:
            child = launch(spec, self._environment(spec, token))
        except SpawnError as error:
            return FailedProcess(spec, error)
        return self._follow(spec, child, token)

    async def spawn_terminal(self, spec: TerminalSpec) -> TerminalHandle:
        """Start a process on a terminal; see `SubprocessRuntime.spawn_terminal`."""
        self._check_startable(spec.signal)
        check_argv(spec.argv, spec.cwd)
        token = self._new_token()
        env = self._environment(spec, token)
        try:
            program = await anyio.to_thread.run_sync(
                find_executable, spec.argv[0], env.get("PATH", os.defpath)
            )
        except ExecutableError as error:
            is_missing = error.code == "EXECUTABLE_NOT_FOUND"
            code = "EXECUTABLE_NOT_FOUND" if is_missing else "EXECUTABLE_NOT_PERMITTED"
            raise SpawnError(str(error), code=code, argv0=spec.argv[0], cwd=spec.cwd) from error
        self._check_startable(spec.signal)
        self._ensure_guard()
        child, fd, path = launch_terminal(spec, program, env)
        process = self._follow(process_spec(spec), child, token)
        terminal = LocalTerminal(process, fd, path=path, on_closed=self._terminals.discard)
        self._terminals.add(terminal)
        return terminal

    def _check_startable(self, signal: AbortSignal | None) -> None:
        if self._stopping:
            raise RuntimeStopping("the subprocess runtime is being disposed; start nothing more")
        if signal is not None:
            signal.throw_if_aborted()
        self._reap()

    def _new_token(self) -> str:
        return f"{self._token}-{next(self._numbers)}"

    def _follow(self, spec: SpawnSpec, child: Child, token: str) -> LocalProcess:
        process = LocalProcess(
            spec,
            child,
            tree=self._table.identify(child.popen.pid, token),
            table=self._table,
            directory=self._directory,
            on_released=self._live.discard,
        )
        self._live.add(process)
        return process

    def _environment(self, spec: SpawnSpec | TerminalSpec, token: str) -> dict[str, str]:
        try:
            env = scrub_environment(os.environ, spec.env, rules=self._rules)
        except InvalidEnvironmentError as error:
            argv0 = spec.argv[0] if spec.argv else ""
            raise SpawnError(
                str(error), code="INVALID_ARGUMENT", argv0=argv0, cwd=spec.cwd
            ) from error
        outer = os.environ.get(TOKEN_NAME)
        env[TOKEN_NAME] = f"{outer},{token}" if outer else token
        return env

    def _reap(self) -> None:
        """Let go of trees whose last process ended since anybody looked."""
        for process in list(self._live):
            process.is_alive()

    def _ensure_guard(self) -> None:
        """Start the guard before the first child, so that there is no moment without one."""
        if self._guard is None and isinstance(self._table, LinuxTable):
            with suppress(OSError):  # no shell: children of a killed harness stay behind
                self._guard = OrphanGuard(self._token)

    async def _stop(self) -> None:
        self._stopping = True
        for process in list(self._live):
            process.end_within(STOP_GRACE_S)
        for process in list(self._live):
            if not await process.wait_for_exit():
                self.ctx.logger.warning("process %d cannot be killed", process.pid)
            process.terminate()
        for terminal in list(self._terminals):
            terminal.close()
        if self._guard is not None:
            self._guard.stop()
        atexit.unregister(self._kill_all)
        await anyio.to_thread.run_sync(self._directory.remove)

    def _kill_all(self) -> None:
        if os.getpid() == self._owner_pid:  # a fork of ours must not end our children
            for process in list(self._live):
                process.kill_now()

    async def _sweep(self) -> None:
        older_than = time.time() - self._config.cleanup_period_days * DAY_S
        await anyio.to_thread.run_sync(self._directory.sweep_siblings, older_than)
