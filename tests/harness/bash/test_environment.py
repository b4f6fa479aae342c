from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from types import SimpleNamespace
from typing import Any

import pytest

from harness.bash import BashEnvContributor, BashEnvError, BashEnvRegistry
from vendor_shims.cordis import Context


@pytest.fixture
async def root() -> AsyncIterator[Context]:
    async with Context() as ctx:
        await ctx.plugin(BashEnvRegistry, {"home": "/h"})
        yield ctx


def contributor(
    name: str, values: Mapping[str, Any], declared: Mapping[str, str] | None = None
) -> BashEnvContributor:
    variables = dict.fromkeys(values, "Some meaning.") if declared is None else declared
    return BashEnvContributor(name, variables, lambda _execution: values)


NOBODY: Any = SimpleNamespace(agent=None)


@pytest.mark.spec("07-76")
async def test_variables_are_collected_and_listed_in_order(root) -> None:
    registry = root[BashEnvRegistry]
    registry.register(contributor("z", {"DSH_Z_2": "z", "DSH_A": "a"}))
    registry.register(contributor("silent", {}, {"DSH_MAYBE": "Sometimes."}))
    assert dict(registry.collect(NOBODY)) == {
        "DSH_A": "a",
        "DSH_HOME": "/h",
        "DSH_SHELL": "1",
        "DSH_Z_2": "z",
    }
    assert list(registry.collect(NOBODY)) == sorted(registry.collect(NOBODY))
    listed = [(one.key, one.contributor) for one in registry.list()]
    assert listed == [
        ("DSH_A", "z"),
        ("DSH_HOME", "harness"),
        ("DSH_MAYBE", "silent"),
        ("DSH_SESSION_ID", "harness"),
        ("DSH_SHELL", "harness"),
        ("DSH_WORKSPACE", "harness"),
        ("DSH_Z_2", "z"),
    ]
    with pytest.raises(TypeError):
        registry.collect(NOBODY)["DSH_A"] = "x"


@pytest.mark.parametrize(
    "key", ["FOO", "DSH_foo", "DSH_", "DSH_1", "DSH_A-B", "DSH_HOME", "DSH_SHELL", "DSH_TAKEN", ""]
)
@pytest.mark.spec("07-76")
async def test_bad_reserved_and_taken_keys_are_refused(root, key: str) -> None:
    registry = root[BashEnvRegistry]
    registry.register(contributor("first", {"DSH_TAKEN": "x"}))
    with pytest.raises(BashEnvError, match=repr(key)):
        registry.register(contributor("second", {key: "x"}))
    assert [one.contributor for one in registry.list()].count("second") == 0


@pytest.mark.spec("07-76")
async def test_names_are_unique(root) -> None:
    registry = root[BashEnvRegistry]
    registry.register(contributor("same", {"DSH_A": "x"}))
    for name in ("same", "harness"):
        with pytest.raises(BashEnvError, match=name):
            registry.register(contributor(name, {"DSH_B": "x"}))


@pytest.mark.parametrize(
    ("values", "declared"),
    [({"DSH_B": "x"}, {"DSH_A": "Declared."}), ({"DSH_A": 1}, None), ({"DSH_A": None}, None)],
)
@pytest.mark.spec("07-76")
async def test_contributors_keep_to_what_they_declared(root, values, declared) -> None:
    registry = root[BashEnvRegistry]
    registry.register(contributor("bad", values, declared))
    with pytest.raises(BashEnvError, match="bad"):
        registry.collect(NOBODY)


async def test_a_contributor_goes_with_its_plugin(root) -> None:
    def plugin(ctx: Context) -> None:
        ctx.require("bash_env").register(contributor("mine", {"DSH_MINE": "x"}))

    plugin.inject = ["bash_env"]
    fiber = await root.plugin(plugin)
    assert "DSH_MINE" in root[BashEnvRegistry].collect(NOBODY)
    await fiber.dispose()
    assert "DSH_MINE" not in root[BashEnvRegistry].collect(NOBODY)
