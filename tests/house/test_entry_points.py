"""Every advertised plugin can be found by its name and mounted."""

import tomllib
from importlib import import_module
from pathlib import Path

import pytest

from vendor_shims.cordis import Registry

ROOT = Path(__file__).parents[2]
PLUGINS: dict[str, str] = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"][
    "entry-points"
]["harness.plugins"]


@pytest.mark.parametrize("name", sorted(PLUGINS))
def test_entry_point_names_a_plugin(name: str) -> None:
    module, _, attribute = PLUGINS[name].partition(":")
    plugin = import_module(module)
    if attribute:
        plugin = getattr(plugin, attribute)
    assert Registry().get(plugin) is None  # a look-up refuses what is no plugin
