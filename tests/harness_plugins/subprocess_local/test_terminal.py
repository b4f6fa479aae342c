from __future__ import annotations

import os
import resource
import signal
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import anyio
import pytest

from harness.bash.contract import running, until_gone, until_running
from harness.subprocess import (
    ProcessExit,
    RuntimeStopping,
    SpawnError,
    TerminalError,
    TerminalHandle,
    TerminalSpec,
)
from harness_plugins.subprocess_local import SubprocessLocal
from vendor_shims.cordis import AbortController, AbortError

LIMIT_S = 20


class Screen:
    """Read along with a terminal, so that a test can wait for what appears."""

    def __init__(self, terminal: TerminalHandle) -> None:
        self.terminal = terminal
        self.text = ""
        self._output: AsyncIterator[bytes] = terminal.output

    async def until(self, expected: str) -> None:
        with anyio.fail_after(LIMIT_S):
            while expected not in self.text:
                self.text += (await anext(self._output)).decode("utf-8", "replace")

    async def to_the_end(self) -> None:
        with anyio.fail_after(LIMIT_S):
            async for chunk in self._output:
                self.text += chunk.decode("utf-8", "replace")


@pytest.fixture
async def open_terminal(runtime: SubprocessLocal, tmp_path: Path) -> AsyncIterator[Any]:
    opened: list[TerminalHandle] = []

    async def start(*argv: str, **fields: Any) -> Screen:
        known: dict[str, Any] = {"rows": 24, "cols": 80, "grace_s": 0.3, "signal": None}
        known |= {"cwd": str(tmp_path), **fields}
        terminal = await runtime.spawn_terminal(TerminalSpec(argv=argv, **known))
        opened.append(terminal)
        return Screen(terminal)

    yield start
    for terminal in opened:
        await terminal.terminate()


SHELL = ("bash", "--noprofile", "--norc", "-i")


async def test_a_program_sees_a_terminal_of_the_given_size(open_terminal) -> None:
    screen = await open_terminal(
        "sh", "-c", "stty size; test -t 0 && echo tty; : </dev/tty && echo own"
    )
    await screen.to_the_end()
    assert screen.text == "24 80\r\ntty\r\nown\r\n"
    assert await screen.terminal.done == ProcessExit(0, None)


async def test_a_conversation_keeps_its_state(open_terminal) -> None:
    screen = await open_terminal(*SHELL, env={"PS1": "ready> "})
    await screen.until("ready> ")
    await screen.terminal.write(b"X=4; echo $((X + 2))\n")
    await screen.until("6\r\n")
    await screen.terminal.write("echo ä$X\n".encode())
    await screen.until("ä4")
    await screen.terminal.write(b"exit 3\n")
    await screen.to_the_end()
    assert await screen.terminal.done == ProcessExit(3, None)


async def test_a_new_size_is_told(open_terminal) -> None:
    screen = await open_terminal(
        "bash", "-c", "trap 'stty size; exit' WINCH; echo up; while :; do sleep 0.02; done"
    )
    await screen.until("up")
    screen.terminal.resize(50, 132)
    await screen.until("50 132")


async def test_signals_that_python_ignores_are_not_ignored(open_terminal) -> None:
    screen = await open_terminal("bash", "-c", "kill -PIPE $$; echo survived")
    await screen.to_the_end()
    assert await screen.terminal.done == ProcessExit(None, "SIGPIPE")


@pytest.mark.spec("07-53")
async def test_the_shell_itself_is_not_killed(open_terminal, marker) -> None:
    screen = await open_terminal(*SHELL, env={"PS1": "ready> "})
    await screen.until("ready> ")
    for name in ("SIGKILL", "SIGUSR1"):
        with pytest.raises(TerminalError) as caught:
            screen.terminal.signal_foreground(name)
        assert caught.value.code == "TERMINAL_SIGNAL_REFUSED"
    await screen.terminal.write(f"(exec -a {marker} sleep 1000)\n".encode())
    await until_running(marker)
    screen.terminal.signal_foreground("SIGKILL")
    await until_gone(marker)
    await screen.terminal.write(b"echo still $((40 + 2))\n")
    await screen.until("still 42")


@pytest.mark.spec("07-54")
@pytest.mark.parametrize(
    ("program", "is_waiting"),
    [
        ("cat", True),
        ("python3 -c 'import select; print(1, flush=True); select.select([0], [], [])'", True),
        ("python3 -c 'import select; p = select.poll(); p.register(0, 1); p.poll()'", True),
        ("python3 -c 'import select; p = select.epoll(); p.register(0, 1); p.poll()'", True),
        ("python3 -c 'import select; select.select([], [], [], 1000)'", False),
        ("sleep 1000", False),
        ("sleep 1000 </dev/null", False),
    ],
)
async def test_waiting_for_input_is_proven(open_terminal, program: str, is_waiting: bool) -> None:
    if not os.path.exists("/proc/self/syscall"):
        pytest.skip("this kernel does not show the system calls of processes")
    screen = await open_terminal("bash", "-c", f"echo up; exec {program}")
    await screen.until("up")
    terminal = screen.terminal
    with anyio.fail_after(LIMIT_S):
        while _program_of(terminal.pid) == "bash":
            await anyio.sleep(0.01)
        seen = terminal.inspect_foreground()
        while is_waiting and (seen is None or not seen.input_waiting):
            await anyio.sleep(0.01)
            seen = terminal.inspect_foreground()
    assert seen is not None
    assert seen.process_group_id == terminal.pid
    assert seen.input_waiting is is_waiting


