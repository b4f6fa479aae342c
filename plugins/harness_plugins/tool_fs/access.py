"""Do for every file tool what all of them need: find the file, ask for leave, tell the outcome."""

import os
from collections.abc import Generator
from contextlib import contextmanager

from harness.fs import (
    EDIT_INTENT,
    OBSERVED,
    WRITE_INTENT,
    FileSystem,
    FsActor,
    FsError,
    FsTarget,
    FsVersion,
    Observation,
    WriteIntent,
)
from harness.tools import ToolArgsError, ToolExecution
from harness_plugins.tool_fs.denied import DeniedFiles
from vendor_shims.cordis import Context

_REMEDIES = {
    "FS_STALE_VERSION": "Read it again, then make the change on what it holds now.",
    "FS_NOT_OBSERVED": "Read it first, then make the change.",
}


class FileAccess:
    """Reach files on behalf of one call at a time; holds no state of its own."""

    def __init__(self, ctx: Context, fs: FileSystem, *, denied: DeniedFiles) -> None:
        self._ctx = ctx
        self._denied = denied
        self.fs = fs

    async def find(self, execution: ToolExecution) -> FsTarget:
        """Resolve the `file_path` of a call against the working directory of its session.

        Raises:
            ToolArgsError: the path is blank.
            FsError: the path cannot be resolved, or it is denied.
        """
        file_path: str = execution.arguments["file_path"]
        if not file_path.strip():
            raise ToolArgsError(['"file_path" must not be blank'])
        target = await self.fs.resolve(file_path, cwd=_cwd(execution), signal=execution.signal)
        self._denied.refuse(target, self.fs.process_path(target))
        return target

    async def write_intent(self, target: FsTarget, execution: ToolExecution) -> WriteIntent | None:
        """Ask the policies what a write must require; without any, nothing."""
        return await self._ctx.waterfall(
            WRITE_INTENT,
            target,
            _actor(execution),
            inner=_no_write_intent,
            target=execution.agent,
        )

    async def edit_intent(self, target: FsTarget, execution: ToolExecution) -> FsVersion | None:
        """Ask the policies which version an edit must find; without any, whatever there is."""
        return await self._ctx.waterfall(
            EDIT_INTENT,
            target,
            _actor(execution),
            inner=_no_edit_intent,
            target=execution.agent,
        )

    def observe(self, target: FsTarget, observation: Observation, execution: ToolExecution) -> None:
        """Tell the policies what the call has learned about a file."""
        self._ctx.emit(OBSERVED, target, observation, _actor(execution), target=execution.agent)

    @contextmanager
    def explained(self) -> Generator[None]:
        """Add to a refused change what to do about it."""
        try:
            yield
        except FsError as exc:
            remedy = _REMEDIES.get(exc.code)
            if exc.code == "FS_SANDBOX_DENIED":
                remedy = f"\n[sandbox: file access denied under {self.fs.sandbox_mode} mode]"
            if remedy is None:
                raise
            raise exc.with_remedy(remedy) from exc


def _actor(execution: ToolExecution) -> FsActor:
    agent = execution.agent
    return FsActor(agent=agent, session=None if agent is None else agent.session)


def _cwd(execution: ToolExecution) -> str:
    agent = execution.agent
    cwd = None if agent is None else agent.session.header.cwd
    return cwd if cwd is not None else os.getcwd()


async def _no_write_intent(_target: FsTarget, _actor: FsActor) -> WriteIntent | None:
    return None


async def _no_edit_intent(_target: FsTarget, _actor: FsActor) -> FsVersion | None:
    return None
