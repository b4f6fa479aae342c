"""Management commands: found anywhere on the line, cheap, one document with `--json`."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from harness.wire import loads

SCRIPT = """
import sys
from harness_plugins.launcher import main
code = main(sys.argv[1:])
print("MODULES", *sys.modules, file=sys.stderr)
sys.exit(code)
"""
MODEL = {"harness.llm", "harness_plugins.llm_deepseek", "harness_plugins.agent_loop"}
CLIENT = {"httpx", "httpcore"}
SESSIONS = {"harness.session", "harness.session_persistence", "aiosqlite"}


def loaded_by(*arguments: str, home: Path) -> set[str]:
    """Give the modules that a command needed."""
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, *arguments],
        capture_output=True,
        text=True,
        check=True,
        stdin=subprocess.DEVNULL,
        cwd=home.parent,
        env={"DSH_HOME": str(home), "PATH": os.environ["PATH"]},
    )
    return set(done.stderr.partition("MODULES ")[2].split())


@pytest.mark.parametrize(
    ("arguments", "unwanted"),
    [
        (("version",), MODEL | CLIENT | SESSIONS | {"yaml", "attr", "asyncio", "orjson"}),
        (("completion", "bash"), MODEL | CLIENT | SESSIONS | {"yaml", "attr", "asyncio"}),
        (("auth", "--help"), MODEL | CLIENT | SESSIONS | {"yaml", "attr", "asyncio"}),
        (("auth", "list"), MODEL | CLIENT | SESSIONS | {"yaml"}),
        (("doctor",), MODEL | CLIENT | SESSIONS),
        (("config", "set", "ui.theme", "dark"), MODEL | CLIENT | SESSIONS),
        (("profile", "list"), MODEL | CLIENT | SESSIONS),
        (("plugin", "list"), MODEL | CLIENT | SESSIONS),
        (("models", "--offline"), CLIENT),
        (("tools",), CLIENT),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_a_command_loads_only_what_it_needs(tmp_path, arguments, unwanted):
    assert loaded_by(*arguments, home=tmp_path / "home") & unwanted == set()


@pytest.mark.parametrize(
    "arguments",
    [
        ("version",),
        ("completion", "zsh"),
        ("auth", "list"),
        ("doctor",),
        ("tools",),
        ("models", "--offline"),
        ("config", "path"),
        ("config", "check"),
        ("profile", "list"),
        ("profile", "path"),
        ("plugin", "list"),
    ],
    ids=" ".join,
)
async def test_json_is_one_document_wherever_the_option_stands(dsh, arguments):
    behind = await dsh(*arguments, "--json")
    before = await dsh("--json", *arguments)
    assert behind.code == before.code == 0, behind.stderr
    assert isinstance(loads(behind.stdout), dict)
    assert behind.stdout.count(b"\n") == 1
    assert before.stdout.count(b"\n") == 1


async def test_launcher_options_stand_anywhere(dsh, tmp_path):
    home = str(tmp_path / "other")
    for arguments in (
        ("--home", home, "profile", "path"),
        ("profile", f"--home={home}", "path"),
        ("profile", "path", "--home", home, "--debug"),
        ("-p", "sdk-minimal", "profile", "--home", home, "path", "headless"),
    ):
        done = await dsh(*arguments)
        assert done.out == f"{home}/py/profiles/headless\n", done.stderr
    done = await dsh("profile", "path", "-p", "sdk-minimal", "--home", home)
    assert done.out.endswith("/profiles/sdk-minimal\n")
    dsh.environment["DSH_PROFILE"] = "sdk-minimal"
    assert (await dsh("profile", "path")).out.endswith("/profiles/sdk-minimal\n")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("atuh", "list"), "unknown command 'atuh'; did you mean auth?"),
        (("auth", "lst"), "dsh auth has no 'lst'; did you mean list?"),
        (("auth", "frobnicate"), "there are: set, list, rm, check"),
        (("auth",), "ACTION"),
        (("tools", "--shema"), "dsh tools does not take --shema; did you mean --schema?"),
        (("tools", "more", "words"), "dsh tools does not take more words"),
        (("tools", "--home"), "--home needs a value"),
        (("tools", "--home", "--json"), "--home needs a value"),
        (("tools", "--dump-config"), "--dump-config prints the rows of a profile"),
        (("completion", "tcsh"), "dsh completion has no 'tcsh'"),
        (("doctor", "--net", "--offline"), "contradict"),
        (("auth", "check", "--offline"), "--offline forbids"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
async def test_what_is_not_understood_is_named(dsh, arguments, words):
    done = await dsh(*arguments)
    assert (done.code, done.code_line) == (2, "USAGE")
    assert words in done.stderr
    assert "Traceback" not in done.stderr
    assert not dsh.home.exists()


async def test_help_of_every_command(dsh):
    everything = (await dsh("--help")).out
    for name in ("auth", "models", "tools", "config", "profile", "plugin", "doctor", "completion"):
        assert f"\n  {name} " in everything
        for arguments in ((name, "--help"), ("--help", name), (name, "-h")):
            done = await dsh(*arguments)
            assert (done.code, done.stderr) == (0, "")
            assert done.out.startswith(f"usage: dsh {name}")
            assert "--home DIR" in done.out
    assert "NAME" in (await dsh("auth", "set", "--help")).out
    assert not dsh.home.exists()


async def test_a_removed_directory_is_no_crash(dsh):
    script = 'mkdir gone && cd gone && rmdir ../gone && exec "$@"'
    command = ("/bin/sh", "-c", script, "sh", sys.executable, "-m", "harness_plugins.launcher")
    async with dsh.start("doctor", command=command) as running:
        done = await running.end()
    assert (done.code, done.code_line) == (2, "USAGE")


async def test_nobody_reads_the_answer(dsh):
    reader, writer = os.pipe()
    os.close(reader)
    done = await dsh("doctor", stdout=writer)
    os.close(writer)
    assert (done.code, done.code_line) == (141, "INTERRUPTED")


async def complete(dsh, script: Path, *words: str) -> list[str]:
    """Ask bash what may stand in the place of the last word."""
    line = " ".join(f"'{word}'" for word in ("dsh", *words))
    program = f"""
        source {script}
        COMP_WORDS=({line}); COMP_CWORD={len(words)}
        _dsh
        printf '%s\\n' "${{COMPREPLY[@]}}"
    """
    async with dsh.start("-c", program, command=("/bin/bash",)) as running:
        return (await running.end()).out.split()


async def test_bash_completes_commands_actions_and_options(dsh, tmp_path):
    script = tmp_path / "dsh.bash"
    script.write_bytes((await dsh("completion", "bash")).stdout)
    assert {"run", "sessions", "auth", "plugin", "help"} <= set(await complete(dsh, script, ""))
    assert await complete(dsh, script, "doc") == ["doctor"]
    actions = await complete(dsh, script, "auth", "")
    assert [word for word in actions if word[0] != "-"] == ["set", "list", "rm", "check"]
    assert await complete(dsh, script, "auth", "check", "--base") == ["--base-url"]
    assert await complete(dsh, script, "--home", "x", "profile", "re") == ["reset"]
    assert await complete(dsh, script, "sessions", "show", "--r") == ["--raw"]
    assert await complete(dsh, script, "run", "--max-s") == ["--max-steps"]
    assert await complete(dsh, script, "completion", "f") == ["fish"]


@pytest.mark.parametrize("shell", ["zsh", "fish"])
async def test_other_shells_accept_their_script(dsh, tmp_path, shell):
    text = (await dsh("completion", shell)).out
    for word in ("doctor", "base-url", "unset", "max-steps"):
        assert word in text
    program = shutil.which(shell)
    if program is None:
        pytest.skip(f"{shell} is not installed here")
    script = tmp_path / "script"
    script.write_text(text)
    async with dsh.start("-n", str(script), command=(program,)) as running:
        done = await running.end()
    assert (done.code, done.stderr) == (0, "")
