"""Read which plugins the distribution offers, and load them."""

from __future__ import annotations

import importlib
import tomllib
from pathlib import Path
from typing import Any, cast

import attrs

GROUP = "harness.plugins"


@attrs.frozen
class Offer:
    """Hold one entry point: the name in configuration files, and where the plugin is."""

    name: str
    reference: str

    @property
    def package(self) -> str:
        """Name the package that the plugin lives in."""
        return self.reference.partition(":")[0]

    def load(self) -> Any:  # noqa: ANN401 - a plugin has any of the forms that the kernel accepts
        """Import the plugin."""
        module, _, name = self.reference.partition(":")
        found = importlib.import_module(module)
        return getattr(found, name) if name else found


def offers(root: Path) -> list[Offer]:
    """List the entry points of a checkout by name, read from `pyproject.toml`."""
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    groups = cast("dict[str, dict[str, str]]", project["project"].get("entry-points", {}))
    return [Offer(name, reference) for name, reference in sorted(groups.get(GROUP, {}).items())]
