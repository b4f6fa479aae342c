"""Settings decide what a run does: set by the command, edited by hand, damaged, while it runs."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest

from harness.testing import text_reply, tool_call_reply
from harness.wire import loads

ASK = {"command": "true", "description": "Do nothing"}


@pytest.fixture
def endless(dsh, server):
    """A model that calls a tool for ever."""
    dsh.use(server)
    for _ in range(20):
        server.enqueue(tool_call_reply("bash", ASK))
    return server


async def test_setting_bounds_a_run(dsh, endless):
    assert (await dsh("config", "set", "agent-loop.maxStepsPerTurn", "2")).code == 0
    done = await dsh("run", "go")
    assert (done.code, done.code_line) == (1, "MAX_STEPS")
    assert len(endless.requests) == 2
    done = await dsh("run", "--max-steps", "3", "go")
    assert len(endless.requests) == 5
    assert "maxStepsPerTurn: 2" in (await dsh("--dump-config")).out
    assert "maxStepsPerTurn" not in (await dsh("--dump-default-config")).out
    assert (await dsh("config", "check")).code == 0
    assert (await dsh("config", "unset", "agent-loop.maxStepsPerTurn")).code == 0
    assert "maxStepsPerTurn: 2" not in (await dsh("--dump-config")).out


async def test_wrong_setting_names_file_line_and_key(dsh):
    done = await dsh("config", "set", "agent-loop.maxSteps", "2")
    assert done.code == 0
    assert "settings.yaml:2:3: row 'agent-loop': $.maxSteps unknown key" in done.stderr
    done = await dsh("config", "set", "agent-lop.maxSteps", "2", "--json")
    assert "did you mean agent-loop?" in loads(done.stdout)["problems"][0]
    assert (await dsh("config", "unset", "agent-lop")).code == 0
    file = dsh.home / "settings.yaml"
    done = await dsh("run", "--offline", "hello")
    assert (done.code, done.code_line) == (3, "BOOT")
    assert "maxStepsPerTurn" in done.stderr  # the key that was meant
    assert "settings.yaml:2" in done.stderr
    [line] = (await dsh("config", "check")).out.splitlines()
    assert line.startswith(f"CONFIG_INVALID: {file}:2:3: row 'agent-loop': ")
    assert (await dsh("run", "--offline", "--no-user-config", "hello")).code == 0


@pytest.mark.parametrize(
    ("content", "place"),
    [
        (b'agent-loop:\n  maxStepsPerTurn: "2', ":2:"),
        (b"agent-loop: {maxStepsPerTurn: 2", ":1:"),
        (b"agent-loop:\n  maxStepsPerTurn: 2\nagent-loop: {}\n", ":3:"),
        (b"agent-loop:\n  a: \xff\n", ":2:"),
        (b"agent-loop: 7\n", ":1: section agent-loop: expected a mapping"),
    ],
)
async def test_damaged_settings_stop_the_run_and_are_left_alone(dsh, content, place):
    file = dsh.home / "settings.yaml"
    dsh.home.mkdir(parents=True)
    file.write_bytes(content)
    done = await dsh("run", "--offline", "hello")
    assert (done.code, done.code_line) == (3, "CONFIG_INVALID")
    assert f"{file}{place}" in done.stderr
    assert f"{file}{place}" in (await dsh("config", "check")).out
    assert (await dsh("run", "--offline", "--no-user-config", "hello")).code == 0
    assert file.read_bytes() == content


async def test_byte_order_mark_and_foreign_sections_are_fine(dsh, endless):
    dsh.home.mkdir(parents=True)
    text = "\ufeff# mine\nui: {theme: dark}\nagent-loop: {maxStepsPerTurn: 1}\n"
    (dsh.home / "settings.yaml").write_text(text)
    done = await dsh("--strict", "run", "go")
    assert (done.code, done.code_line) == (1, "MAX_STEPS")
    assert len(endless.requests) == 1


async def test_setting_is_taken_while_a_run_goes_on(dsh, server):
    dsh.use(server)
    wait = {"command": "until [ -e go ]; do sleep 0.02; done", "description": "Wait"}
    server.enqueue(tool_call_reply("bash", wait), text_reply("done"))
    marks = dsh.home / "marks"
    mine = Path(dsh.home / "py" / "mine.py")
    mine.parent.mkdir(parents=True)
    mine.write_text(f"def apply(ctx, config): open({str(marks)!r}, 'a').write(f'{{config}} ')\n")
    rows = "- {id: hmr, disabled: false}\n- insert: [{id: mine, name: ./mine.py, config: {}}]\n"
    mine.with_name("cordis.patch.yml").write_text(rows)
    async with dsh.start("run", "hello") as running:
        while not server.requests:
            await anyio.sleep(0.02)
        assert (await dsh("config", "set", "mine.size", "3")).code == 0
        while marks.read_text() != "{} {'size': 3} ":
            await anyio.sleep(0.02)
        (dsh.cwd / "go").touch()
        done = await running.end()
    assert (done.code, done.stderr) == (0, "")
