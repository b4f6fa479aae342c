"""The public surface is what the snapshot says, and every name of it is really there."""

from __future__ import annotations

import importlib
from collections.abc import Callable

import pytest

from house import surface
from house.shape import public_names
from house.tree import Tree

ROOTS = Tree().public_roots()


def test_the_public_surface_changes_only_on_purpose() -> None:
    expected = surface.SNAPSHOT.read_text(encoding="utf-8").split("\n")
    found = surface.render(Tree()).split("\n")
    added = sorted(set(found) - set(expected))
    removed = sorted(set(expected) - set(found))
    assert found == expected, (
        f"the public surface changed; if that is meant, run `make surface` and commit the diff.\n"
        f"added: {added}\nremoved: {removed}"
    )


@pytest.mark.parametrize("module", ROOTS)
def test_every_public_name_is_there(module: str) -> None:
    found = importlib.import_module(module)
    missing = [name for name in public_names(ROOTS[module]) if not hasattr(found, name)]
    assert missing == []


def test_a_surface_lists_roots_and_contract_suites_but_no_inner_module(
    tree_of: Callable[[dict[str, str]], Tree],
) -> None:
    tree = tree_of(
        {
            "harness/b/__init__.py": '__all__ = ["B", "A"]\n',
            "harness/b/inner.py": '__all__ = ["C"]\n',
            "harness/b/testing.py": '__all__ = ["D"]\n',
            "harness/a.py": '__all__ = ["E"]\n',
        }
    )
    assert surface.render(tree).split("\n")[1:] == [
        "harness.a.E",
        "harness.b.A",
        "harness.b.B",
        "harness.b.testing.D",
        "",
    ]
