"""Where the log goes: nowhere, to stderr, into a file; and what is told all the same."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest

from harness.testing import text_reply, tool_call_reply
from harness.wire import dumps_text

RUN = ("run", "--offline", "hello")

TALKS = """
def apply(ctx):
    for level in ("error", "warn", "info", "debug"):
        getattr(ctx.logger, level)("this is %s", level)
"""


@pytest.fixture
def talks(dsh) -> Path:
    """Let a plugin of the home log one line of each level."""
    folder = dsh.home / "py"
    folder.mkdir(parents=True)
    (folder / "talks.py").write_text(TALKS)
    (folder / "cordis.patch.yml").write_text("- insert: [{id: talks, name: ./talks.py}]\n")
    return folder


@pytest.mark.usefixtures("talks")
async def test_log_is_not_printed_unless_it_is_wanted(dsh):
    done = await dsh(*RUN)
    assert (done.code, done.stderr) == (0, "")


@pytest.mark.usefixtures("talks")
@pytest.mark.parametrize(("level", "n_lines"), [("error", 1), ("warn", 2), ("info", 3)])
@pytest.mark.parametrize("by", ["option", "environment"])
async def test_least_level_on_stderr(dsh, level, n_lines, by):
    words = ("--log-level", level) if by == "option" else ()
    if by == "environment":
        dsh.environment["DSH_LOG"] = level
    done = await dsh(*words, *RUN)
    assert done.code == 0
    assert done.stderr.count("this is") == n_lines
    assert f"this is {level}" in done.stderr


@pytest.mark.usefixtures("talks")
async def test_log_goes_into_a_file_instead(dsh):
    file = dsh.cwd / "run.log"
    done = await dsh("--log-file", "run.log", *RUN)
    assert (done.code, done.stderr) == (0, "")
    assert file.stat().st_mode & 0o777 == 0o600
    lines = [line for line in file.read_text().splitlines() if "this is" in line]
    assert [line.rpartition(" ")[2] for line in lines] == ["error", "warn", "info"]
    dsh.environment |= {"DSH_LOG_FILE": str(file), "DSH_LOG": "error"}
    done = await dsh("--log-level", "debug", *RUN)
    assert file.read_text().count("this is error") == 2
    assert file.read_text().count("this is debug") == 1
    done = await dsh("--debug", *RUN)
    assert "this is error" in done.stderr
    assert file.read_text().count("this is error") == 3


@pytest.mark.usefixtures("talks")
@pytest.mark.parametrize("command", [("models",), ("tools",)])
async def test_log_of_a_command_that_mounts_the_rows(dsh, command):
    assert (await dsh(*command)).stderr == ""
    done = await dsh(*command, "--log-level", "error")
    assert done.code == 0
    [line] = done.stderr.splitlines()
    assert line.endswith("this is error")


async def test_what_is_no_level_or_no_file_is_said_before_anything_runs(dsh):
    done = await dsh("--log-file", ".", *RUN)
    assert (done.code, done.code_line) == (3, "STORAGE_DENIED")
    assert "Is a directory" in done.stderr
    done = await dsh("--log-level", "loud", *RUN)
    assert (done.code, done.code_line) == (2, "USAGE")
    dsh.environment["DSH_LOG"] = "loud"
    done = await dsh(*RUN)
    assert (done.code, done.code_line) == (3, "CONFIG_INVALID")
    assert "'loud'" in done.stderr
    assert dsh.session_files() == []


async def test_change_that_cannot_be_kept_is_told(dsh, talks):
    (talks / "talks.py").write_text(
        "def apply(ctx, config):\n"
        "    async def change(): await ctx.fiber.update({'x': object()})\n"
        "    if not config: ctx.root.spawn(change)\n"
    )
    before = (talks / "cordis.patch.yml").read_text()
    done = await dsh(*RUN)
    assert done.code == 0
    [line] = done.stderr.splitlines()
    assert line.startswith("dsh: note: changes are not saved: ")
    assert "type object" in line
    assert (await dsh("run", "--quiet", "--offline", "hello")).stderr == ""
    assert (talks / "cordis.patch.yml").read_text() == before


async def test_edit_that_is_no_python_is_told_while_the_old_code_runs(dsh, talks, server):
    dsh.use(server)
    wait = dumps_text({"command": "until [ -e go ]; do sleep 0.02; done", "description": "Wait"})
    server.enqueue(tool_call_reply("bash", wait), text_reply("done"))
    async with dsh.start("--enable", "hmr", "run", "hello") as running:
        while not server.requests:
            await anyio.sleep(0.02)
        (talks / "talks.py").write_text("def apply(ctx:\n")
        errors = b""
        while b"keeps running" not in errors:
            errors += await running.process.stderr.read(4096)
        (dsh.cwd / "go").touch()
        done = await running.end()
    assert done.code == 0, done.stderr
    [line] = (errors.decode() + done.stderr).splitlines()
    assert line.startswith("dsh: note: the code from before keeps running for ")
    assert "SyntaxError: '(' was never closed" in line
    assert f'(File "{talks}/talks.py", line 1)' in line
