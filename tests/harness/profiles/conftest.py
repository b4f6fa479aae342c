"""A home in a temporary directory, and distributions installed for one profile."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.launch import Home
from harness.profiles import Profile

Install = Callable[..., None]


@pytest.fixture
def home(tmp_path) -> Home:
    return Home(tmp_path / "home", "environment")


@pytest.fixture
def profile(home) -> Profile:
    """Make a profile without bundles whose search path is undone after the test."""
    folder = home.profiles / "p"
    folder.mkdir(parents=True)
    return Profile(name="p", folder=folder, bundles=(), surface="headless")


@pytest.fixture
def install(profile, monkeypatch):
    """Install a distribution into the profile: its files, and its entry points by group."""
    monkeypatch.setattr(sys, "path", [*sys.path])
    before = set(sys.modules)

    def put(
        name: str,
        files: dict[str, str],
        *,
        bundles: dict[str, str] | None = None,
        folder: Path | None = None,
    ) -> None:
        place = folder or profile.site
        for path, text in files.items():
            file = place / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        info = place / f"{name.replace('-', '_')}-1.0.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        points = "".join(f"{key} = {value}\n" for key, value in (bundles or {}).items())
        (info / "entry_points.txt").write_text(f"[harness.bundles]\n{points}")

    yield put
    for module in set(sys.modules) - before:
        if module.startswith("probe_"):
            del sys.modules[module]
