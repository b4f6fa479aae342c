from __future__ import annotations

import os
import signal as signals
import sys
import tempfile
from pathlib import Path

import anyio
import anyio.lowlevel
import pytest

from harness.bash.contract import running, until_gone, until_running
from harness.subprocess import (
    Collect,
    Data,
    ProcessExit,
    ProcessHandle,
    RuntimeStopping,
    SpawnError,
    SpawnSpec,
)
from harness_plugins.subprocess_local import SubprocessLocal
from vendor_shims.cordis import AbortController, AbortError, Context

LIMIT_S = 60


def text_of(handle: ProcessHandle) -> str:
    assert handle.collected_stdout is not None
    return handle.collected_stdout.retained().tail


@pytest.mark.spec("07-27")
async def test_no_shell_looks_at_the_arguments(spawn) -> None:
    handle = spawn("/bin/echo", "a b;$(id)")
    assert await handle.done == ProcessExit(0, None)
    assert await handle.done == ProcessExit(0, None)
    assert text_of(handle) == "a b;$(id)\n"
    assert not handle.is_alive()


@pytest.mark.spec("07-32")
async def test_the_last_bytes_of_ten_megabytes_are_exact(spawn) -> None:
    handle = spawn("sh", "-c", "seq 1 1400000")
    await handle.done
    whole = "".join(f"{number}\n" for number in range(1, 1_400_001))
    assert len(whole) > 10_000_000
    assert text_of(handle) == whole[-64_000:]


@pytest.mark.spec("07-28", "07-29")
class TestFailuresToStart:
    async def expect(self, handle: ProcessHandle, code: str, *words: str) -> None:
        with pytest.raises(SpawnError) as caught:
            await handle.done
        assert caught.value.code == code
        for word in words:
            assert word in str(caught.value)
        assert handle.failure is caught.value
        assert handle.pid == -1
        assert not handle.is_alive()
        handle.terminate()
        assert await handle.wait_for_exit()
        assert text_of(handle) == ""

    async def test_a_missing_program_is_named(self, spawn) -> None:
        await self.expect(
            spawn("no-such-program"), "EXECUTABLE_NOT_FOUND", "no-such-program", "ENOENT"
        )
        await self.expect(spawn("/no/such/program"), "EXECUTABLE_NOT_FOUND", "/no/such/program")

    async def test_a_missing_directory_is_blamed_not_the_program(self, spawn, tmp_path) -> None:
        await self.expect(spawn("true", cwd=f"{tmp_path}/gone"), "CWD_INVALID", "gone")
        await self.expect(spawn("true", cwd="relative"), "CWD_INVALID", "absolute")
        await self.expect(spawn("true", cwd="/a\0b"), "CWD_INVALID", "NUL")
        (tmp_path / "file").touch()
        await self.expect(spawn("true", cwd=f"{tmp_path}/file"), "CWD_INVALID", "file")

    async def test_a_directory_that_may_not_be_entered_is_blamed(self, spawn) -> None:
        if os.geteuid() != 0:
            pytest.skip("only root can become somebody who may not enter a directory")
        with tempfile.TemporaryDirectory() as outer:
            os.chmod(outer, 0o755)
            closed = os.path.join(outer, "closed")
            os.mkdir(closed, 0o700)
            os.seteuid(65534)
            try:
                handle = spawn("true", cwd=closed)
            finally:
                os.seteuid(0)
        await self.expect(handle, "CWD_INVALID", "closed", "EACCES")

    async def test_a_missing_interpreter_is_told_from_a_missing_program(
        self, spawn, tmp_path
    ) -> None:
        script = tmp_path / "script"
        script.write_text("#!/no/such/interpreter\n")
        script.chmod(0o755)
        await self.expect(spawn(str(script)), "EXECUTABLE_NOT_FOUND", "interpreter")

    async def test_a_file_that_is_no_program_is_not_permitted(self, spawn, tmp_path) -> None:
        (tmp_path / "plain").write_text("text")
        await self.expect(spawn(f"{tmp_path}/plain"), "EXECUTABLE_NOT_PERMITTED", "EACCES")
        await self.expect(spawn(str(tmp_path)), "EXECUTABLE_NOT_PERMITTED", "EACCES")

    @pytest.mark.spec("07-25")
    async def test_arguments_that_no_process_can_get_are_invalid(self, spawn) -> None:
        await self.expect(spawn("echo", "a\0b"), "INVALID_ARGUMENT", "NUL", "argument 1")
        await self.expect(spawn("echo", "x" * 200_000), "INVALID_ARGUMENT", "E2BIG")
        await self.expect(spawn("echo", "\ud800"), "INVALID_ARGUMENT", "echo")
        await self.expect(spawn(), "INVALID_ARGUMENT", "empty")
        await self.expect(spawn(""), "INVALID_ARGUMENT", "empty")
        await self.expect(spawn("true", env={"A=B": "x"}), "INVALID_ARGUMENT", "A=B")
        await self.expect(spawn("true", env={"A": "a\0b"}), "INVALID_ARGUMENT", "A")

    async def test_a_refusing_system_leaves_no_descriptor_open(self, spawn) -> None:
        import resource

        n_before = len(os.listdir("/proc/self/fd"))
        limits = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (n_before + 2, limits[1]))
        try:
            handle = spawn("true")
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, limits)
        await self.expect(handle, "SPAWN_FAILED", "EMFILE")
        assert len(os.listdir("/proc/self/fd")) <= n_before

    async def test_streams_of_a_failed_process_tell_why(self, spawn) -> None:
        handle = spawn("no-such-program", stdin="pipe", stdout="pipe", stderr="inherit")
        with pytest.raises(SpawnError):
            await handle.stdin.send(b"x")
        with pytest.raises(SpawnError):
            await handle.stdout.receive()
        await handle.stdin.aclose()
        assert handle.stderr is None
        assert handle.collected_stderr is None


