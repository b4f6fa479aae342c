"""The function behind the command can be called, and keeps to its descriptors."""

from __future__ import annotations

import os
import signal
import tomllib
from pathlib import Path

import pytest

from harness_plugins.launcher import VERSION, main

ROOT = Path(__file__).parents[3]


@pytest.fixture
def clean(monkeypatch, tmp_path):
    """Give the call a home of its own and no settings of the user."""
    for name in list(os.environ):
        if name.startswith(("DSH_", "DEEPSEEK_", "OPENAI_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("DSH_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_version_is_that_of_the_distribution():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["version"] == VERSION
    assert project["scripts"]["dsh"] == "harness_plugins.launcher:main"


def test_it_returns_the_exit_code_and_writes_to_the_descriptors(clean, capfd):
    assert main(["--version"]) == 0
    assert capfd.readouterr() == (f"dsh {VERSION}\n", "")
    assert main(["run", "--offline", "hello"]) == 0
    out, err = capfd.readouterr()
    assert "not a language model" in out
    assert err == ""


def test_it_can_be_called_again_and_again(clean, capfd):
    for _ in range(3):
        assert main(["run", "--offline", "run echo hi"]) == 0
        assert "hi" in capfd.readouterr().out
    assert main(["sessions", "list"]) == 0
    assert capfd.readouterr().out.count("run echo hi") == 3


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["atuh"], 2, "unknown command"),
        (["run", "x"], 4, "DEEPSEEK_API_KEY"),
        (["run", "--offline", "--resume", "session-none", "x"], 7, "no stored session"),
        (["run", "--offline", "--effort", "high", "x"], 2, "reasoning effort"),
    ],
)
def test_complaints_are_one_line_with_hints_below(clean, capfd, arguments, code, words):
    assert main(arguments) == code
    out, err = capfd.readouterr()
    assert out == ""
    first, *hints = err.rstrip("\n").split("\n")
    assert first.startswith("dsh: ")
    assert words in first
    assert len(hints) <= 2
    assert all(hint.startswith("  ") for hint in hints)


def test_no_directory_is_left_open_and_no_handler_changed(clean, capfd):
    handlers = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    main(["run", "--offline", "hello"])
    before = sorted(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else []
    main(["run", "--offline", "run echo hi"])
    after = sorted(os.listdir("/proc/self/fd")) if before else []
    assert before == after
    assert [signal.getsignal(n) for n in (signal.SIGINT, signal.SIGTERM)] == handlers


def test_a_boot_report_that_cannot_be_written_is_not_missed(clean, capfd):
    (clean / "home" / "py").mkdir(parents=True)
    (clean / "home" / "py" / "sessions").write_text("a file")
    (clean / "home" / "py" / "logs").write_text("a file")
    assert main(["run", "--offline", "hello"]) == 3
    err = capfd.readouterr().err
    assert err.startswith("dsh: BOOT: 1 plugin failed")
    assert "--debug" in err


def test_an_unforeseen_failure_is_called_a_defect(clean, capfd, monkeypatch):
    """Only what nobody thought of ends here, such as an environment that changes meanwhile."""
    monkeypatch.setenv("DSH_HOME", "~/x")
    monkeypatch.delenv("HOME", raising=False)
    monkeypatch.setattr(Path, "home", _broken)
    assert main(["run", "--offline", "hello"]) == 1
    err = capfd.readouterr().err
    assert err.startswith("dsh: INTERNAL: ZeroDivisionError: ")
    assert "--debug" in err


def _broken() -> Path:
    raise ZeroDivisionError("nobody thought of this")
