"""On a terminal the answer streams, tools are lines, and Ctrl-C stops the turn."""

from __future__ import annotations

import asyncio
import re

import pytest

from harness.testing import error_reply, text_reply, tool_call_reply

ESCAPES = re.compile(r"\x1b\[[0-9;]*m")


def plain(screen: str) -> str:
    return ESCAPES.sub("", screen)


def bash(command: str, **more):
    return tool_call_reply("bash", {"command": command, "description": "Try it"}, **more)


@pytest.fixture
def dsh(dsh, server):
    dsh.use(server)
    return dsh


async def test_text_streams_and_is_not_repeated(on_terminal, server):
    gate = asyncio.Event()
    server.enqueue(text_reply("first second third").gated(2, gate))
    async with on_terminal("run", "question") as screen:
        await screen.until("first se")
        assert "third" not in screen.screen
        gate.set()
        assert await screen.end() == 0
    assert screen.screen.startswith("first second third\n")
    assert screen.screen.count("second") == 1
    assert "dsh run --resume session-" in screen.screen


async def test_tools_are_single_lines(on_terminal, server):
    server.enqueue(
        bash("echo one\necho two", text="I look."),
        bash("exit 3", call_id="c2"),
        tool_call_reply("read", {"file_path": "missing"}, call_id="c3"),
        text_reply("Done."),
    )
    async with on_terminal("run", "question", columns=40) as screen:
        assert await screen.end() == 0
    rows = plain(screen.screen).split("\n")
    assert rows[:4] == [
        "I look.",
        "→ bash echo one echo two",
        "→ bash exit 3",
        "  bash: exit code 3",
    ]
    assert rows[4].startswith("→ read ")
    assert rows[5].startswith("  read failed: Error: ")
    assert rows[5].endswith("…")
    assert rows[6] == "Done."
    assert all(len(row) <= 40 for row in rows[:7])


