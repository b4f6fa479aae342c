"""`dsh` understands its command line, or says which word it does not understand."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from harness.testing import text_reply

HEAVY = {"attr", "attrs", "yaml", "httpx", "anyio", "asyncio", "orjson", "cattrs", "argparse"}
SCRIPT = """
import io, sys
from harness_plugins.launcher import main
code = main(sys.argv[1:])
print("MODULES", *sys.modules, file=sys.stderr)
sys.exit(code)
"""


def loaded_by(*arguments: str, home: Path) -> set[str]:
    """Give the top-level modules that a command needed."""
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, *arguments],
        capture_output=True,
        text=True,
        check=True,
        env={"DSH_HOME": str(home), "PATH": os.environ["PATH"]},
    )
    names = done.stderr.partition("MODULES ")[2].split()
    return {name.partition(".")[0] for name in names}


@pytest.mark.spec("09-C001")
async def test_version_is_one_line_and_loads_nothing_heavy(dsh, tmp_path):
    done = await dsh("--version")
    assert (done.code, done.stderr) == (0, "")
    assert done.out.count("\n") == 1
    assert done.out.startswith("dsh ")
    assert loaded_by("--version", home=tmp_path / "h") & HEAVY == set()
    assert (await dsh("version")).out == done.out
    assert (await dsh("-V")).out == done.out


@pytest.mark.spec("09-C008")
async def test_help_lists_the_options_and_makes_no_home(dsh, tmp_path):
    done = await dsh("run", "--help")
    assert done.code == 0
    for option in ("--json", "--resume", "--base-url", "--max-steps", "--home", "--offline"):
        assert option in done.out
    assert not dsh.home.exists()
    assert loaded_by("run", "--help", home=tmp_path / "h") & HEAVY == set()
    assert "dsh sessions list" in (await dsh("--help")).out
    assert (await dsh("help")).out == (await dsh("--help")).out
    assert "--limit" in (await dsh("sessions", "--help")).out
    assert "--raw" in (await dsh("sessions", "show", "--help")).out


@pytest.mark.spec("09-C002")
@pytest.mark.parametrize("closed", [True, False])
async def test_nothing_to_do_shows_the_help_and_fails(dsh, closed):
    options = {"preexec_fn": lambda: os.close(0)} if closed else {}
    done = await dsh(**options)
    assert done.code == 2
    assert "dsh run" in done.stderr
    assert done.code_line == "USAGE"
    assert done.stdout == b""


@pytest.mark.spec("09-C003")
async def test_a_pipe_is_a_task(dsh, server):
    dsh.use(server)
    server.enqueue(text_reply("hello yourself"))
    done = await dsh(stdin=b"hi\n")
    assert (done.code, done.out, done.stderr) == (0, "hello yourself\n", "")
    assert server.requests[0].json()["messages"][-1]["content"] == "hi"


@pytest.mark.spec("09-C005")
async def test_behind_two_dashes_everything_is_task(dsh, server):
    dsh.use(server)
    server.enqueue(text_reply("ok"))
    done = await dsh("run", "--", "--patch", "-", "--help")
    assert done.code == 0
    assert server.requests[0].json()["messages"][-1]["content"] == "--patch - --help"


@pytest.mark.spec("09-C006")
async def test_an_unknown_command_suggests_the_nearest(dsh):
    done = await dsh("rnu", "x")
    assert (done.code, done.code_line) == (2, "USAGE")
    assert "'rnu'" in done.stderr
    assert "did you mean run?" in done.stderr
    task = await dsh("list the files")
    assert task.code == 2
    assert 'dsh run "' in task.stderr


@pytest.mark.spec("09-C007")
async def test_an_unknown_option_is_named_also_for_programs(dsh):
    done = await dsh("run", "--nope", "x")
    assert (done.code, done.code_line, done.stdout) == (2, "USAGE", b"")
    assert "--nope" in done.stderr
    done = await dsh("run", "--json", "--modle", "x", "task")
    assert done.code == 2
    assert "did you mean --model?" in done.stderr
    assert len(done.lines) == 1
    assert done.only("error")["code"] == "USAGE"


@pytest.mark.spec("09-C009")
async def test_without_a_task_on_a_terminal_an_example_is_shown(on_terminal):
    async with on_terminal("run") as screen:
        assert await screen.end() == 2
        assert "for example: dsh run" in screen.screen


@pytest.mark.spec("09-C010")
@pytest.mark.parametrize("task", ["   ", "", "\n\t"])
async def test_a_blank_task_is_none(dsh, task):
    done = await dsh("run", task)
    assert (done.code, done.code_line) == (2, "USAGE")
    assert not dsh.home.exists()


async def test_headless_is_another_word_for_run(dsh):
    one = await dsh("run", "--offline", "hello")
    other = await dsh("headless", "--offline", "hello")
    assert one.code == other.code == 0
    assert one.out == other.out


@pytest.mark.spec("09-C013")
@pytest.mark.parametrize(
    "arguments",
    [("rnu",), ("run", "x", "--resume", "no-such-session"), ("run", "x", "--provider", "nobody")],
)
async def test_only_debug_shows_where_it_failed(dsh, arguments):
    plain = await dsh(*arguments)
    assert plain.code != 0
    assert "Traceback" not in plain.stderr
    detailed = await dsh(*arguments, "--debug")
    assert detailed.code == plain.code
    assert "Traceback" in detailed.stderr
    dsh.environment["DSH_LOG"] = "debug"
    assert "Traceback" in (await dsh(*arguments)).stderr


@pytest.mark.spec("09-C014")
async def test_standard_input_stands_behind_the_task(dsh, server):
    dsh.use(server)
    server.enqueue(text_reply("ok"), text_reply("ok"), text_reply("ok"))
    await dsh("run", "explain", "this", stdin=b"first\nsecond\n")
    await dsh("run", "explain this", "-", stdin=b"\xef\xbb\xbffirst\r\nsecond")
    await dsh("run", "-", stdin=b"first")
    contents = [request.json()["messages"][-1]["content"] for request in server.requests]
    assert contents == ["explain this\n\nfirst\nsecond"] * 2 + ["first"]


async def test_what_is_no_text_is_refused_and_says_where(dsh):
    done = await dsh("run", "--offline", "explain", stdin=b"ab\xff\xfe")
    assert (done.code, done.code_line) == (2, "USAGE")
    assert "byte 0xff at offset 2" in done.stderr
    assert "iconv" in done.stderr
    done = await dsh("run", "--offline", stdin=b"a\0b")
    assert "NUL at offset 1" in done.stderr
    done = await dsh("run", "--offline", os.fsdecode(b"caf\xe9"))
    assert (done.code, done.code_line) == (2, "USAGE")
    assert "not valid UTF-8" in done.stderr


async def test_a_task_of_a_megabyte_arrives_whole(dsh, server):
    dsh.use(server)
    server.enqueue(text_reply("read it"))
    text = "línea de texto\n" * 70_000
    done = await dsh("run", "count the lines", stdin=text.encode())
    assert (done.code, done.out) == (0, "read it\n")
    sent = server.requests[0].json()["messages"][-1]["content"]
    assert sent == "count the lines\n\n" + text.rstrip("\n")


def test_endless_input_is_refused(dsh):
    with open("/dev/zero", "rb") as zeros:
        done = subprocess.run(
            [sys.executable, "-m", "harness_plugins.launcher", "run", "x"],
            stdin=zeros,
            capture_output=True,
            text=True,
            check=False,
            env=dsh.environment,
        )
    assert done.returncode == 2
    assert "more than 16777216 bytes" in done.stderr


async def test_a_missing_directory_is_refused_before_anything_is_made(dsh, tmp_path):
    done = await dsh("run", "--offline", "--cwd", "gone", "x")
    assert (done.code, done.code_line) == (2, "USAGE")
    assert f"{dsh.cwd}/gone does not exist" in done.stderr
    (dsh.cwd / "file").touch()
    done = await dsh("run", "--offline", "--cwd", "file", "x")
    assert "is no directory" in done.stderr
    assert not dsh.home.exists()


async def test_a_directory_that_was_removed_meanwhile_is_no_crash(dsh):
    script = 'mkdir gone && cd gone && rmdir ../gone && exec "$@"'
    command = ("/bin/sh", "-c", script, "sh", sys.executable, "-m", "harness_plugins.launcher")
    async with dsh.start("run", "--offline", "x", command=command) as running:
        done = await running.end()
    assert (done.code, done.code_line) == (2, "USAGE")
    assert "does not exist any more" in done.stderr


async def test_the_console_script_is_the_same_command(dsh):
    script = Path(sys.executable).with_name("dsh")
    async with dsh.start("--version", command=(str(script),)) as running:
        assert await running.end() == await dsh("--version")


async def test_help_into_a_closed_pipe_is_no_crash(dsh):
    reader, writer = os.pipe()
    os.close(reader)
    done = await dsh("--help", stdout=writer)
    os.close(writer)
    assert (done.code, done.code_line) == (141, "INTERRUPTED")
