"""Management commands work inside a process that goes on afterwards, and leave nothing behind."""

from __future__ import annotations

import os

import pytest

from harness.wire import loads
from harness_plugins.launcher import VERSION, main

COMMANDS = (
    ["version"],
    ["completion", "bash"],
    ["auth", "list"],
    ["models", "--offline"],
    ["tools"],
    ["config", "path"],
    ["config", "check"],
    ["config", "show"],
    ["profile", "list"],
    ["plugin", "list"],
    ["doctor"],
)


@pytest.fixture
def home(monkeypatch, tmp_path):
    """Give the calls a home of their own and no settings of the user."""
    for name in list(os.environ):
        if name.startswith(("DSH_", "DEEPSEEK_")) or name.endswith("_API_KEY"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("DSH_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    return tmp_path / "home"


def test_every_command_can_be_called_twice(home, capfd):
    before = None
    for _ in range(2):
        for arguments in COMMANDS:
            assert main([*arguments, "--json"]) == 0, arguments
            assert isinstance(loads(capfd.readouterr().out), dict)
        after = sorted(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else []
        assert before in (None, after), "no descriptor stays open"
        before = after
    assert not home.exists(), "looking makes nothing"


def test_settings_and_profiles_are_kept_between_calls(home, capfd):
    assert main(["config", "set", "ui.theme", "dark"]) == 0
    assert main(["profile", "new", "work"]) == 0
    capfd.readouterr()
    assert main(["config", "get", "ui.theme"]) == 0
    assert main(["profile", "path", "-p", "work"]) == 0
    assert main(["version"]) == 0
    out = capfd.readouterr().out
    assert out == f"dark\n{home}/py/profiles/work\ndsh {VERSION}\n"


def test_each_complaint_is_one_line_with_at_most_two_hints(home, capfd):
    for arguments, code in (
        (["auth", "nope"], 2),
        (["auth", "rm", "A_KEY"], 4),
        (["config", "get", "ui.theme"], 1),
        (["profile", "path", "nope"], 3),
        (["plugin", "info", "nope"], 3),
        (["models", "--provider", "deepseek"], 4),
    ):
        assert main(arguments) == code
        out, err = capfd.readouterr()
        assert out == ""
        first, *hints = err.rstrip("\n").split("\n")
        assert first.startswith("dsh: ")
        assert len(hints) <= 2
        assert all(hint.startswith("  ") for hint in hints)
