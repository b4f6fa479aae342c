"""Two sessions that share a directory, the file tools and the policy."""

import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from harness.session import Session, SessionStore
from harness.system_prompt import SystemPrompt
from harness.tools import ToolExecutionInput, ToolRegistry
from harness_plugins.fs_local import FsLocal
from harness_plugins.fs_policy import FsPolicy
from harness_plugins.tool_fs import ToolFs
from vendor_shims.cordis import Context


class Caller:
    """Somebody who acts in a session and calls tools."""

    def __init__(self, ctx: Context, session: Session) -> None:
        self.ctx = ctx
        self.session = session

    async def call(self, name: str, **arguments: object) -> str:
        """Return `ok`, or the code of the refusal."""
        result = await self.attempt(name, **arguments)
        return result.code or "ok"

    async def attempt(self, name: str, **arguments: object):
        agent: Any = self  # whatever has a session can act
        request = ToolExecutionInput(call_id="1", name=name, arguments=arguments, agent=agent)
        return await self.ctx[ToolRegistry].execute(request)

    async def read(self) -> str:
        return await self.call("read", file_path="a.txt")

    async def write(self, content: str = "written") -> str:
        return await self.call("write", file_path="a.txt", content=content)

    async def edit(self, old: str, new: str) -> str:
        return await self.call("edit", file_path="a.txt", old_string=old, new_string=new)


class Scene:
    """A directory, a kernel with the policy in it, and its sessions."""

    def __init__(self, ctx: Context, root: Path) -> None:
        self.ctx = ctx
        self.file = root / "a.txt"
        self.cwd = str(root)
        self.policy = ctx.plugin(FsPolicy, {"maxFilesPerSession": 3})

    def caller(self) -> Caller:
        sessions = self.ctx[SessionStore]
        return Caller(self.ctx, sessions.create(meta={"cwd": self.cwd}))

    def put(self, content: str) -> None:
        self.file.write_text(content)

    def get(self) -> str:
        return self.file.read_text()


@pytest.fixture
async def scene(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Scene]:
    monkeypatch.setenv("DSH_HOME", os.path.join(tmp_path, "home"))
    async with Context() as ctx:
        for plugin in (SessionStore, SystemPrompt, ToolRegistry, FsLocal, ToolFs):
            await ctx.plugin(plugin)
        scene = Scene(ctx, tmp_path)
        await scene.policy
        yield scene
