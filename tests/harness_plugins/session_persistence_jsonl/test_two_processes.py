"""Two real processes and one session."""

import contextlib
import os
import signal
import sys
from collections.abc import AsyncGenerator
from pathlib import Path

import anyio
import pytest
from anyio.abc import Process

from harness.session import SessionStore
from harness.session_persistence import PersistenceCoordinator, SessionAlreadyOwnedError
from harness_plugins.session_persistence_jsonl import JsonlPersistence
from vendor_shims.cordis import Context

WRITER = """
import asyncio, sys
from harness.session import SessionStore
from harness_plugins.session_persistence_jsonl import JsonlPersistence
from harness.session_persistence.contract import run_turn
from vendor_shims.cordis import Context

async def main():
    async with Context() as root:
        root.plugin(SessionStore)
        root.plugin(JsonlPersistence, {"root": sys.argv[1]})
        await root.settle()
        sessions = root[SessionStore]
        session = sessions.prepare("session-a", meta={"cwd": "/srv/project"})
        sessions.enter(session)
        sessions.announce(session)
        run_turn(session)
        while True:
            turn = session.last_turn + 1
            session.append("turn/start", {"turn": turn, "trigger": {"kind": "message"}})
            await sessions.flush(session)
            print(session.seq, flush=True)
            for number in range(50):
                session.append("todo/write", {"todos": [{"content": str(number)}]})
                await asyncio.sleep(0)
            session.append("turn/end", {"turn": turn, "reason": {"kind": "completed"}})

asyncio.run(main())
"""


@contextlib.asynccontextmanager
async def writer(root: Path) -> AsyncGenerator[Process]:
    """Run a process that appends turn after turn and says what is acknowledged."""
    process = await anyio.open_process([sys.executable, "-c", WRITER, str(root)], stderr=None)
    try:
        yield process
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.aclose()


@contextlib.asynccontextmanager
async def persistence(root: Path) -> AsyncGenerator[PersistenceCoordinator]:
    async with Context() as context:
        context.plugin(SessionStore)
        context.plugin(JsonlPersistence, {"root": str(root)})
        await context.settle()
        yield context[PersistenceCoordinator]


@pytest.mark.spec("05-10", "05-14", "05-15")
async def test_a_killed_writer_loses_nothing_that_it_acknowledged(root: Path):
    async with persistence(root) as ours, writer(root) as theirs:
        assert theirs.stdout is not None
        said = b""
        while said.count(b"\n") < 3:
            said += await theirs.stdout.receive()
        with pytest.raises(SessionAlreadyOwnedError, match=f"held by pid {theirs.pid}") as caught:
            await ours.open("session-a", "write")
        assert str(caught.value.holder) == f"pid {theirs.pid} on {os.uname().nodename}"
        seen = await ours.inspect("session-a")
        assert seen.lease == "held-elsewhere"
        with pytest.raises(SessionAlreadyOwnedError):
            await ours.prepare_resume("session-a")
        theirs.send_signal(signal.SIGKILL)
        await theirs.wait()
        with contextlib.suppress(anyio.EndOfStream):
            while True:
                said += await theirs.stdout.receive()
        acknowledged = int(said[: said.rindex(b"\n")].split(b"\n")[-1])
        async with await ours.prepare_resume("session-a") as preparation:
            events = preparation.events
        assert len(events) >= acknowledged
        assert [event.seq for event in events] == list(range(len(events)))
        assert events[: len(seen.events) - seen.closers] == seen.events[: -seen.closers or None]
        assert events[-1].type == "turn/end"
        assert (await ours.load("session-a")).closers == 0
