"""Drive the real command: as a subprocess with a home of its own, through pipes or a terminal."""

from __future__ import annotations

import asyncio
import fcntl
import os
import pty
import re
import signal
import struct
import subprocess
import sys
import termios
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import attrs
import pytest

from harness.invariants import check_log
from harness.session import SessionEvent, SessionStore
from harness.session_persistence import SessionPersistence, StoredSession
from harness.testing import MockServer
from harness.wire import loads
from harness_plugins.session_persistence_jsonl import JsonlPersistence
from vendor_shims.cordis import Context

ROOT = Path(__file__).parents[2]
DSH = (sys.executable, "-m", "harness_plugins.launcher")
_KEPT = ("PATH", "LANG", "LC_ALL", "TMPDIR")


@attrs.frozen
class Finished:
    """How a command ended, and what it wrote."""

    code: int
    stdout: bytes
    stderr: str

    @property
    def out(self) -> str:
        return self.stdout.decode()

    @property
    def lines(self) -> list[dict[str, Any]]:
        """The JSON lines of standard output."""
        return [loads(line) for line in self.stdout.split(b"\n") if line]

    def only(self, kind: str) -> dict[str, Any]:
        """The one JSON line of a type."""
        found = [line for line in self.lines if line["type"] == kind]
        assert len(found) == 1, (kind, self.lines, self.stderr)
        return found[0]

    @property
    def code_line(self) -> str:
        """The code of the one complaint on stderr."""
        found = re.findall(r"^dsh: ([A-Z][A-Z0-9_]*): ", self.stderr, re.MULTILINE)
        assert len(found) == 1, self.stderr
        return found[0]


class Running:
    """A command that is under way."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.seen = b""

    @property
    def pid(self) -> int:
        return self.process.pid

    def signal(self, number: int) -> None:
        """Send a signal, unless the process is gone; who reaps it is the event loop's business."""
        with suppress(ProcessLookupError):
            os.kill(self.pid, number)

    async def until(self, text: bytes) -> bytes:
        """Read standard output until it holds `text`."""
        while text not in self.seen:
            await self._read()
        return self.seen

    async def line(self, kind: str) -> dict[str, Any]:
        """Read until the first JSON line of a type is complete."""
        start = f'{{"type":"{kind}"'.encode()
        while True:
            for row in self.seen.split(b"\n")[:-1]:
                if row.startswith(start):
                    return loads(row)
            await self._read()

    async def _read(self) -> None:
        assert self.process.stdout is not None
        block = await self.process.stdout.read(65536)
        assert block, f"the output ended: {self.seen!r}"
        self.seen += block

    async def end(self) -> Finished:
        """Read the rest and wait."""
        out, err = await self.process.communicate()
        assert self.process.returncode is not None
        return Finished(self.process.returncode, self.seen + (out or b""), err.decode())