@pytest.mark.spec("07-31")
async def test_an_aborted_signal_starts_nothing(spawn, tmp_path) -> None:
    controller = AbortController()
    controller.abort("before")
    with pytest.raises(AbortError):
        spawn("touch", f"{tmp_path}/ran", signal=controller.signal)
    assert os.listdir(tmp_path) == []


class TestInput:
    @pytest.mark.spec("07-37")
    async def test_given_input_may_be_ignored(self, spawn) -> None:
        handle = spawn("true", stdin=Data(b"x" * 5_000_000))
        assert await handle.done == ProcessExit(0, None)

    async def test_given_input_arrives_whole(self, spawn) -> None:
        handle = spawn("sha256sum", stdin=Data("ä" * 1_000_000))
        await handle.done
        import hashlib

        assert text_of(handle).split()[0] == hashlib.sha256(b"\xc3\xa4" * 1_000_000).hexdigest()

    async def test_pipes_talk_both_ways(self, spawn) -> None:
        handle = spawn("cat", stdin="pipe", stdout="pipe")
        sent, received = b"0123456789" * 100_000, bytearray()
        with anyio.fail_after(LIMIT_S):
            async with anyio.create_task_group() as tasks:

                async def write() -> None:
                    await handle.stdin.send(sent)
                    await handle.stdin.aclose()
                    await handle.stdin.aclose()

                tasks.start_soon(write)
                async for chunk in handle.stdout:
                    received += chunk
            assert bytes(received) == sent
            assert await handle.done == ProcessExit(0, None)
        with pytest.raises(anyio.ClosedResourceError):
            await handle.stdin.send(b"x")
        await handle.stdout.aclose()
        with pytest.raises(anyio.ClosedResourceError):
            await handle.stdout.receive()

    async def test_writing_to_a_process_that_is_gone_breaks(self, spawn) -> None:
        handle = spawn("true", stdin="pipe")
        await handle.done
        with pytest.raises(anyio.BrokenResourceError):
            await handle.stdin.send(b"x" * 1_000_000)
        await handle.stdin.aclose()

    async def test_inherited_output_goes_to_ours(self, spawn, capfd) -> None:
        handle = spawn("echo", "straight through", stdout="inherit")
        await handle.done
        assert capfd.readouterr().out == "straight through\n"


@pytest.mark.spec("07-50")
async def test_a_process_without_output_is_still_waited_for(spawn, tmp_path) -> None:
    go = tmp_path / "go"
    handle = spawn("sh", "-c", f"exec >&- 2>&-; while ! test -e {go}; do sleep 0.01; done; exit 7")
    with anyio.move_on_after(0.3) as scope:
        await handle.done
    assert scope.cancelled_caught
    go.touch()
    with anyio.fail_after(LIMIT_S):
        assert await handle.done == ProcessExit(7, None)


