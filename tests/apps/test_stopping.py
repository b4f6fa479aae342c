"""A run that is stopped, whoever stops it, leaves a complete log and says why it ended."""

from __future__ import annotations

import asyncio
import os
import select
import signal
import sys
from pathlib import Path

import pytest

from harness.testing import MockServer, text_reply, tool_call_reply

STUBBORN = "trap '' TERM INT; echo $$ > pid; while :; do sleep 0.05; done"


def bash(command: str, **more):
    return tool_call_reply("bash", {"command": command, "description": "Try it"}, **more)


async def file_with_pid(dsh) -> int:
    """Wait until a command wrote its process number."""
    while True:
        text = (dsh.cwd / "pid").read_text() if (dsh.cwd / "pid").exists() else ""
        if text.endswith("\n"):
            return int(text)
        await asyncio.sleep(0.01)


async def is_gone(pid: int) -> bool:
    """Wait until a process is no more; a zombie is none."""
    while True:
        try:
            if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
                return True
        except FileNotFoundError:
            return True
        await asyncio.sleep(0.01)


def last_end(events):
    assert events[-1].type == "turn/end"
    return dict(events[-1].data["reason"])


@pytest.fixture
def dsh(dsh, server):
    dsh.use(server)
    return dsh


@pytest.fixture
def endless(server):
    """Let the answer begin and never end."""
    server.enqueue(text_reply("the answer begins").ending_with("stall", after_parts=3))
    server.enqueue(text_reply("better"))
    return "the answer begi"[: 2 * 8]


@pytest.mark.spec("09-C067")
async def test_an_interrupt_in_the_stream_keeps_what_came(dsh, server, endless, check_grammar):
    async with dsh.start("run", "--json-deltas", "question") as running:
        session_id = (await running.line("session"))["sessionId"]
        await running.until(b"er begin")
        running.signal(signal.SIGINT)
        done = await running.end()
    check_grammar(done.lines)
    assert (done.code, done.code_line) == (130, "INTERRUPTED")
    assert "SIGINT" in done.stderr
    assert f"dsh run --resume {session_id}" in done.stderr
    assert done.only("final")["reason"] == "aborted"
    assert done.only("final")["text"] == "the answer begin"
    events = await dsh.balanced(session_id)
    assert last_end(events) == {"kind": "aborted", "reason": {"kind": "user"}}
    kept = [event for event in events if event.type == "assistant/message"]
    assert kept[-1].data["interrupted"] is True
    again = await dsh("run", "--resume", session_id, "go on")
    assert (again.code, again.out) == (0, "better\n")


async def test_an_interrupt_without_json_prints_what_came(dsh, server, endless):
    async with dsh.start("run", "question") as running:
        while not any(b"er begin" in log.read_bytes() for log in dsh.session_files()):
            await asyncio.sleep(0.01)
        running.signal(signal.SIGINT)
        done = await running.end()
    assert (done.code, done.out) == (130, "the answer begin\n")


@pytest.mark.spec("09-C068")
async def test_termination_in_a_tool_ends_its_processes(dsh, server, check_grammar):
    server.enqueue(bash("sleep 600 & echo $! > pid; wait"), text_reply("better"))
    async with dsh.start("run", "--json", "question") as running:
        session_id = (await running.line("session"))["sessionId"]
        pid = await file_with_pid(dsh)
        running.signal(signal.SIGTERM)
        done = await running.end()
    assert await is_gone(pid)
    check_grammar(done.lines)
    assert (done.code, done.code_line) == (143, "INTERRUPTED")
    reason = last_end(await dsh.balanced(session_id))
    assert reason == {"kind": "aborted", "reason": {"kind": "hook", "reason": "SIGTERM"}}
    again = await dsh("run", "--resume", session_id, "go on")
    assert (again.code, again.out) == (0, "better\n")


