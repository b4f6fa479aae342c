from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from pathlib import Path

import anyio
import pytest

from harness.bash import BashError, BashExecutor, BashRequest, BashRequestError, ShellNotFoundError
from harness.bash.contract import run, running, until_gone, until_running
from harness.subprocess import SpawnError
from harness_plugins.bash_local import BashLocal, BashLocalConfig
from harness_plugins.subprocess_local import SubprocessLocal
from vendor_shims.cordis import Context, ValidationError


@pytest.fixture
async def root() -> AsyncIterator[Context]:
    async with Context() as ctx:
        await ctx.plugin(SubprocessLocal)
        yield ctx


@pytest.fixture
def marker() -> str:
    return f"mark-{os.urandom(8).hex()}"


async def mount(root: Context, **config: object) -> BashExecutor:
    await root.plugin(BashLocal, {"graceMs": 300, **config})
    return root[BashExecutor]


@pytest.mark.spec("07-81")
async def test_leftovers_may_end_with_their_command(root, marker) -> None:
    bash = await mount(root, leftovers="terminate")
    result = await run(bash, f"(trap '' TERM; exec -a {marker} sleep 100) & echo done")
    assert result.stdout.text == "done\n"
    assert not result.still_running
    assert running(marker) == []


async def test_leftovers_of_nobody_end_with_the_runtime(root, marker) -> None:
    bash = await mount(root)
    assert (await run(bash, f"(exec -a {marker} sleep 100) & :")).still_running
    await root.fiber.dispose()
    assert running(marker) == []


async def test_leftovers_of_a_session_that_ended_meanwhile_end_at_once(root, marker) -> None:
    bash = await mount(root)
    owner = root.plugin(lambda _ctx: None)
    await owner
    await owner.dispose()
    await run(bash, f"(exec -a {marker} sleep 100) & :", owner=owner.ctx)
    await until_gone(marker)


async def test_leftovers_that_ended_are_forgotten(root, tmp_path) -> None:
    bash = await mount(root)
    owner = root.plugin(lambda _ctx: None)
    await owner
    go = tmp_path / "go"
    waiting = f"(while ! test -e {go}; do sleep 0.01; done) & :"
    assert (await run(bash, waiting, owner=owner.ctx)).still_running
    assert len(owner.effects()) == 1
    go.touch()
    with anyio.fail_after(60):
        while (await run(bash, "sleep 0.5 & :", owner=owner.ctx)) and len(owner.effects()) > 1:
            await anyio.sleep(0.5)


@pytest.mark.spec("07-84")
async def test_settings_reach_the_next_command_and_not_the_running_one(root, marker) -> None:
    bash = await mount(root, timeoutMs=30_000)
    config = bash.ctx.fiber.config
    assert isinstance(config, BashLocalConfig)
    limits: list[float] = []

    async def work() -> None:
        limits.append((await run(bash, f"exec -a {marker} sleep 1")).timeout_s)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(work)
        await until_running(marker)
        config.timeout_ms.replace(7_000)
    limits.append((await run(bash, "true")).timeout_s)
    assert limits == [30, 7]


@pytest.mark.spec("07-59")
async def test_limits_are_clamped(root) -> None:
    bash = await mount(root, timeoutMs=5_000, maxTimeoutMs=9_000)
    for asked, given in ((None, 5), (8, 8), (100_000, 9)):
        spec = await bash.resolve(BashRequest(command="true", timeout_s=asked))
        assert spec.timeout_s == given


@pytest.mark.parametrize(
    "config",
    [
        {"timeoutMs": 0},
        {"timeoutMs": 2**31},
        {"graceMs": -1},
        {"maxOutputBytes": -1},
        {"maxOutputBytes": 1.5},
        {"leftovers": "forget"},
        {"surprise": 1},
    ],
)
@pytest.mark.spec("07-9")
async def test_settings_that_make_no_sense_fail_at_load(root, config) -> None:
    with pytest.raises(ValidationError):
        await root.plugin(BashLocal, config)