@pytest.mark.spec("07-49")
async def test_bytes_that_are_no_text_do_no_harm(spawn) -> None:
    handle = spawn("head", "-c", "50000", "/dev/urandom")
    await handle.done
    assert handle.collected_stdout is not None
    read = handle.collected_stdout.read_from(0)
    assert read.next_offset == 50_000
    read.text.encode()


@pytest.mark.spec("07-38", "07-39")
async def test_the_exit_is_noticed_although_a_grandchild_holds_the_pipes(
    runtime, spawn, marker
) -> None:
    handle = spawn("bash", "-c", f"(exec -a {marker} sleep 1000) & echo hi", grace_s=30)
    with anyio.fail_after(20):  # far below the grace
        assert await handle.done == ProcessExit(0, None)
    assert text_of(handle) == "hi\n"
    assert handle.is_alive()
    assert len(running(marker)) == 1
    handle.terminate()
    with anyio.fail_after(LIMIT_S):
        assert await handle.wait_for_exit()
    assert running(marker) == []
    assert not handle.is_alive()


async def test_a_grandchild_that_keeps_writing_is_cut_off_after_the_grace(spawn, marker) -> None:
    loop = f"MARK={marker} sh -c 'while echo tick; do sleep 0.01; done'"
    handle = spawn("bash", "-c", f"{loop} & echo hi", grace_s=0.4)
    with anyio.fail_after(LIMIT_S):
        await handle.done
    assert "hi" in text_of(handle)
    size = len(text_of(handle))
    await anyio.sleep(0.1)
    assert len(text_of(handle)) == size
    assert len(running(marker)) >= 1
    handle.terminate()
    assert await handle.wait_for_exit()
    await until_gone(marker)


async def test_leftovers_that_end_by_themselves_are_let_go(runtime, spawn, tmp_path) -> None:
    go = tmp_path / "go"
    handle = spawn("sh", "-c", f"(while ! test -e {go}; do sleep 0.01; done) & exit 3")
    await handle.done
    assert handle.is_alive()
    go.touch()
    with anyio.fail_after(LIMIT_S):
        assert await handle.wait_for_exit()
    assert _state(handle.pid) is None  # reaped


@pytest.mark.spec("07-40")
async def test_a_process_that_ignores_term_is_killed_after_the_grace(spawn, marker) -> None:
    handle = spawn("bash", "-c", f"trap '' TERM; echo {marker}; while :; do sleep 0.05; done")
    while marker not in text_of(handle):
        await anyio.sleep(0.01)
    handle.terminate()
    with anyio.fail_after(LIMIT_S):
        assert await handle.done == ProcessExit(None, "SIGKILL")
        assert await handle.wait_for_exit()
    await until_gone(marker)


@pytest.mark.spec("07-41")
async def test_a_crowd_that_ignores_term_dies_with_its_leader(spawn, marker) -> None:
    child = f"(trap '' TERM; MARK={marker} exec sh -c 'while :; do sleep 0.1; done')"
    handle = spawn("bash", "-c", f"for i in 1 2 3 4 5 6 7 8 9 10; do {child} & done; wait")
    await until_running(marker, 10)
    handle.terminate()
    with anyio.fail_after(LIMIT_S):
        assert (await handle.done).signal == "SIGTERM"
        assert await handle.wait_for_exit()
    assert running(marker) == []


@pytest.mark.spec("07-42")
async def test_daemons_in_sessions_of_their_own_do_not_escape(spawn, marker) -> None:
    daemon = f"MARK={marker} setsid -f sh -c 'trap \"\" TERM; while :; do sleep 0.1; done'"
    handle = spawn("bash", "-c", f"{daemon}; (setsid sleep 1000 &); set -m; sleep 1000 & wait")
    await until_running(marker)
    handle.terminate()
    with anyio.fail_after(LIMIT_S):
        assert await handle.wait_for_exit()
    assert running(marker) == []


@pytest.mark.spec("07-43")
async def test_zombies_do_not_count(spawn) -> None:
    # The child of `exec sleep` is never waited for, so it stays a zombie in the group.
    handle = spawn("sh", "-c", "sleep 0.01 & exec sleep 1000", grace_s=60)
    await anyio.sleep(0.1)
    handle.terminate()
    with anyio.fail_after(20):
        assert await handle.wait_for_exit()


