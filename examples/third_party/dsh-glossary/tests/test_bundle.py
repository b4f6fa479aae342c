"""The rows of the bundle, mounted by the loader as a profile mounts them."""

import tomllib
from importlib.resources import files
from pathlib import Path
from pkgutil import resolve_name

from dsh_glossary import Glossary
from harness.tools import ToolRegistry
from harness_plugins import agent_core
from vendor_shims.cordis import Context
from vendor_shims.include import compose, read_layer
from vendor_shims.loader import Loader, LoaderConfig

PROJECT = Path(__file__).parents[1] / "pyproject.toml"


async def test_rows_work_together(tmp_path: Path) -> None:
    """The entry points are read from the project, so that this needs no installation."""
    points = tomllib.loads(PROJECT.read_text(encoding="utf-8"))["project"]["entry-points"]
    package, _, name = points["harness.bundles"]["glossary"].partition(":")
    path = str(files(package).joinpath(name))
    layer = read_layer(path, name="glossary", kind="bundle", required=True)
    assert layer is not None
    async with Context() as root:
        root.plugin(agent_core)
        root.plugin(Loader, LoaderConfig(home=str(tmp_path)))
        await root.settle()
        loader = root[Loader]
        for reference, target in points["harness.plugins"].items():
            loader.resolver.register(reference, resolve_name(target))
        await loader.load_rows(compose([layer]).rows)
        await loader.wait()
        await root.settle()
        names = [schema.name for schema in root[ToolRegistry].schemas()]
        assert names == ["look_up_term", "define_term"]
        await root[Glossary].define("wafer", "a disc")
        await loader.update("glossary-tools", {"config": {"mayDefine": False}})
        assert [schema.name for schema in root[ToolRegistry].schemas()] == ["look_up_term"]
    assert (tmp_path / "py" / "glossary.json").exists()
