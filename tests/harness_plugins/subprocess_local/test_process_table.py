from __future__ import annotations

import os
import subprocess
from collections.abc import AsyncIterator

import anyio
import pytest

from harness.bash.contract import running, until_gone, until_running
from harness.subprocess import Collect, ProcessExit, ProcessHandle, SpawnSpec
from harness_plugins.subprocess_local import SubprocessLocal
from vendor_shims.cordis import Context

LIMIT_S = 60


def spec(command: str, *, grace_s: float = 0.3) -> SpawnSpec:
    return SpawnSpec(
        argv=("bash", "-c", command),
        cwd="/",
        stdin="ignore",
        stdout=Collect(max_bytes=1_000, spill=None),
        stderr="inherit",
        grace_s=grace_s,
        signal=None,
    )


async def token_of(handle: ProcessHandle) -> str:
    assert handle.collected_stdout is not None
    with anyio.fail_after(LIMIT_S):
        while not handle.collected_stdout.retained().tail.endswith("\n"):
            await anyio.sleep(0.01)
    return handle.collected_stdout.retained().tail.strip().rpartition(",")[2]


async def test_strangers_with_a_similar_token_are_spared(runtime) -> None:
    handle = runtime.spawn(spec("echo $DSH_PROCESS_TREE; sleep 1000"))
    token = await token_of(handle)
    similar = [f"{token}9", f"x{token}", token[:-1], f"{token}9,x{token}"]
    environments = [{"DSH_PROCESS_TREE": tokens} for tokens in similar] + [{"OTHER": token}]
    strangers = [_start(env) for env in environments]
    relative = _start({"DSH_PROCESS_TREE": f"a,{token},b"})
    handle.terminate()
    with anyio.fail_after(LIMIT_S):
        assert await handle.wait_for_exit()
    assert relative.wait(LIMIT_S) < 0
    for stranger in strangers:
        assert stranger.poll() is None
        stranger.kill()
        stranger.wait()


@pytest.mark.spec("07-45")
async def test_a_recycled_number_gets_no_signal(runtime) -> None:
    handle = runtime.spawn(spec("exit"))
    await handle.done
    stranger = _start_with_pid(handle.pid)
    if stranger is None:
        pytest.skip("this system does not let us choose the next process id")
    try:
        handle.terminate()
        assert await handle.wait_for_exit()
        await runtime.ctx.fiber.dispose()
        assert stranger.poll() is None
    finally:
        stranger.kill()
        stranger.wait()


async def test_after_the_end_of_a_tree_nobody_is_signalled(runtime, monkeypatch) -> None:
    sent: list[int] = []
    handle = runtime.spawn(spec("exit"))
    await handle.done
    monkeypatch.setattr(os, "killpg", lambda _group, number: sent.append(number))
    handle.terminate()
    assert await handle.wait_for_exit()
    assert sent == []


async def test_a_process_that_nothing_can_end_is_given_up(monkeypatch) -> None:
    async with Context() as root:
        await root.plugin(SubprocessLocal)
        runtime = root[SubprocessLocal]
        with monkeypatch.context() as powerless:
            powerless.setattr(os, "killpg", lambda _group, _number: None)
            handle = runtime.spawn(spec("exec sleep 1000", grace_s=0.05))
            handle.terminate()
            with anyio.fail_after(LIMIT_S):
                assert await handle.done == ProcessExit(None, None)
                assert not await handle.wait_for_exit()
            assert handle.is_alive()
        os.kill(handle.pid, 9)
    assert not handle.is_alive()


async def test_processes_that_come_and_go_do_not_disturb(runtime) -> None:
    busy = runtime.spawn(spec("trap '' TERM; while :; do /bin/true & /bin/true; done"))
    await anyio.sleep(0.1)
    busy.terminate()
    with anyio.fail_after(LIMIT_S):
        assert await busy.wait_for_exit()


class TestWithoutLinux:
    """Run with what other systems offer: no process descriptors, no `/proc`, maybe no `waitid`."""

    @pytest.fixture(params=["waitid", "poll"])
    async def elsewhere(self, request, monkeypatch) -> AsyncIterator[SubprocessLocal]:
        monkeypatch.delattr(os, "pidfd_open")
        if request.param == "poll":
            monkeypatch.delattr(os, "waitid")
        async with Context() as root:
            await root.plugin(SubprocessLocal)
            yield root[SubprocessLocal]

    async def test_ends_are_reported(self, elsewhere) -> None:
        with anyio.fail_after(LIMIT_S):
            assert await elsewhere.spawn(spec("exit 3")).done == ProcessExit(3, None)
            killed = elsewhere.spawn(spec("kill -9 $$"))
            assert await killed.done == ProcessExit(None, "SIGKILL")
            assert not killed.is_alive()

    async def test_groups_end_as_a_whole(self, elsewhere, marker) -> None:
        command = f"trap '' TERM; MARK={marker} sleep 1000 & MARK={marker} sleep 1000; sleep 1000"
        handle = elsewhere.spawn(spec(command))
        await until_running(marker, 2)
        handle.terminate()
        with anyio.fail_after(LIMIT_S):
            assert (await handle.done).signal == "SIGKILL"
            assert await handle.wait_for_exit()
        await until_gone(marker)

    async def test_leftovers_are_seen_and_ended(self, elsewhere, marker) -> None:
        handle = elsewhere.spawn(spec(f"MARK={marker} sleep 1000 & exit"))
        await handle.done
        assert handle.is_alive()
        assert len(running(marker)) == 1
        await elsewhere.ctx.fiber.dispose()
        await until_gone(marker)


async def test_a_status_that_somebody_else_took_is_unknown(spawn) -> None:
    handle = spawn("sleep", "0.2")
    os.waitpid(handle.pid, 0)
    with anyio.fail_after(LIMIT_S):
        assert await handle.done == ProcessExit(None, None)


async def test_signals_without_a_name_have_their_number(runtime) -> None:
    assert await runtime.spawn(spec("kill -40 $$")).done == ProcessExit(None, "SIG40")


def _start(env: dict[str, str]) -> subprocess.Popen[bytes]:
    return subprocess.Popen(["sleep", "1000"], env=env)


def _start_with_pid(pid: int) -> subprocess.Popen[bytes] | None:
    """Start a process that gets `pid`, the next one that the kernel hands out."""
    for _ in range(20):
        try:
            with open("/proc/sys/kernel/ns_last_pid", "w", encoding="ascii") as file:
                file.write(str(pid - 1))
        except OSError:
            return None
        process = subprocess.Popen(["sleep", "1000"], start_new_session=True)
        if process.pid == pid:
            return process
        process.kill()
        process.wait()
    return None
