"""What documents show is what happens: each Python block of theirs and each example runs."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from house.documents import Block, python_blocks
from house.tree import ROOT, Tree

BLOCKS = [block for path in Tree().documents() for block in python_blocks(path)]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
PRIVATE = ("DEEPSEEK", "OPENAI", "ANTHROPIC", "BASE_URL", "DSH_")


def run(source: str, name: str, home: Path) -> subprocess.CompletedProcess[str]:
    """Run a text as a reader would: an empty home, no key, no network, warnings are errors."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith(PRIVATE)}
    environment |= {"HOME": str(home), "PYTHONPATH": str(ROOT / "scripts")}
    return subprocess.run(
        [sys.executable, "-W", "error", "-m", "house.run_snippet", name],
        input=source,
        cwd=home,
        env=environment,
        capture_output=True,
        text=True,
        timeout=45,
        check=False,
    )


def label(block: Block) -> str:
    return f"{block.path.relative_to(ROOT)}:{block.line}"


@pytest.mark.parametrize("block", BLOCKS, ids=label)
def test_block_runs(block: Block, tmp_path: Path) -> None:
    if block.reason is not None:
        pytest.skip(f"{label(block)}: {block.reason}")
    done = run(block.source, label(block), tmp_path)
    assert done.returncode == 0, done.stderr


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


def test_blocks_are_read_with_their_marks(tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    path.write_text(
        "```sh\nls\n```\n"
        "```python\nx = 1\n```\n"
        "```python continues\nassert x\n```\n"
        "- item\n\n  ```python no-run: needs a key\n  y\n  ```\n"
        "````python\n'```'\n````\n",
        encoding="utf-8",
    )
    assert [(block.line, block.source, block.reason) for block in python_blocks(path)] == [
        (4, "x = 1\n", None),
        (7, "x = 1\nassert x\n", None),
        (12, "y\n", "needs a key"),
        (15, "'```'\n", None),
    ]


@pytest.mark.parametrize(
    "text",
    [
        "```python no-run\nx\n```\n",
        "```python norun\nx\n```\n",
        "```python continues\nx\n```\n",
        "```python\nx\n",
    ],
)
def test_a_wrong_fence_is_refused(text: str, tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=r"a\.md:1: "):
        python_blocks(path)


def test_hidden_folders_are_no_documents(tree_of: Callable[[dict[str, str]], Tree]) -> None:
    tree = tree_of({"README.md": "", "docs/a.md": "", "harness/a/README.md": "", ".b/c.md": ""})
    names = [path.relative_to(tree.root).as_posix() for path in tree.documents()]
    assert names == ["README.md", "docs/a.md", "harness/a/README.md"]
