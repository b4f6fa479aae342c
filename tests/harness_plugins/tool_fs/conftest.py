"""Mount the file tools on the real registry, the real backend and a real directory."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from harness.system_prompt import SystemPrompt
from harness.tools import ToolExecutionInput, ToolExecutionResult, ToolRegistry
from harness_plugins.fs_local import FsLocal
from harness_plugins.tool_fs import ToolFs
from vendor_shims.cordis import Context


class Desk:
    """A directory, and somebody who calls tools in it."""

    def __init__(self, ctx: Context, root: Path) -> None:
        self.ctx = ctx
        self.root = root
        self.agent = None
        self.n_calls = 0

    def put(self, name: str, content: str | bytes) -> None:
        data = content if isinstance(content, bytes) else content.encode()
        (self.root / name).write_bytes(data)

    def get(self, name: str) -> bytes:
        return (self.root / name).read_bytes()

    async def call(self, name: str, **arguments: object) -> ToolExecutionResult:
        self.n_calls += 1
        request = ToolExecutionInput(
            call_id=f"call-{self.n_calls}", name=name, arguments=arguments, agent=self.agent
        )
        return await self.ctx[ToolRegistry].execute(request)

    async def ok(self, name: str, **arguments: object) -> ToolExecutionResult:
        result = await self.call(name, **arguments)
        assert not result.is_error, result.content
        return result

    async def refusal(self, name: str, **arguments: object) -> tuple[str | None, str]:
        result = await self.call(name, **arguments)
        assert result.is_error, result.value
        return result.code, str(getattr(result.content[0], "text", ""))


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    root, home = tmp_path.resolve() / "work", tmp_path.resolve() / "home"
    root.mkdir()
    home.mkdir()
    monkeypatch.chdir(root)
    monkeypatch.setenv("DSH_HOME", str(home))
    return root


@pytest.fixture
async def desk(root: Path) -> AsyncIterator[Desk]:
    async with Context() as ctx:
        for plugin in (SystemPrompt, ToolRegistry, FsLocal, ToolFs):
            await ctx.plugin(plugin)
        yield Desk(ctx, root)
