"""A process that is killed at any moment loses nothing that was acknowledged, and resumes."""

import asyncio
import os
import random
import signal
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from harness.invariants import check_log
from harness.session import STEP_END, TURN_END, SessionEvent, SessionStore
from harness.testing import (
    MockServer,
    RecordedRequest,
    Reply,
    text_reply,
    tool_call_reply,
)
from harness_plugins.session_persistence_jsonl import JsonlPersistence
from vendor_shims.cordis import Context

N_STEPS = 50
N_KILLS = 200 if os.environ.get("HYPOTHESIS_PROFILE") == "deep" else 20
CHILD = Path(__file__).with_name("killed_child.py")


class Countdown:
    """Answer with a tool call fifty times, then with text; kill the client at one of them."""

    def __init__(self, moment: random.Random) -> None:
        self._kill_at = moment.randint(1, N_STEPS)
        self._delay_s = moment.uniform(0, 0.04)
        self._n = 0
        self.child: asyncio.subprocess.Process | None = None

    def respond(self, _request: RecordedRequest) -> Reply:
        """Return the next answer."""
        self._n += 1
        if self._n == self._kill_at and self.child is not None:
            asyncio.get_running_loop().call_later(self._delay_s, self._kill, self.child)
        if self._n > N_STEPS:
            return text_reply("counted")
        arguments = {"command": f"echo {self._n}", "description": "count"}
        return tool_call_reply("bash", arguments, call_id=f"call-{self._n}")

    @staticmethod
    def _kill(child: asyncio.subprocess.Process) -> None:
        if child.returncode is None:
            child.send_signal(signal.SIGKILL)


@dataclass
class Life:
    """What a killed process said of itself."""

    session_id: str | None
    acked: int | None
    was_killed: bool


async def live_and_die(home: Path, moment: random.Random) -> Life:
    """Run the child until it is killed or done."""
    countdown = Countdown(moment)
    async with MockServer(respond=countdown.respond) as server:
        countdown.child = child = await asyncio.create_subprocess_exec(
            sys.executable, CHILD, home, server.base_url, home, stdout=asyncio.subprocess.PIPE
        )
        out, _ = await child.communicate()
    lines = out.decode().split("\n")[:-1]
    acked = [int(line.split()[1]) for line in lines if line.startswith("acked ")]
    ident = lines[0] if lines else None
    return Life(ident, acked[-1] if acked else None, child.returncode == -signal.SIGKILL)


async def resume(home: Path, session_id: str) -> tuple[int, str, list[dict[str, Any]]]:
    """Resume with the command; return its exit code, its errors, and the messages it sent."""
    async with MockServer(respond=lambda _: text_reply("resumed")) as server:
        child = await asyncio.create_subprocess_exec(
            sys.executable,
            *("-m", "harness_plugins.launcher", "run", "--home", home, "--cwd", home),
            *("--base-url", server.base_url, "--model", "m", "--resume", session_id, "go on"),
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            stdin=asyncio.subprocess.DEVNULL,
        )
        _, errors = await child.communicate()
        sent = server.requests[-1].json()["messages"] if server.requests else []
    return child.returncode or 0, errors.decode(), sent


def ends_its_turn(log: Path) -> bool:
    """Return whether a whole line of the log ends the turn; a process may die after that."""
    whole = log.read_bytes().split(b"\n")[:-1]
    return any(b'"type":"turn/end"' in line for line in whole)


async def stored_events(home: Path, session_id: str) -> tuple[SessionEvent, ...]:
    """Read a log with the persistence service."""
    async with Context() as root:
        root.plugin(SessionStore)
        root.plugin(JsonlPersistence, {"root": f"{home}/py/sessions"})
        await root.settle(20)
        return (await root.require("session_persistence").load(session_id)).events


def assert_valid_on_the_wire(messages: list[dict[str, Any]]) -> None:
    """Every call of an assistant is answered right behind it, once, and nothing else is."""
    expected: list[str] = []
    for message in messages:
        if message["role"] == "tool":
            assert message["tool_call_id"] in expected
            expected.remove(message["tool_call_id"])
        else:
            assert expected == []
            expected = [call["id"] for call in message.get("tool_calls", ())]
    assert expected == []


@pytest.mark.fuzz
@pytest.mark.spec("09-C070", "09-C071")
@pytest.mark.parametrize("seed", range(N_KILLS))
async def test_killed_at_a_random_moment_it_resumes_and_has_lost_nothing(
    tmp_path: Path, seed: int
) -> None:
    life = await live_and_die(tmp_path, random.Random(seed))
    assert life.session_id is not None
    logs = list(tmp_path.glob("py/sessions/*/*/session.v1000.jsonl"))
    if not logs:
        assert life.acked is None  # it died before anything was durable, and had promised nothing
        return

    has_ended = ends_its_turn(logs[0])
    assert has_ended or life.was_killed
    code, errors, sent = await resume(tmp_path, life.session_id)
    assert code == 0, errors
    assert_valid_on_the_wire(sent)
    assert sent[-1]["content"] == "go on"

    events = await stored_events(tmp_path, life.session_id)
    assert [event.seq for event in events] == list(range(len(events)))
    assert check_log(events, is_complete=True) == ()
    if life.acked is not None:
        assert events[life.acked].type == STEP_END
    ends = [event.data["reason"]["kind"] for event in events if event.type == TURN_END]
    assert ends == ["completed" if has_ended else "interrupted", "completed"]

    again = await stored_events(tmp_path, life.session_id)
    assert again == events  # closing an interrupted turn happens once
