"""Provide `ctx.bash` with the bash of this machine."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from contextlib import ExitStack

import anyio
import anyio.to_thread

from harness.bash import (
    BashExecutor,
    BashRequest,
    BashRequestError,
    BashRunResult,
    BashSpec,
    BashTask,
    ShellNotFoundError,
    WorkdirError,
)
from harness.deadline import InvalidTimeoutError, clamp_timeout, deadline, timeout_of
from harness.subprocess import (
    Data,
    ExecutableError,
    ProcessExit,
    ProcessHandle,
    SpawnError,
    SpawnSpec,
    SubprocessRuntime,
)
from harness.wire import has_lone_surrogate
from harness_plugins.bash_local.config import BashLocalConfig
from harness_plugins.bash_local.leftovers import LeftBehind, end_tree
from harness_plugins.bash_local.output import both_streams, collect_limits, read_output
from harness_plugins.bash_local.script import Scripts
from harness_plugins.bash_local.task import LocalBashTask
from vendor_shims.cordis import AbortSignal, Context, Dep

DEFAULT_ENV: Mapping[str, str] = {
    "NO_COLOR": "1",
    "TERM": "dumb",
    "PAGER": "cat",
    "GIT_PAGER": "cat",
    "GIT_TERMINAL_PROMPT": "0",
    "DEBIAN_FRONTEND": "noninteractive",
    "PYTHONUNBUFFERED": "1",
}
"""What makes programs behave without a person in front of them."""

TIMED_OUT = "BASH_TIMEOUT"


class BashLocal(BashExecutor):
    """Run each command in a fresh bash: no login shell, no start-up files, no input.

    Invariants: execution reads the spec and nothing else, so a reload of settings never reaches
    a running command.
    """

    Config = BashLocalConfig
    subprocess = Dep(SubprocessRuntime)

    def __init__(self, ctx: Context, config: BashLocalConfig) -> None:
        super().__init__(ctx)
        self._settings = config
        self._launch_dir = config.cwd or os.getcwd()
        self._shell: str | None = None
        self._scripts = Scripts()
        self._left_behind = LeftBehind()

    def start(self) -> Callable[[], None]:
        """Remove the files of long commands at the end."""
        return self._scripts.remove

    async def resolve(self, request: BashRequest) -> BashSpec:
        """Turn a request into a spec; see `BashExecutor.resolve`."""
        settings = self._settings
        max_bytes = settings.max_output_bytes.get()
        return BashSpec(
            command=_checked_command(request.command),
            workdir=await anyio.to_thread.run_sync(self._workdir, request.workdir),
            timeout_s=self._timeout_s(request.timeout_s),
            stdout_max_bytes=_checked_limit(request.stdout_max_bytes, max_bytes),
            stderr_max_bytes=max_bytes,
            max_spill_bytes=settings.max_spill_bytes.get(),
            grace_s=settings.grace_ms.get() / 1000,
            leftovers=settings.leftovers.get(),
            signal=request.signal,
            stdin=request.stdin,
            env={**DEFAULT_ENV, **request.env, **request.dsh_env},
            owner=request.owner,
        )

    async def run(self, spec: BashSpec) -> BashRunResult:
        """Run a command to its end; see `BashExecutor.run`."""
        if spec.signal is not None:
            spec.signal.throw_if_aborted()
        shell = await self._find_shell()
        with (
            self._scripts.argv(shell, spec.command) as argv,
            deadline(spec.signal, spec.timeout_s, TIMED_OUT) as signal,
        ):
            handle = self.subprocess.spawn(_spawn_spec(spec, argv, signal))
            ended = await self._wait(handle, spec, signal)
            stdout, stderr = both_streams(handle)
            timed_out = timeout_of(signal, TIMED_OUT) is not None
            return BashRunResult(
                exit_code=ended.exit_code,
                signal=ended.signal,
                timed_out=timed_out,
                aborted=signal.aborted and not timed_out,
                timeout_s=spec.timeout_s,
                workdir=spec.workdir,
                stdout=read_output(stdout),
                stderr=read_output(stderr),
                still_running=handle.is_alive(),
            )

    def start_task(self, spec: BashSpec) -> BashTask:
        """Run a command in the background; see `BashExecutor.start_task`."""
        with ExitStack() as stack:
            argv = stack.enter_context(self._scripts.argv(self._shell or "bash", spec.command))
            handle = self.subprocess.spawn(_spawn_spec(spec, argv, spec.signal))
            task = LocalBashTask(handle)
            self.ctx.spawn(self._follow(task, handle, stack.pop_all()), name="bash-task")
            return task

    async def _follow(self, task: BashTask, handle: ProcessHandle, script: ExitStack) -> None:
        """Keep the command's file until it ends; end the command when we are disposed."""
        with script:
            try:
                await task.done
            except BaseException:
                with anyio.CancelScope(shield=True):
                    await end_tree(handle)
                raise

    async def _wait(
        self, handle: ProcessHandle, spec: BashSpec, signal: AbortSignal
    ) -> ProcessExit:
        try:
            ended = await handle.done
            if signal.aborted or (spec.leftovers == "terminate" and handle.is_alive()):
                await end_tree(handle)
        except SpawnError as error:
            raise self._explained(error) from error
        except BaseException:
            with anyio.CancelScope(shield=True):
                await end_tree(handle)
            raise
        if handle.is_alive():
            self._left_behind.keep(handle, spec.owner)
        return ended

    async def _find_shell(self) -> str:
        if self._shell is None:
            try:
                self._shell = await self.subprocess.resolve_executable("bash")
            except ExecutableError as error:
                raise ShellNotFoundError(
                    f"no bash to run commands with: {error}; install bash or fix PATH"
                ) from error
        return self._shell

    def _explained(self, error: SpawnError) -> Exception:
        match error.code:
            case "CWD_INVALID":
                return WorkdirError(str(error), workdir=error.cwd)
            case "EXECUTABLE_NOT_FOUND" | "EXECUTABLE_NOT_PERMITTED":
                self._shell = None  # looked up again by the next command
                return ShellNotFoundError(str(error))
            case _:
                return error

    def _workdir(self, requested: str | None) -> str:
        if requested is not None and "\0" in requested:
            raise BashRequestError(f"workdir {requested!r} holds a NUL character, remove it")
        path = os.path.realpath(os.path.join(self._launch_dir, requested or ""))
        if not os.path.isdir(path):
            what = "is not a directory" if os.path.exists(path) else "does not exist"
            raise WorkdirError(f"workdir {path!r} {what}; give an existing one", workdir=path)
        return path

    def _timeout_s(self, requested: float | None) -> float:
        settings = self._settings
        try:
            return clamp_timeout(
                requested,
                settings.timeout_ms.get() / 1000,
                settings.max_timeout_ms.get() / 1000,
                "timeout_s",
            )
        except InvalidTimeoutError as error:
            raise BashRequestError(str(error)) from error


def _checked_command(command: str) -> str:
    if not command.strip():
        raise BashRequestError("command is blank; give the bash command to run")
    if "\0" in command:
        raise BashRequestError("command holds a NUL character, which bash cannot take; remove it")
    if has_lone_surrogate(command):
        raise BashRequestError("command holds an unpaired surrogate; send whole characters")
    return command


def _checked_limit(requested: int | None, default: int) -> int:
    if requested is None:
        return default
    if type(requested) is not int or requested < 0:
        raise BashRequestError(f"stdout_max_bytes must be 0 or more, got {requested!r}")
    return requested


def _spawn_spec(spec: BashSpec, argv: tuple[str, ...], signal: AbortSignal | None) -> SpawnSpec:
    return SpawnSpec(
        argv=argv,
        cwd=spec.workdir,
        stdin="ignore" if spec.stdin is None else Data(spec.stdin),
        stdout=collect_limits(spec.stdout_max_bytes, max_spill_bytes=spec.max_spill_bytes),
        stderr=collect_limits(spec.stderr_max_bytes, max_spill_bytes=spec.max_spill_bytes),
        grace_s=spec.grace_s,
        signal=signal,
        env=spec.env,
    )