async def test_everything_ends_with_the_terminal(open_terminal, marker) -> None:
    screen = await open_terminal(*SHELL, env={"PS1": "ready> "})
    await screen.until("ready> ")
    stubborn = f"trap '' TERM HUP; while :; do MARK={marker} sleep 0.1; done"
    await screen.terminal.write(f'(setsid bash -c "{stubborn}" &)\n'.encode())
    await until_running(marker)
    with anyio.fail_after(LIMIT_S):
        await screen.terminal.terminate()
        await screen.terminal.terminate()
    assert running(marker) == []
    assert (await screen.terminal.done).signal in ("SIGHUP", "SIGTERM", "SIGKILL")
    assert screen.terminal.inspect_foreground() is None
    with pytest.raises(TerminalError, match="closed"):
        await screen.terminal.write(b"x")
    with pytest.raises(TerminalError, match="closed"):
        screen.terminal.signal_foreground("SIGINT")
    with pytest.raises(TerminalError, match="closed"):
        screen.terminal.resize(1, 1)
    await screen.to_the_end()


async def test_a_reader_is_told_when_the_terminal_closes(open_terminal) -> None:
    screen = await open_terminal("sleep", "1000")
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(screen.to_the_end)
        await anyio.sleep(0.05)
        await screen.terminal.terminate()


async def test_a_large_paste_waits_for_a_slow_reader(open_terminal) -> None:
    screen = await open_terminal(
        "sh", "-c", "stty raw -echo; echo up; sleep 0.3; head -c 300000 | wc -c"
    )
    await screen.until("up")
    with anyio.fail_after(LIMIT_S):
        await screen.terminal.write(b"x" * 300_000)
    await screen.until("300000")


async def test_an_abort_ends_it(open_terminal) -> None:
    controller = AbortController()
    screen = await open_terminal("sleep", "1000", signal=controller.signal)
    controller.abort()
    with anyio.fail_after(LIMIT_S):
        assert await screen.terminal.done == ProcessExit(None, "SIGTERM")
    with pytest.raises(AbortError):
        await open_terminal("sleep", "1000", signal=controller.signal)


async def test_an_end_without_anybody_there_breaks_writing(open_terminal) -> None:
    screen = await open_terminal("true")
    await screen.terminal.done
    await screen.to_the_end()
    assert screen.terminal.inspect_foreground() is None
    with pytest.raises(TerminalError, match="closed"):
        screen.terminal.signal_foreground("SIGINT")
    with anyio.fail_after(LIMIT_S), pytest.raises(TerminalError, match="closed"):
        await screen.terminal.write(b"x" * 1_000_000)


@pytest.mark.parametrize(
    ("argv", "fields", "code"),
    [
        ((), {}, "INVALID_ARGUMENT"),
        (("no-such-program",), {}, "EXECUTABLE_NOT_FOUND"),
        (("/tmp",), {}, "EXECUTABLE_NOT_PERMITTED"),
        (("true",), {"cwd": "/no/such/directory"}, "CWD_INVALID"),
        (("true",), {"env": {"A=B": "x"}}, "INVALID_ARGUMENT"),
    ],
)
async def test_failures_to_start_leave_no_descriptor(open_terminal, argv, fields, code) -> None:
    n_before = len(os.listdir("/proc/self/fd"))
    with pytest.raises(SpawnError) as caught:
        await open_terminal(*argv, **fields)
    assert caught.value.code == code
    assert len(os.listdir("/proc/self/fd")) <= n_before


async def test_a_refusing_system_leaves_no_descriptor(open_terminal, spawn) -> None:
    await spawn("true").done  # from here on the guard runs
    n_before = len(os.listdir("/proc/self/fd"))
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    codes: list[str] = []
    for n_spare in range(8):
        resource.setrlimit(resource.RLIMIT_NOFILE, (n_before + n_spare - 3, limits[1]))
        try:
            screen = await open_terminal("true")
        except SpawnError as error:
            codes.append(error.code)
        else:
            await screen.terminal.terminate()
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, limits)
        assert len(os.listdir("/proc/self/fd")) <= n_before
    assert set(codes) == {"SPAWN_FAILED"}
    assert len(codes) > 4


async def test_disposal_closes_terminals(runtime, open_terminal, marker) -> None:
    screen = await open_terminal("bash", "-c", f"exec -a {marker} sleep 1000")
    await until_running(marker)
    await runtime.ctx.fiber.dispose()
    assert running(marker) == []
    assert screen.terminal.inspect_foreground() is None
    with pytest.raises(RuntimeStopping):
        await open_terminal("true")


async def test_interrupts_reach_the_foreground_only(open_terminal, marker) -> None:
    screen = await open_terminal(*SHELL, env={"PS1": "ready> "})
    await screen.until("ready> ")
    await screen.terminal.write(f"(exec -a {marker} sleep 1000)\n".encode())
    await until_running(marker)
    screen.terminal.signal_foreground("SIGINT")
    await until_gone(marker)
    await screen.terminal.write(b"echo status $?\n")
    await screen.until(f"status {128 + signal.SIGINT}")


def _program_of(pid: int) -> str:
    return Path(f"/proc/{pid}/comm").read_text().strip()


@pytest.mark.parametrize("size", [0, -1, 65_536, 1.5, True])
def test_sizes_that_no_terminal_has_are_refused(size: Any) -> None:
    for name in ("rows", "cols"):
        sizes: dict[str, Any] = {"rows": 24, "cols": 80, name: size}
        with pytest.raises(ValueError, match=name):
            TerminalSpec(argv=("true",), cwd="/", grace_s=1, signal=None, **sizes)