@pytest.mark.spec("09-C069")
async def test_the_second_interrupt_leaves_at_once(dsh, server):
    server.enqueue(bash(STUBBORN), text_reply("better"))
    async with dsh.start("run", "--json", "question") as running:
        session_id = (await running.line("session"))["sessionId"]
        pid = await file_with_pid(dsh)
        running.signal(signal.SIGINT)
        await running.line("notice")
        running.signal(signal.SIGINT)
        done = await running.end()
    assert done.code == 130
    assert await is_gone(pid), "what it started does not outlive it"
    again = await dsh("run", "--resume", session_id, "go on")
    assert (again.code, again.out) == (0, "better\n")


async def test_interrupts_end_it_although_nobody_reads(dsh, server):
    reader, writer = os.pipe()
    server.enqueue(text_reply("x" * 300_000, chunk_size=1000))
    async with dsh.start("run", "--json-deltas", "question", stdout=writer) as running:
        while select.select([], [writer], [], 0)[1]:
            await asyncio.sleep(0.01)
        # The pipe is full now, so the run waits for its reader and for nothing else.
        while running.process.returncode is None:
            running.signal(signal.SIGINT)
            await asyncio.sleep(0.02)
        assert running.process.returncode == 130
    os.close(writer)
    os.close(reader)


async def test_an_interrupt_before_the_session_leaves_nothing(dsh):
    """A server that does not even list its models keeps the run from having a session."""
    stalled = text_reply("").ending_with("stall", after_parts=1)
    async with MockServer(any_path=True, respond=lambda _: stalled) as server:
        arguments = ("run", "--json", "--base-url", server.base_url, "question")
        async with dsh.start(*arguments) as running:
            while not server.requests:
                await asyncio.sleep(0.01)
            running.signal(signal.SIGINT)
            done = await running.end()
        assert (done.code, done.code_line) == (130, "INTERRUPTED")
        assert [line["type"] for line in done.lines] == ["error"]
        done = await dsh(*arguments, "--timeout", "3")
        assert (done.code, done.code_line) == (124, "TIMEOUT")
    assert dsh.session_files() == []


async def test_an_interrupt_before_anything_runs_is_no_crash(dsh, server):
    server.enqueue(*[text_reply("slow", chunk_delay_s=0.2)] * 3)
    async with dsh.start("run", "question") as running:
        while not dsh.home.exists():
            await asyncio.sleep(0.001)
        running.signal(signal.SIGINT)
        done = await running.end()
    assert (done.code, done.code_line) == (130, "INTERRUPTED")
    assert "Traceback" not in done.stderr


async def test_signals_that_are_ignored_stay_ignored(dsh, server):
    server.enqueue(text_reply("one two three four", chunk_delay_s=0.1))

    def ignore() -> None:
        signal.signal(signal.SIGINT, signal.SIG_IGN)

    async with dsh.start("run", "--json-deltas", "question", preexec_fn=ignore) as running:
        await running.line("delta")
        running.signal(signal.SIGINT)
        assert (await running.end()).code == 0


@pytest.mark.spec("09-C070")
async def test_a_printed_session_can_be_resumed_even_after_a_kill(dsh):
    def answer(request):
        reply = text_reply("the answer")
        is_first = request.json()["messages"][-1]["content"] == "question"
        return reply.ending_with("stall", after_parts=3) if is_first else reply

    async with MockServer(respond=answer) as server:
        dsh.use(server)
        await kill_and_resume(dsh)


async def kill_and_resume(dsh):
    async with dsh.start("run", "--json", "question") as running:
        session_id = (await running.line("session"))["sessionId"]
        running.signal(signal.SIGKILL)
        assert (await running.end()).code == -signal.SIGKILL
    shown = await dsh("sessions", "show", session_id)
    assert shown.code == 0
    assert "> question" in shown.out
    again = await dsh("run", "--json", "--resume", session_id, "go on")
    assert again.code == 0
    assert again.only("session")["resumed"] is True