async def test_the_largest_delay_is_accepted(root) -> None:
    bash = await mount(root, timeoutMs=2**31 - 1, maxTimeoutMs=2**31 - 1)
    assert (await run(bash, "true")).timeout_s == (2**31 - 1) / 1000


async def test_relative_directories_start_at_the_configured_one(root, tmp_path) -> None:
    (tmp_path / "sub").mkdir()
    bash = await mount(root, cwd=str(tmp_path))
    assert (await run(bash, "true")).workdir == str(tmp_path.resolve())
    assert (await run(bash, "true", workdir="sub")).workdir == f"{tmp_path.resolve()}/sub"


async def test_a_machine_without_bash_is_told_at_the_call(
    root, monkeypatch, tmp_path, marker
) -> None:
    bash = await mount(root)
    path = os.environ["PATH"]
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ShellNotFoundError, match="install bash"):
        await run(bash, "true")
    monkeypatch.setenv("PATH", path)
    assert (await run(bash, "true")).exit_code == 0


async def test_a_bash_that_vanishes_is_looked_up_again(root, monkeypatch, tmp_path) -> None:
    ours = tmp_path / "bash"
    ours.symlink_to("/bin/bash")
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    bash = await mount(root)
    assert (await run(bash, "echo $BASH")).stdout.text == f"{ours}\n"
    ours.unlink()
    with pytest.raises(ShellNotFoundError):
        await run(bash, "true")
    assert (await run(bash, "true")).exit_code == 0


async def test_an_environment_that_no_process_can_get_is_refused(root) -> None:
    bash = await mount(root)
    with pytest.raises(SpawnError, match="A=B") as caught:
        await run(bash, "true", env={"A=B": "x"})
    assert caught.value.code == "INVALID_ARGUMENT"
    with pytest.raises(BashRequestError):
        await run(bash, "true", stdout_max_bytes=-1)


async def test_files_of_long_commands_are_private_and_go(root, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    bash = await mount(root)
    look = f"ls -lR {tmp_path}; : {'x' * 200_000}"
    listing = (await run(bash, look)).stdout.text
    assert "drwx------" in listing
    assert "-rw------- " in listing
    (folder,) = [name for name in os.listdir(tmp_path) if name.startswith("dsh-bash-")]
    assert (await run(bash, look)).exit_code == 0
    assert os.listdir(tmp_path / folder) == []
    (fiber,) = root.registry.get(BashLocal).fibers
    await fiber.dispose()
    assert not (tmp_path / folder).exists()


async def test_a_full_disk_under_a_long_command_is_an_error(root, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "gone"))
    bash = await mount(root)
    with pytest.raises(BashError, match="long command"):
        await run(bash, f": {'x' * 200_000}")


class TestTasks:
    async def test_lost_output_and_files_are_noted(self, root) -> None:
        bash = await mount(root, maxOutputBytes=1_000)
        task = bash.start_task(await bash.resolve(BashRequest(command="seq 1 100000")))
        await task.done
        text = task.read_output()
        assert "earlier output was dropped" in text
        (path,) = [
            line.removesuffix("]").rpartition(" ")[2]
            for line in text.split("\n")
            if "full output in" in line
        ]
        assert Path(path).read_text().endswith("100000\n")
        assert task.read_output() == ""

    async def test_they_end_with_the_executor(self, root, marker, tmp_path) -> None:
        bash = await mount(root)
        deaf = tmp_path / "deaf"
        command = f"trap '' TERM; touch {deaf}; while :; do MARK={marker} sleep 0.1; done"
        task = bash.start_task(await bash.resolve(BashRequest(command=command)))
        async with asyncio.timeout(30):
            while not deaf.exists():
                await asyncio.sleep(0.01)
        await until_running(marker)
        (fiber,) = root.registry.get(BashLocal).fibers
        await fiber.dispose()
        assert running(marker) == []
        assert (await task.done).signal == "SIGKILL"