@pytest.mark.spec("07-44")
async def test_many_requests_to_terminate_are_one(spawn, tmp_path) -> None:
    count = tmp_path / "count"
    handle = spawn(
        "bash", "-c", f"trap 'echo x >> {count}' TERM; echo up; while :; do sleep 0.02; done"
    )
    while "up" not in text_of(handle):
        await anyio.sleep(0.01)

    async def end() -> None:
        handle.terminate()
        assert await handle.wait_for_exit()

    async with anyio.create_task_group() as tasks:
        for _ in range(100):
            tasks.start_soon(end)
    assert count.read_text() == "x\n"
    handle.terminate()


async def test_waiting_for_the_exit_can_be_given_up(spawn) -> None:
    controller = AbortController()
    handle = spawn("sleep", "1000")
    seen: list[bool] = []
    async with anyio.create_task_group() as tasks:

        async def wait() -> None:
            seen.append(await handle.wait_for_exit(controller.signal))

        tasks.start_soon(wait)
        await anyio.sleep(0.05)
        controller.abort()
    assert seen == [False]
    assert handle.is_alive()


async def test_an_abort_terminates_but_not_what_a_finished_command_left_behind(
    spawn, marker
) -> None:
    controller = AbortController()
    left = spawn("bash", "-c", f"(exec -a {marker} sleep 1000) & exit", signal=controller.signal)
    await left.done
    busy = spawn("sleep", "1000", signal=controller.signal)
    controller.abort("stop")
    assert await busy.done == ProcessExit(None, "SIGTERM")
    assert left.is_alive()


@pytest.mark.spec("07-52")
async def test_an_endless_flood_is_bounded_and_ends_by_abort(spawn, tmp_path) -> None:
    controller = AbortController()
    small = Collect(max_bytes=65_536, spill=None)
    handle = spawn("yes", "x" * 1_000, stdout=small, signal=controller.signal)
    before = _resident_bytes()
    while handle.collected_stdout.retained().total_bytes < 300_000_000:
        await anyio.sleep(0.01)
    assert _resident_bytes() - before < 16_000_000
    controller.abort()
    with anyio.fail_after(LIMIT_S):
        await handle.done
    assert len(text_of(handle)) <= 65_536


@pytest.mark.spec("07-51")
async def test_fifty_children_at_once_lose_nothing_and_leave_the_loop_alive(spawn) -> None:
    n_beats = 0
    handles = [
        spawn(
            "sh",
            "-c",
            "head -c 1000000 /dev/zero | tr '\\0' x",
            stdout=Collect(max_bytes=2_000_000, spill=None),
        )
        for _ in range(50)
    ]

    async def beat() -> None:
        nonlocal n_beats
        while True:
            await anyio.lowlevel.checkpoint()
            n_beats += 1

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(beat)
        for handle in handles:
            assert await handle.done == ProcessExit(0, None)
        tasks.cancel_scope.cancel()
    assert n_beats > 50
    assert {text_of(handle) for handle in handles} == {"x" * 1_000_000}


@pytest.mark.spec("07-46")
async def test_disposal_ends_every_tree(marker, tmp_path) -> None:
    async with Context() as root:
        await root.plugin(SubprocessLocal, {"cleanupPeriodDays": 0})
        runtime = root[SubprocessLocal]
        spec = SpawnSpec(
            argv=(
                "bash",
                "-c",
                f"trap '' TERM; MARK={marker} sleep 1000 & exec -a {marker} sleep 99",
            ),
            cwd=str(tmp_path),
            stdin="ignore",
            stdout=Collect(max_bytes=10, spill=None),
            stderr="inherit",
            grace_s=0.3,
            signal=None,
        )
        handles = [runtime.spawn(spec) for _ in range(3)]
        await until_running(marker, 6)
        n_before = len(os.listdir("/proc/self/fd"))
    assert running(marker) == []
    assert not any(handle.is_alive() for handle in handles)
    assert len(os.listdir("/proc/self/fd")) < n_before
    with pytest.raises(RuntimeStopping):
        runtime.spawn(spec)


async def test_disposal_shortens_a_long_grace(marker, tmp_path, spawn, runtime) -> None:
    command = f"trap '' TERM; echo up; while :; do MARK={marker} sleep 0.1; done"
    handle = spawn("bash", "-c", command, grace_s=10_000)
    while "up" not in text_of(handle):
        await anyio.sleep(0.01)
    handle.terminate()
    with anyio.fail_after(LIMIT_S):
        await runtime.ctx.fiber.dispose()
    assert running(marker) == []