@pytest.mark.spec("09-C071")
async def test_a_kill_in_a_tool_is_told_to_the_model_and_the_user(dsh, server, check_grammar):
    server.enqueue(bash("echo $$ > pid; sleep 600"), text_reply("I see"))
    async with dsh.start("run", "--json", "question") as running:
        session_id = (await running.line("session"))["sessionId"]
        pid = await file_with_pid(dsh)
        while (await dsh.stored(session_id)).events[-4].type != "tool/call":
            await asyncio.sleep(0.02)
        running.signal(signal.SIGKILL)
        await running.end()
    assert await is_gone(pid)
    (row,) = (await dsh("sessions", "list", "--json")).lines[0]["sessions"]
    assert row["state"] == "interrupted"
    done = await dsh("run", "--json", "--resume", session_id, "what happened?")
    check_grammar(done.lines)
    assert done.code == 0
    assert done.only("notice")["code"] == "SESSION_REPAIRED"
    sent = server.requests[-1].json()["messages"]
    (result,) = [message for message in sent if message["role"] == "tool"]
    assert "outcome is unknown" in result["content"]
    await dsh.balanced(session_id)
    (row,) = (await dsh("sessions", "list", "--json")).lines[0]["sessions"]
    assert row["state"] == "idle"


@pytest.mark.spec("09-C072")
async def test_a_reader_that_leaves_ends_the_run(dsh, server):
    reader, writer = os.pipe()
    server.enqueue(text_reply("x" * 400, chunk_delay_s=0.05))
    async with dsh.start("run", "--json-deltas", "question", stdout=writer) as running:
        os.close(writer)
        head = b""
        while b"\n" not in head:
            head += await asyncio.to_thread(os.read, reader, 4096)
        os.close(reader)
        done = await running.end()
    assert (done.code, done.code_line) == (141, "INTERRUPTED")
    assert "Traceback" not in done.stderr
    session_id = head.partition(b'"sessionId":"')[2].partition(b'"')[0].decode()
    assert last_end(await dsh.balanced(session_id))["kind"] == "aborted"


@pytest.mark.spec("09-C073")
async def test_the_time_limit_ends_the_turn(dsh, server, endless, check_grammar):
    done = await dsh("run", "--json", "--timeout", "4", "question")
    check_grammar(done.lines)
    assert (done.code, done.code_line) == (124, "TIMEOUT")
    assert done.only("final")["text"] == "the answer begin"
    reason = last_end(await dsh.balanced(done.only("final")["sessionId"]))
    assert reason == {"kind": "aborted", "reason": {"kind": "hook", "reason": "timeout"}}


async def test_the_time_limit_counts_for_standard_input_too(dsh):
    reader, writer = os.pipe()
    async with dsh.start("run", "--timeout", "0.3", "question", stdin=reader) as running:
        os.close(reader)
        done = await running.end()
    os.close(writer)
    assert (done.code, done.code_line) == (124, "TIMEOUT")


async def test_a_run_that_waits_for_input_says_so(dsh, server):
    reader, writer = os.pipe()
    server.enqueue(text_reply("ok"))
    async with dsh.start("run", "question", stdin=reader) as running:
        os.close(reader)
        assert running.process.stderr is not None
        assert b"still reading standard input" in await running.process.stderr.read(4096)
        os.close(writer)
        done = await running.end()
    assert (done.code, done.out) == (0, "ok\n")


DEAF = """
import socket, sys, time
socket.getaddrinfo = lambda *_, **__: time.sleep(600)
from harness_plugins.launcher import main
sys.exit(main())
"""


async def test_a_name_server_that_never_answers_does_not_hold_up_the_end(dsh):
    arguments = ("run", "--json", "--base-url", "http://nowhere.invalid/v1", "--model", "m", "x")
    command = (sys.executable, "-c", DEAF)
    async with dsh.start(*arguments, command=command) as running:
        session_id = (await running.line("session"))["sessionId"]
        running.signal(signal.SIGINT)
        done = await running.end()
    assert (done.code, done.code_line) == (130, "INTERRUPTED")
    assert last_end(await dsh.balanced(session_id))["kind"] == "aborted"