@pytest.mark.parametrize("setting", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
async def test_no_styles_where_none_are_wanted(dsh, on_terminal, server, setting):
    dsh.environment |= setting
    server.enqueue(bash("true"), text_reply("done"))
    async with on_terminal("run", "question") as screen:
        assert await screen.end() == 0
    assert "\x1b" not in screen.screen


async def test_text_of_the_model_cannot_drive_the_terminal(on_terminal, server):
    server.enqueue(text_reply("a\x1b[2Jb\x9bc\x07d\re\tf"))
    async with on_terminal("run", "question") as screen:
        assert await screen.end() == 0
    assert screen.screen.startswith("a\ufffd[2Jb\ufffdc\ufffdde\tf\n")


async def test_quiet_shows_the_answer_alone(on_terminal, server):
    server.enqueue(bash("false"), text_reply("done"))
    async with on_terminal("run", "--quiet", "question") as screen:
        assert await screen.end() == 0
    assert screen.screen == "done\n"


async def test_reasoning_is_shown_dimmed_on_demand(on_terminal, server):
    server.enqueue(*[text_reply("answer", reasoning="thinking")] * 2)
    async with on_terminal("run", "question") as screen:
        assert await screen.end() == 0
        assert "thinking" not in screen.screen
    async with on_terminal("run", "--show-reasoning", "question") as screen:
        assert await screen.end() == 0
    assert "\x1b[2mthinking\x1b[0m\nanswer\n" in screen.screen


async def test_a_repeated_request_is_announced(on_terminal, server):
    server.enqueue(error_reply(503, "busy\x1b[2J"), text_reply("here"))
    async with on_terminal("run", "question") as screen:
        assert await screen.end() == 0
    assert re.match(r"retry 1 of 2 in 0\.\d s: SERVER: busy", plain(screen.screen))
    assert "\x1b[2J" not in screen.screen


async def test_a_failure_comes_behind_the_text(on_terminal, server):
    server.enqueue(text_reply("as far as", finish_reason="length"))
    async with on_terminal("run", "question") as screen:
        assert await screen.end() == 6
    assert screen.screen.startswith("as far as\ndsh: MAX_TOKENS: ")
    assert "to go on: dsh run --resume session-" in screen.screen


async def test_ctrl_c_stops_the_turn(dsh, on_terminal, server):
    server.enqueue(text_reply("the answer begins").ending_with("stall", after_parts=3))
    async with on_terminal("run", "question") as screen:
        await screen.until("er begin")
        screen.type("\x03")
        assert await screen.end() == 130
    assert "stopping; Ctrl-C again leaves at once" in screen.screen
    assert "dsh: INTERRUPTED: stopped by SIGINT" in screen.screen
    (row,) = (await dsh("sessions", "list", "--json")).lines[0]["sessions"]
    events = await dsh.balanced(row["id"])
    assert dict(events[-1].data["reason"])["kind"] == "aborted"


async def test_without_a_model_the_guide_answers_and_says_so(dsh, on_terminal):
    del dsh.environment["DEEPSEEK_API_KEY"]
    async with on_terminal("run", "list files") as screen:
        assert await screen.end() == 0
    assert "no model is configured" in screen.screen
    assert "DEEPSEEK_API_KEY" in screen.screen
    assert "→ bash" in screen.screen


async def test_programs_never_get_the_guide_by_accident(dsh, on_terminal):
    del dsh.environment["DEEPSEEK_API_KEY"]
    for form in ("--json", "--events"):
        async with on_terminal("run", form, "list files") as screen:
            assert await screen.end() == 4


async def test_a_task_can_be_typed(on_terminal, server):
    server.enqueue(text_reply("hello yourself"))
    async with on_terminal("run", "-") as screen:
        screen.type("hi\n\x04")
        assert await screen.end() == 0
    assert server.requests[0].json()["messages"][-1]["content"] == "hi"


async def test_a_bare_command_shows_what_there_is(on_terminal):
    async with on_terminal() as screen:
        assert await screen.end() == 2
    assert "dsh sessions list" in screen.screen
    assert "dsh: USAGE: there is no task" in screen.screen


async def test_the_list_fits_the_terminal(dsh, on_terminal, server):
    server.enqueue(text_reply("ok"))
    await dsh("run", "a task with 漢字 and a rather long text " * 9)
    async with on_terminal("sessions", "list", columns=100) as screen:
        assert await screen.end() == 0
    (row, rest) = screen.screen.split("\n")
    assert row.endswith("…")
    assert len(row) <= 100
    assert rest == ""


async def test_tool_lines_follow_stderr_wherever_it_goes(dsh, on_terminal, server):
    """With stderr in a file, the terminal shows the answer and the file the rest, unstyled."""
    script = 'exec "$@" 2>errors'
    server.enqueue(bash("true", reasoning="hm"), text_reply("done"))
    shell = ("/bin/sh", "-c", script, "sh")
    async with on_terminal("run", "--show-reasoning", "question", before=shell) as screen:
        assert await screen.end() == 0
    assert screen.screen == "done\n"
    errors = (dsh.cwd / "errors").read_text()
    assert errors.startswith("hm")
    assert "→ bash true\n" in errors
    assert "\x1b" not in errors


async def test_the_width_may_be_set(dsh, on_terminal, server):
    dsh.environment["COLUMNS"] = "30"
    server.enqueue(bash("echo " + "x" * 200), text_reply("done"))
    async with on_terminal("run", "question", columns=0) as screen:
        assert await screen.end() == 0
    row = plain(screen.screen).split("\n")[0]
    assert len(row) == 30
    del dsh.environment["COLUMNS"]
    server.enqueue(bash("echo " + "x" * 200), text_reply("done"))
    async with on_terminal("run", "question", columns=0) as screen:
        assert await screen.end() == 0
    assert len(plain(screen.screen).split("\n")[0]) == 80
