"""Build small wrong checkouts, to show that each rule finds what it is for."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from house.tree import Tree


@pytest.fixture
def tree_of(tmp_path: Path) -> Callable[[dict[str, str]], Tree]:
    """Write files into an empty folder and read it as a checkout."""

    def build(files: dict[str, str]) -> Tree:
        for name, text in files.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        return Tree(tmp_path)

    return build
