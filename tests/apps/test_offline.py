"""Without a key and without a network the guide drives the real tools."""

from __future__ import annotations

import resource
import stat
import subprocess
import sys

import pytest

NO_SOCKETS = """
import sys
opened = []
def watch(event, arguments):
    if event in ("socket.connect", "socket.getaddrinfo", "socket.bind"):
        opened.append((event, arguments[1:]))
sys.addaudithook(watch)
from harness_plugins.launcher import main
code = main()
print("SOCKETS", opened, "httpx" in sys.modules, file=sys.stderr)
sys.exit(code)
"""


@pytest.mark.spec("09-C066")
async def test_the_guide_answers_without_a_key(dsh):
    done = await dsh("run", "--offline", "hello")
    assert (done.code, done.stderr) == (0, "")
    assert "not a language model" in done.out
    dsh.environment["DSH_OFFLINE"] = "1"
    assert (await dsh("run", "hello")).out == done.out


@pytest.mark.spec("09-C191")
async def test_it_uses_the_real_tools_and_opens_no_connection(dsh, check_grammar):
    (dsh.cwd / "marker.txt").touch()
    command = (sys.executable, "-c", NO_SOCKETS)
    done = await dsh("run", "--offline", "--json", "list files", command=command)
    check_grammar(done.lines)
    assert done.code == 0
    assert "marker.txt" in done.only("tool_result")["result"]
    assert "marker.txt" in done.only("final")["text"]
    assert done.stderr == "SOCKETS [] False\n"


@pytest.mark.spec("09-C192")
async def test_it_answers_the_same_again(dsh):
    def shape(lines):
        changing = {"sessionId", "durationMs"}
        return [
            {key: value for key, value in line.items() if key not in changing} for line in lines
        ]

    (dsh.cwd / "README.md").write_text("# A thing\n\nIt does things.\n")
    one = await dsh("run", "--offline", "--json", "summarise this repository")
    other = await dsh("run", "--offline", "--json", "summarise this repository")
    assert one.code == 0
    assert shape(one.lines) == shape(other.lines)


async def test_the_home_is_made_for_the_user_alone(dsh):
    assert not dsh.home.exists()
    assert (await dsh("run", "--offline", "hello")).code == 0
    assert stat.S_IMODE(dsh.home.stat().st_mode) == 0o700
    (log,) = dsh.session_files()
    assert log.is_relative_to(dsh.home / "py" / "sessions")
    assert stat.S_IMODE(log.stat().st_mode) == 0o600
    assert {path.name for path in log.parent.iterdir()} == {log.name, "session.lock"}


async def test_the_task_may_be_quoted_for_the_shell(dsh):
    done = await dsh("run", "--offline", "run printf '%s' \"a  b\"; exit 4")
    assert done.code == 0, "a command that fails is the model's to judge"
    assert "exit code 4" in done.out
    assert "a  b" in done.out


async def test_files_are_written_and_read(dsh):
    await dsh("run", "--offline", "write notes.txt: remember me")
    assert (dsh.cwd / "notes.txt").read_text().strip() == "remember me"
    done = await dsh("run", "--offline", "read notes.txt")
    assert "remember me" in done.out


async def test_the_guard_of_the_log_finds_nothing_to_say(dsh):
    dsh.environment["DSH_INVARIANTS"] = "1"
    done = await dsh("run", "--offline", "run ls -la")
    assert (done.code, done.stderr) == (0, "")
    done = await dsh("run", "--offline", "--debug", "run ls -la")
    assert done.code == 0
    assert "Traceback" not in done.stderr


async def test_a_command_is_told_where_it_runs(dsh):
    done = await dsh(
        "run", "--offline", "--json", "run echo $DSH_SESSION_ID $DSH_HOME $DSH_WORKSPACE"
    )
    session_id = done.only("session")["sessionId"]
    assert done.only("tool_result")["result"].startswith(f"{session_id} {dsh.home} {dsh.cwd}\n")


def test_a_run_is_small(dsh):
    """The budget is 80 MiB for the whole process; time is measured by the benchmarks."""
    done = subprocess.run(
        [sys.executable, "-m", "harness_plugins.launcher", "run", "--offline", "run true"],
        env={key: value for key, value in dsh.environment.items() if "COVERAGE" not in key},
        cwd=dsh.cwd,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_DATA, (80 * 2**20, 80 * 2**20)),
    )
    assert done.stdout
