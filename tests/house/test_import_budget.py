"""Importing is cheap: by the list of modules that it must not load, not by a clock."""

from __future__ import annotations

import subprocess
import sys

import pytest

from house.tree import FLOORS, Tree, is_for_tests

# Clients, stores and parsers that a plugin loads when it starts, and everything for tests only.
HEAVY = {
    "aiosqlite",
    "asyncpg",
    "cattrs",
    "difflib",
    "email",
    "http",
    "httpcore",
    "httpx",
    "httpx_sse",
    "hypothesis",
    "jsonschema",
    "mcp",
    "multiprocessing",
    "prompt_toolkit",
    "pytest",
    "requests",
    "rich",
    "sqlite3",
    "starlette",
    "unittest",
    "uvicorn",
    "watchfiles",
    "yaml",
}

SCRIPT = """
import importlib, sys
before = set(sys.modules)
for name in sys.argv[1:]:
    importlib.import_module(name)
print(*sorted(set(sys.modules) - before))
"""


def loaded_by(*modules: str) -> set[str]:
    """Import modules in a fresh interpreter; give everything that came with them."""
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, *modules], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == "", "importing must not print"
    return set(done.stdout.split())


def tops(modules: set[str]) -> set[str]:
    return {name.partition(".")[0] for name in modules}


def shipped(floor: str) -> list[str]:
    """List the importable roots of a floor without test support, which needs pytest."""
    return [
        module
        for module in Tree().public_roots()
        if module.partition(".")[0] == floor and not is_for_tests(module)
    ]


def test_the_kernel_loads_no_other_floor_and_nothing_heavy() -> None:
    loaded = tops(loaded_by("vendor_shims.cordis"))
    assert loaded & (HEAVY | {"anyio", "harness", "harness_plugins", "orjson"}) == set()


def test_harness_loads_no_plugin_and_nothing_heavy() -> None:
    loaded = tops(loaded_by("harness"))
    assert loaded & (HEAVY | {"harness_plugins"}) == set()


@pytest.mark.parametrize("floor", FLOORS)
def test_no_package_loads_anything_heavy_before_it_starts(floor: str) -> None:
    assert tops(loaded_by(*shipped(floor))) & HEAVY == set()


def test_what_dsh_run_mounts_loads_nothing_heavy() -> None:
    assert tops(loaded_by("harness_plugins.launcher.composition")) & HEAVY == set()


def test_a_heavy_import_would_be_seen() -> None:
    assert tops(loaded_by("httpx", "yaml")) & HEAVY >= {"httpx", "yaml"}
