"""`dsh plugin new` writes a project that works as it is: tested, linted, installed and booted."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from harness.testing import text_reply, tool_call_reply
from harness.wire import loads

pytestmark = pytest.mark.timeout(180)

PIP = {"PIP_NO_INDEX": "1", "PIP_NO_BUILD_ISOLATION": "0", "PIP_CONFIG_FILE": os.devnull}
"""Build with what the development group has, without an index; "0" is pip's word for that."""

FILES = [
    ".gitignore",
    "README.md",
    "pyproject.toml",
    "src/word_count/__init__.py",
    "src/word_count/patch.yml",
    "src/word_count/py.typed",
    "tests/test_plugin.py",
]
LONGEST = "x-" + "y" * 33


def check(folder: Path, *command: str) -> str:
    """Run a module in a project, which must succeed; give its output."""
    done = subprocess.run(
        [sys.executable, "-m", *command], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


async def test_new_project_is_told_of_and_complete(dsh):
    done = await dsh("plugin", "new", "word-count")
    folder = dsh.cwd / "word-count"
    assert done.code == 0, done.stderr
    assert done.out.startswith(f"made word-count in {folder}\n  .gitignore\n")
    assert f"cd {folder} && {sys.executable} -m pytest\n" in done.out
    assert done.out.endswith(f"dsh plugin add -e {folder}\n")
    there = sorted(path for path in folder.rglob("*") if path.is_file())
    assert [str(path.relative_to(folder)) for path in there] == FILES
    for path in there:
        text = path.read_bytes()
        assert b"{{" not in text, path
        assert b"\r" not in text
    assert not dsh.home.exists(), "a project belongs to no home"
    other = await dsh("plugin", "new", "word-count", "--to", "deep/er/it", "--json")
    assert loads(other.stdout) == {
        "name": "word-count",
        "folder": str(dsh.cwd / "deep" / "er" / "it"),
        "files": FILES,
    }


@pytest.mark.parametrize("name", ["word-count", "a", "plugin", "test-runner", "calls", LONGEST])
async def test_new_project_passes_its_own_tests_and_lint(dsh, name):
    assert (await dsh("plugin", "new", name)).code == 0
    folder = dsh.cwd / name
    told = check(folder, "pytest", "-q", "-W", "error", "-p", "no:cacheprovider")
    assert told.rstrip().split("\n")[-1].startswith("4 passed"), told
    for lint in (("check",), ("format", "--check")):
        check(folder, "ruff", *lint, "--no-cache", "--quiet", ".")


async def test_new_project_installs_boots_and_goes(dsh, server):
    dsh.environment |= PIP
    dsh.use(server)
    before = (await dsh("--dump-config")).stdout
    assert (await dsh("plugin", "new", "word-count")).code == 0
    added = await dsh("plugin", "add", "./word-count")
    assert added.code == 0, added.stderr
    assert "added word-count 0.1.0: layer word-count, plugin word-count\n" in added.out
    shown = (await dsh("--dump-config")).out
    assert "# == bundle word-count\n- id: word-count\n  name: word-count\n" in shown
    assert "\nword_count_words " in (await dsh("tools")).out
    server.enqueue(
        tool_call_reply("word_count_words", {"text": "the quick fox"}), text_reply("done")
    )
    run = await dsh("run", "--strict", "--json", "--set", 'word-count.ignored=["the"]', "count")
    assert run.code == 0, run.stderr
    assert run.only("tool_result")["result"] == "2"
    assert (await dsh("plugin", "remove", "word-count")).code == 0
    assert (await dsh("--dump-config")).stdout == before


async def test_two_new_projects_live_in_one_profile(dsh):
    dsh.environment |= PIP
    for name in ("word-count", "other-count"):
        await dsh("plugin", "new", name)
        assert (await dsh("plugin", "add", "-e", name)).code == 0
    tools = await dsh("tools", "--json")
    names = {tool["name"] for tool in loads(tools.stdout)["tools"]}
    assert {"word_count_words", "other_count_words"} <= names


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("", "at most 35"),
        ("-x", "at most 35"),
        ("Word", "at most 35"),
        ("word_count", "at most 35"),
        ("word--count", "at most 35"),
        ("wört", "at most 35"),
        ("../word", "at most 35"),
        ("word\ncount", "at most 35"),
        ("\x1b[31m", "at most 35"),
        ('a"b', "at most 35"),
        (LONGEST + "y", "at most 35"),
        ("w" * 100_000, "at most 35"),
        ("class", "a word of Python"),
        ("json", "a module"),
        ("harness", "a module"),
        ("vendor-shims", "a module"),
        ("tests", "a module"),
        ("dsh-harness", "a distribution"),
        ("tool-bash", "a plugin or a bundle"),
        ("headless", "a plugin or a bundle"),
        ("bash-env", "a row in a shipped profile"),
    ],
)
async def test_name_that_cannot_be_is_refused(dsh, name, why):
    done = await dsh("plugin", "new", "--", name)
    assert (done.code, done.code_line) == (2, "USAGE")
    assert "cannot be the name of a plugin" in done.stderr
    assert why in done.stderr
    assert "\x1b" not in done.stderr
    assert list(dsh.cwd.iterdir()) == []