class Dsh:
    """The command with a home, a directory and an environment of its own."""

    def __init__(self, home: Path, cwd: Path) -> None:
        self.home = home
        self.cwd = cwd
        self.environment = {name: os.environ[name] for name in _KEPT if name in os.environ}
        # What measures the coverage of subprocesses travels in the environment.
        self.environment |= {
            name: value for name, value in os.environ.items() if name.startswith("COVERAGE_")
        }
        self.environment |= {"DSH_HOME": str(home), "HOME": str(home.parent)}

    def use(self, server: MockServer) -> None:
        """Let DeepSeek be a scripted server."""
        self.environment |= {"DEEPSEEK_BASE_URL": server.base_url, "DEEPSEEK_API_KEY": "test-key"}

    def forget_coverage(self) -> None:
        """Measure nothing, where the limits of the test would spoil the measurement's file."""
        for name in [name for name in self.environment if name.startswith("COVERAGE_")]:
            del self.environment[name]

    async def __call__(
        self, *arguments: str, stdin: bytes | None = None, **options: Any
    ) -> Finished:
        """Run the command to its end; without `stdin` there is none."""
        async with self.start(*arguments, stdin=stdin, **options) as running:
            return await running.end()

    @asynccontextmanager
    async def start(
        self,
        *arguments: str,
        stdin: bytes | int | None = None,
        cwd: Path | None = None,
        command: tuple[str, ...] = DSH,
        **options: Any,
    ) -> AsyncIterator[Running]:
        """Start the command; what is left of it at the end is killed."""
        process = await asyncio.create_subprocess_exec(
            *command,
            *arguments,
            cwd=cwd or self.cwd,
            env=self.environment,
            stdin=_stdin(stdin),
            stdout=options.pop("stdout", subprocess.PIPE),
            stderr=subprocess.PIPE,
            **options,
        )
        if isinstance(stdin, bytes):
            assert process.stdin is not None
            process.stdin.write(stdin)
            process.stdin.close()
        try:
            yield Running(process)
        finally:
            if process.returncode is None:
                process.kill()
                await process.communicate()

    async def stored(self, session_id: str) -> StoredSession:
        """Read a stored session; the closers that it would need are counted, not written."""
        async with Context() as ctx:
            ctx.plugin(SessionStore)
            ctx.plugin(JsonlPersistence, {"root": str(self.home / "py" / "sessions")})
            await ctx.settle()
            return await ctx[SessionPersistence].inspect(session_id)

    async def balanced(self, session_id: str) -> tuple[SessionEvent, ...]:
        """Read a stored session that must be complete and without any violation."""
        stored = await self.stored(session_id)
        assert stored.closers == 0, "the log ends inside a turn"
        assert check_log(stored.events, is_complete=True) == ()
        return stored.events

    def session_files(self) -> list[Path]:
        """List the stored logs."""
        return sorted(self.home.glob("py/sessions/*/*/*.jsonl"))


def _stdin(given: bytes | int | None) -> int:
    if given is None:
        return subprocess.DEVNULL
    return given if isinstance(given, int) else subprocess.PIPE


class Terminal:
    """A command with a terminal of its own, as a person has it."""

    def __init__(self, master: int, process: subprocess.Popen[bytes]) -> None:
        self.process = process
        self.screen = ""
        self._master = master
        self._changed = asyncio.Event()
        self._ended = False
        asyncio.get_running_loop().add_reader(master, self._read)

    def type(self, text: str) -> None:
        os.write(self._master, text.encode())

    async def until(self, text: str) -> str:
        """Wait until the screen shows `text`."""
        while text not in self.screen:
            assert not self._ended, f"the screen ended without {text!r}: {self.screen!r}"
            await self._changed.wait()
            self._changed.clear()
        return self.screen

    async def end(self) -> int:
        """Wait for the end; return the exit code."""
        while not self._ended:
            await self._changed.wait()
            self._changed.clear()
        return await asyncio.to_thread(self.process.wait)

    def _read(self) -> None:
        try:
            block = os.read(self._master, 65536)
        except OSError:  # every process with the terminal is gone
            block = b""
        if not block:
            self._ended = True
            asyncio.get_running_loop().remove_reader(self._master)
        self.screen += block.decode(errors="replace").replace("\r\n", "\n")
        self._changed.set()


@asynccontextmanager
async def terminal(
    dsh: Dsh, *arguments: str, columns: int = 80, before: tuple[str, ...] = ()
) -> AsyncIterator[Terminal]:
    """Start the command on a terminal that controls it, so that Ctrl-C is a signal."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))

    def take_terminal() -> None:
        os.setsid()
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)

    process = subprocess.Popen(  # noqa: ASYNC220 - it takes a moment, and a terminal
        [*before, *DSH, *arguments],
        cwd=dsh.cwd,
        env={"TERM": "xterm", **dsh.environment},
        stdin=slave,
        stdout=slave,
        stderr=slave,
        preexec_fn=take_terminal,  # noqa: PLW1509 - the only way to get a controlling terminal
    )
    os.close(slave)
    seen = Terminal(master, process)
    try:
        yield seen
    finally:
        if process.poll() is None:
            process.kill()
        await asyncio.to_thread(process.wait)
        asyncio.get_running_loop().remove_reader(master)
        os.close(master)


def _make_dsh(folder: Path) -> Dsh:
    """Give the command a home and a directory to work in below `folder`."""
    cwd = folder / "work"
    cwd.mkdir()
    return Dsh(folder / "home", cwd.resolve())


@pytest.fixture
def dsh(tmp_path: Path) -> Dsh:
    return _make_dsh(tmp_path)


@pytest.fixture
def make_dsh() -> Callable[[Path], Dsh]:
    return _make_dsh


@pytest.fixture
def guarded() -> tuple[str, ...]:
    """The command with the guard of the tests, which lets no connection leave the machine."""
    script = (
        f"import sys; sys.path.append({str(ROOT / 'scripts')!r})\n"
        "from house import network_guard; network_guard.install()\n"
        "from harness_plugins.launcher import main; sys.exit(main())"
    )
    return (sys.executable, "-c", script)


@pytest.fixture
def hurried() -> tuple[str, ...]:
    """The command on an event loop whose time passes twenty times as fast."""
    script = """
