"""What documents show is what happens: each block of theirs and each example runs."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from house.documents import Block, anchors, check_links, links, runnable_blocks
from house.tree import ROOT, Tree

BLOCKS = [block for path in Tree().documents() for block in runnable_blocks(path)]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
PRIVATE = ("DEEPSEEK", "OPENAI", "ANTHROPIC", "BASE_URL", "DSH_")


GUARD = "from house import network_guard\n\nnetwork_guard.install()\n"


def run(
    source: str, name: str, home: Path, *, language: str = "python"
) -> subprocess.CompletedProcess[str]:
    """Run a text as a reader would: an empty home, no key, no network, warnings are errors."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith(PRIVATE)}
    environment |= {"HOME": str(home), "PYTHONPATH": str(ROOT / "scripts")}
    command = [sys.executable, "-W", "error", "-m", "house.run_snippet", name]
    if language == "sh":
        command = ["bash", "-euo", "pipefail"]
        environment |= guarded(home)
    return subprocess.run(
        command,
        input=source,
        cwd=home,
        env=environment,
        capture_output=True,
        text=True,
        timeout=45,
        check=False,
    )


def guarded(home: Path) -> dict[str, str]:
    """Let each Python that a shell starts be ours, and keep it from the network."""
    site = home / ".guard"
    site.mkdir()
    (site / "sitecustomize.py").write_text(GUARD, encoding="utf-8")
    scripts = str(Path(sys.executable).parent)
    return {
        "PATH": os.pathsep.join([scripts, os.environ["PATH"]]),
        "PYTHONPATH": os.pathsep.join([str(site), str(ROOT / "scripts")]),
    }


def label(block: Block) -> str:
    return f"{block.path.relative_to(ROOT)}:{block.line}"


@pytest.mark.parametrize("block", BLOCKS, ids=label)
def test_block_runs(block: Block, tmp_path: Path) -> None:
    if block.reason is not None:
        pytest.skip(f"{label(block)}: {block.reason}")
    for name, text in block.files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    done = run(block.source, label(block), tmp_path, language=block.language)
    assert done.returncode == 0, done.stderr
    if block.output is not None:
        assert done.stdout.endswith(block.output), done.stdout


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_example_runs(path: Path, tmp_path: Path) -> None:
    done = run(path.read_text(encoding="utf-8"), str(path), tmp_path)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("source", "code"),
    [
        ("assert 1 + 1 == 2", 0),
        ("import asyncio\nawait asyncio.sleep(0)\nassert __name__ == '__main__'", 0),
        ("assert 1 + 1 == 3", 1),
        ("import asyncio\nawait asyncio.sleep(0)\nraise ValueError", 1),
        ("import warnings\nwarnings.warn('old')", 1),
        ("import socket\nsocket.create_connection(('192.0.2.1', 9), 0.1)", 1),
        ("this is not Python", 1),
    ],
)
def test_a_wrong_block_fails(source: str, code: int, tmp_path: Path) -> None:
    assert run(source, "block", tmp_path).returncode == code


@pytest.mark.parametrize(
    ("source", "code"),
    [
        ("test -d ~ && dsh --version | grep dsh", 0),
        ("false | true", 1),
        ("echo $no_such_variable", 1),
        ("python -c 'import socket; socket.create_connection((\"192.0.2.1\", 9), 0.1)'", 1),
    ],
)
def test_a_shell_block_runs_strictly_and_offline(source: str, code: int, tmp_path: Path) -> None:
    assert run(source, "block", tmp_path, language="sh").returncode == code


def test_blocks_are_read_with_their_marks(tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    path.write_text(
        "```sh\nls\n```\n"
        "```python\nx = 1\n```\n"
        "```python continues\nassert x\n```\n"
        "- item\n\n  ```python no-run: needs a key\n  y\n  ```\n"
        "````python\n'```'\n````\n"
        "```bash continues\ncd\n```\n```json\n{}\n```\n",
        encoding="utf-8",
    )
    read = [(b.line, b.language, b.source, b.reason) for b in runnable_blocks(path)]
    assert read == [
        (1, "sh", "ls\n", None),
        (4, "python", "x = 1\n", None),
        (7, "python", "x = 1\nassert x\n", None),
        (12, "python", "y\n", "needs a key"),
        (15, "python", "'```'\n", None),
        (18, "sh", "ls\ncd\n", None),
    ]


def test_later_blocks_find_files_and_are_held_to_their_output(tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    path.write_text(
        "```sh\nls\n```\n"
        "```python file: a/b.py\nprint(1)\n```\n"
        "```yaml file: c.yml\n- id: x\n```\n"
        "```sh\npython a/b.py\n```\n"
        "```text output\n1\n```\n```text\nnot checked\n```\n",
        encoding="utf-8",
    )
    first, second = runnable_blocks(path)
    assert first.files == {}
    assert first.output is None
    assert second.files == {"a/b.py": "print(1)\n", "c.yml": "- id: x\n"}
    assert second.output == "1\n"


@pytest.mark.parametrize(
    "text",
    [
        "```python no-run\nx\n```\n",
        "```python norun\nx\n```\n",
        "```python continues\nx\n```\n",
        "```python\nx\n",
        "```sh strange\nx\n```\n",
        "```text output\nx\n```\n```sh\nls\n```\n",
        "```python file: a.py\nx\n```\n",
    ],
)
def test_a_wrong_fence_is_refused(text: str, tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=r"a\.md:1: "):
        runnable_blocks(path)


def test_hidden_folders_are_no_documents(tree_of: Callable[[dict[str, str]], Tree]) -> None:
    tree = tree_of({"README.md": "", "docs/a.md": "", "harness/a/README.md": "", ".b/c.md": ""})
    names = [path.relative_to(tree.root).as_posix() for path in tree.documents()]
    assert names == ["README.md", "docs/a.md", "harness/a/README.md"]


def test_links_lead_to_files_and_headings(tree_of: Callable[[dict[str, str]], Tree]) -> None:
    tree = tree_of(
        {
            "README.md": (
                "# The `first`, top\n[a](docs/b.md#two-words) [`x`](docs/) [w](https://a.example/)\n"
                "[b](docs/c.md) `[no](link.md)` ![image](no.png) [self](#the-first-top)\n"
                "```\n[code](none.md)\n# No heading\n```\n[gone](docs/b.md#no-heading)\n"
            ),
            "docs/b.md": "## Two words\n## Two words\n[up](../README.md#no-heading)\n",
        }
    )
    assert anchors(tree.root / "docs/b.md") == {"two-words", "two-words-1"}
    assert len(links(tree.root / "README.md")) == 5
    assert [str(finding) for finding in check_links(tree)] == [
        "README.md:3: 'docs/c.md' leads to no file",
        "README.md:8: 'docs/b.md#no-heading' leads to no heading",
        "docs/b.md:3: '../README.md#no-heading' leads to no heading",
    ]