async def test_a_stranger_that_holds_a_pipe_keeps_no_descriptor_beyond_disposal(
    tmp_path, marker
) -> None:
    n_before = len(os.listdir("/proc/self/fd"))
    async with Context() as root:
        await root.plugin(SubprocessLocal, {"cleanupPeriodDays": 0})
        handle = root[SubprocessLocal].spawn(
            SpawnSpec(
                argv=("bash", "-c", f"env -i setsid -f bash -c 'exec -a {marker} sleep 1000'"),
                cwd=str(tmp_path),
                stdin="ignore",
                stdout=Collect(max_bytes=10, spill=None),
                stderr=Collect(max_bytes=10, spill=None),
                grace_s=0.3,
                signal=None,
            )
        )
        assert await handle.done == ProcessExit(0, None)
        await until_running(marker)
        handle.is_alive()
    assert len(os.listdir("/proc/self/fd")) <= n_before
    for pid in running(marker):
        os.kill(pid, signals.SIGKILL)


PROGRAM = """
import asyncio, os, sys
from harness.subprocess import SpawnSpec
from harness_plugins.subprocess_local import SubprocessLocal
from vendor_shims.cordis import Context

async def main():
    root = Context()
    await root.plugin(SubprocessLocal)
    mark = f"MARK={sys.argv[1]}"
    command = f"{mark} setsid -f sleep 1000; trap '' TERM; {mark} sleep 1000"
    root[SubprocessLocal].spawn(SpawnSpec(argv=("bash", "-c", command), cwd="/", stdin="ignore",
        stdout="inherit", stderr="inherit", grace_s=1, signal=None))
    print("up", flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    sys.exit(0)

asyncio.run(main())
"""


@pytest.mark.parametrize("how", ["sys.exit", "SIGKILL"])
@pytest.mark.spec("07-47", "07-48")
async def test_no_child_survives_the_host(marker: str, how: str, tmp_path: Path) -> None:
    program = tmp_path / "host.py"
    program.write_text(PROGRAM)
    async with await anyio.open_process(
        [sys.executable, str(program), marker],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        stderr=None,
    ) as host:
        await until_running(marker, 2)
        if how == "SIGKILL":
            host.kill()
        else:
            assert host.stdin is not None
            await host.stdin.aclose()
        with anyio.fail_after(LIMIT_S):
            await host.wait()
            await until_gone(marker)


FORKING = """
import asyncio, os, sys
from harness.subprocess import SpawnSpec
from harness_plugins.subprocess_local import SubprocessLocal
from vendor_shims.cordis import Context

async def main():
    root = Context()
    await root.plugin(SubprocessLocal)
    handle = root[SubprocessLocal].spawn(SpawnSpec(argv=("sleep", "1000"), cwd="/", stdin="ignore",
        stdout="inherit", stderr="inherit", grace_s=1, signal=None))
    pid = os.fork()
    if not pid:
        sys.exit(0)
    os.waitpid(pid, 0)
    print(handle.is_alive(), flush=True)

asyncio.run(main())
"""


async def test_a_fork_of_the_host_ends_nothing_when_it_exits(tmp_path: Path) -> None:
    program = tmp_path / "host.py"
    program.write_text(FORKING)
    with anyio.fail_after(LIMIT_S):
        ended = await anyio.run_process(
            [sys.executable, str(program)],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
            check=False,
        )
    assert ended.stdout.split() == [b"True"]


async def test_without_a_shell_there_is_no_guard_but_everything_else(
    spawn, monkeypatch, marker
) -> None:
    monkeypatch.setattr("harness_plugins.subprocess_local.orphan_guard.SHELL", "/no/shell")
    n_before = len(os.listdir("/proc/self/fd"))
    assert await spawn("true").done == ProcessExit(0, None)
    assert len(os.listdir("/proc/self/fd")) <= n_before


async def test_the_tree_mark_is_there_and_grows_when_nested(spawn, monkeypatch) -> None:
    monkeypatch.setenv("DSH_PROCESS_TREE", "outer-1")
    handle = spawn("sh", "-c", "echo $DSH_PROCESS_TREE")
    await handle.done
    assert text_of(handle).startswith("outer-1,")


def _state(pid: int) -> str | None:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return None


def _resident_bytes() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")