async def test_nothing_that_exists_is_touched(dsh):
    (dsh.cwd / "word-count").mkdir()
    (dsh.cwd / "file").write_text("mine")
    (dsh.cwd / "link").symlink_to("nowhere")
    for folder in ("word-count", "file", "link", ".", "/"):
        done = await dsh("plugin", "new", "word-count", "--to", folder)
        assert (done.code, done.code_line) == (2, "USAGE")
        assert "exists already" in done.stderr
    below = await dsh("plugin", "new", "word-count", "--to", "file/below/it")
    assert (below.code, below.code_line) == (3, "STORAGE_DENIED")
    assert f"{dsh.cwd}/file: Not a directory" in below.stderr
    assert sorted(path.name for path in dsh.cwd.iterdir()) == ["file", "link", "word-count"]
    assert list((dsh.cwd / "word-count").iterdir()) == []
    assert (dsh.cwd / "file").read_text() == "mine"


async def test_a_disk_that_refuses_is_left_as_it_was(dsh):
    """A name that no file system takes fails after the folders above it have been made."""
    done = await dsh("plugin", "new", "word-count", "--to", f"a/b/{'c' * 300}")
    assert (done.code, done.code_line) == (3, "STORAGE_DENIED")
    assert "too long" in done.stderr
    assert list(dsh.cwd.iterdir()) == []
    near = f"{dsh.cwd}/{'d' * 200}"
    while len(near) < 4_000 - 201:
        near += f"/{'d' * 200}"
    near += f"/{'d' * (4_080 - len(near))}"
    half = await dsh("plugin", "new", "word-count", "--to", near)
    assert (half.code, half.code_line) == (3, "STORAGE_DENIED")
    assert list(dsh.cwd.iterdir()) == []


@pytest.mark.skipif(
    os.geteuid() == 0 and shutil.which("setpriv") is None,
    reason="without setpriv root cannot give up its right to write anywhere",
)
async def test_a_folder_that_may_not_be_written(dsh):
    """Without privileges a folder with mode 0500 takes nothing."""
    (dsh.cwd / "closed").mkdir(mode=0o500)
    command = (sys.executable, "-m", "harness_plugins.launcher")
    if os.geteuid() == 0:  # root may write anywhere until it gives that right up
        command = ("setpriv", "--bounding-set", "-all", "--inh-caps", "-all", *command)
    async with dsh.start(
        "plugin", "new", "word-count", "--to", "closed/it", command=command
    ) as running:
        done = await running.end()
    assert (done.code, done.code_line) == (3, "STORAGE_DENIED"), done.stderr
    assert list((dsh.cwd / "closed").iterdir()) == []