import asyncio, selectors, sys

class Selector(selectors.DefaultSelector):
    def select(self, timeout=None):
        return super().select(timeout and timeout / 20)

class Loop(asyncio.SelectorEventLoop):
    def __init__(self):
        super().__init__(Selector())
    def time(self):
        return super().time() * 20

class Policy(asyncio.DefaultEventLoopPolicy):
    _loop_factory = Loop

asyncio.set_event_loop_policy(Policy())
from harness_plugins.launcher import main
sys.exit(main())
"""
    return (sys.executable, "-c", script)


@pytest.fixture
async def server() -> AsyncIterator[MockServer]:
    async with MockServer() as running:
        yield running


@pytest.fixture
def on_terminal(dsh: Dsh) -> Callable[..., Any]:
    """Start the command on a terminal."""

    def start(*arguments: str, **options: Any) -> Any:
        return terminal(dsh, *arguments, **options)

    return start


class LineGrammar:
    """Hold the rules of the JSON lines over one whole output."""

    def __init__(self) -> None:
        self._turn = self._step = None
        self._calls: set[str] = set()
        self._streamed: dict[tuple[str, int], str] = {}
        self._committed: list[str] = []

    def check(self, lines: list[dict[str, Any]]) -> None:
        kinds = [line["type"] for line in lines]
        if kinds[0] == "error":
            assert kinds == ["error"], "before a session there is one error and nothing else"
            return
        assert (kinds[0], kinds[-1]) == ("session", "final")
        assert (kinds.count("session"), kinds.count("final")) == (1, 1)
        for line in lines:
            check = getattr(self, f"_{line.get('phase') or line['type']}", None)
            if check is not None:
                check(line)
        assert (self._turn, self._step) == (None, None)
        assert self._calls == set(), "each call has a result"
        if self._streamed:
            assert set(self._committed) <= set(self._streamed.values())

    def _turn_start(self, line: dict[str, Any]) -> None:
        assert self._turn is None
        self._turn = line["turn"]

    def _turn_end(self, line: dict[str, Any]) -> None:
        assert (self._turn, self._step) == (line["turn"], None)
        assert isinstance(line["reason"], str)
        self._turn = None

    def _step_start(self, line: dict[str, Any]) -> None:
        assert (self._turn, self._step) == (line["turn"], None)
        self._step = line["step"]

    def _step_end(self, line: dict[str, Any]) -> None:
        assert (self._turn, self._step) == (line["turn"], line["step"])
        self._step = None

    def _text(self, line: dict[str, Any]) -> None:
        assert (self._turn, self._step) == (line["turn"], line["step"])
        self._committed.append(line["text"])

    def _tool_call(self, line: dict[str, Any]) -> None:
        assert self._step is not None
        assert line["callId"] not in self._calls
        assert ("input" in line) != ("rawInput" in line)
        self._calls.add(line["callId"])

    def _tool_result(self, line: dict[str, Any]) -> None:
        assert line["status"] in ("completed", "error")
        assert isinstance(line["result"], str)
        self._calls.remove(line["callId"])

    def _delta(self, line: dict[str, Any]) -> None:
        if line["kind"] == "text":
            place = line["attempt"], line["index"]
            self._streamed[place] = self._streamed.get(place, "") + line["text"]


@pytest.fixture
def check_grammar() -> Callable[[list[dict[str, Any]]], None]:
    return lambda lines: LineGrammar().check(lines)


@pytest.fixture(autouse=True)
def _default_signals() -> Iterator[None]:
    """Let children start with the usual signals, whatever started the tests ignores."""
    before = signal.getsignal(signal.SIGINT)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
