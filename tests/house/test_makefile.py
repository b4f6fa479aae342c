"""`make run` hands any task to the command as it was written, and sets up only what it needs."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from house.tree import ROOT

DSH = """#!/bin/sh
exec python3 -c 'import json, os, sys
print(json.dumps([sys.argv[1:], sorted(k for k in os.environ if k.startswith(("RUN_", "MAKE")))]))
' "$@"
"""

HOSTILE = [
    "list the files",
    "say \"hello\" and 'bye' and `pwd`",
    "costs $5, $$ and ${HOME} and $(touch made) and $(shell touch made)",
    "two\nlines\n\n  and more\n",
    "--patch",
    "a # b ; c && d | e > made \\ \\n % * ? [x] {a,b} !! ~ \\",
    "ünïcode 漢字 🙂",
    "x" * 20_000,
]


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """Copy the Makefile beside an environment that counts as set up, with a `dsh` that echoes."""
    shutil.copy(ROOT / "Makefile", tmp_path)
    (tmp_path / "pyproject.toml").touch()
    command = tmp_path / ".venv" / "bin" / "dsh"
    command.parent.mkdir(parents=True)
    command.write_text(DSH, encoding="utf-8")
    command.chmod(0o755)
    (tmp_path / ".venv" / ".installed").touch()
    return tmp_path


def make(checkout: Path, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    keep = {"PATH", "HOME", "LANG"}
    environment = {key: value for key, value in os.environ.items() if key in keep} | variables
    return subprocess.run(
        ["make", "--silent", *arguments],
        cwd=checkout,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


def arguments_of(done: subprocess.CompletedProcess[str]) -> list[str]:
    assert done.returncode == 0, done.stderr
    arguments, leftover = json.loads(done.stdout)
    assert leftover == [], "the command sees the environment of the user, not of make"
    return arguments


@pytest.mark.parametrize("task", HOSTILE)
@pytest.mark.parametrize("way", ["argument", "environment"])
def test_a_task_arrives_as_it_was_written(checkout: Path, task: str, way: str) -> None:
    if way == "argument":
        done = make(checkout, "run", f"TASK={task}")
    else:
        done = make(checkout, "run", TASK=task)
    assert arguments_of(done) == ["run", "--offline", "--", task]
    assert not (checkout / "made").exists(), "nothing of a task is executed on the way"


def test_a_server_and_a_model_are_passed_on(checkout: Path) -> None:
    url, model = "http://127.0.0.1:8080/v1?a=$(touch made)", "a model's name"
    expected = ["run", "--base-url", url, "--model", model, "--", "x"]
    as_arguments = make(checkout, "run", "TASK=x", f"BASE_URL={url}", f"MODEL={model}")
    as_environment = make(checkout, "run", "TASK=x", BASE_URL=url, MODEL=model)
    assert arguments_of(as_arguments) == expected
    assert arguments_of(as_environment) == expected
    assert not (checkout / "made").exists()


def test_a_key_reaches_the_hosted_model(checkout: Path) -> None:
    done = make(checkout, "run", "TASK=x", DEEPSEEK_API_KEY="k")
    assert arguments_of(done) == ["run", "--", "x"]


def test_without_a_task_the_usage_is_shown(checkout: Path) -> None:
    done = make(checkout, "run")
    assert done.returncode == 2
    assert 'make run TASK="' in done.stderr


def test_a_changed_project_file_makes_the_environment_stale(checkout: Path) -> None:
    stamp = checkout / ".venv" / ".installed"
    os.utime(stamp, (1, 1))
    plan = make(checkout, "--dry-run", "run", "TASK=x").stdout
    assert "pip install --quiet --editable ." in plan
    assert "--group dev" not in plan, "a run needs no development tools"


def test_help_lists_each_public_target(checkout: Path) -> None:
    listed = make(checkout, "help").stdout
    for target in ("run", "test", "check", "lint", "types", "format", "bench", "fuzz", "clean"):
        assert f"make {target} " in listed
