"""What a row keeps of a config by code: no defaults, and expressions as they were written."""

from __future__ import annotations

from typing import Any

import pytest

from vendor_shims.cordis import Context
from vendor_shims.expressions import Expression
from vendor_shims.schema import Secret, config, field

KEY = Expression("env.NAME")
PORT = Expression("env.PORT ?? 80")


@config
class Inner:
    port: int = 80
    tags: list[str] = field(factory=list)


@config
class Taken:
    key: Secret[str]
    port: int | str = 80
    inner: Inner = field(factory=Inner)


@pytest.fixture
async def w(w):
    def apply(_: Context, config: Taken) -> None:
        assert isinstance(config, Taken)

    plugin: Any = apply
    plugin.Config = Taken
    w.loader.resolver.register("taken", plugin)
    return w


@pytest.mark.spec("01-I03")
@pytest.mark.parametrize(
    ("written", "given", "kept"),
    [
        pytest.param(
            {"key": "hush"}, {"key": "hush", "port": 80}, {"key": "hush"}, id="no default"
        ),
        pytest.param(
            {"key": KEY, "port": 1},
            {"key": "it", "port": 2},
            {"key": KEY, "port": 2},
            id="a secret of the environment",
        ),
        pytest.param({"key": KEY}, {"key": "other"}, {"key": "other"}, id="another secret"),
        pytest.param(
            {"key": "${env.NAME}", "port": "${env.PORT}"},
            {"key": "it", "port": 5},
            {"key": "${env.NAME}", "port": 5},
            id="one text of two",
        ),
        pytest.param(
            {"key": "a", "inner": {"port": Expression("env.NONE ?? 80")}},
            {"key": "b", "inner": {"port": 80}},
            {"key": "b", "inner": {"port": Expression("env.NONE ?? 80")}},
            id="a default that an expression means",
        ),
        pytest.param(
            {"key": "a", "inner": {"tags": [KEY, "x"]}},
            {"key": "a", "inner": {"tags": ["it", "y"]}},
            {"key": "a", "inner": {"tags": [KEY, "y"]}},
            id="an item",
        ),
        pytest.param(
            {"key": "a", "inner": {"tags": [KEY, "x"]}},
            {"key": "a", "inner": {"tags": ["it"]}},
            {"key": "a", "inner": {"tags": ["it"]}},
            id="fewer items",
        ),
        pytest.param(
            Expression("{'key': env.NAME}"),
            {"key": "it", "port": 80},
            Expression("{'key': env.NAME}"),
            id="the whole config means the same",
        ),
        pytest.param(
            Expression("{'key': env.NAME}"),
            {"key": "it", "port": 1},
            {"key": "it", "port": 1},
            id="the whole config means something else",
        ),
        pytest.param({"key": KEY}, {"key": PORT}, {"key": PORT}, id="another expression"),
    ],
)
async def test_row_of_a_plugin_with_a_config_class(w, written, given, kept):
    await w.create("taken", config=written)
    await w.fiber("taken").update(given)
    assert w.entry("taken").options["config"] == kept


@pytest.mark.spec("01-I03")
@pytest.mark.parametrize(
    ("written", "given", "kept"),
    [
        ({"a": KEY, "b": 1}, {"a": "it", "b": None}, {"a": KEY, "b": None}),
        ({"a": {"b": KEY}}, {"a": 3}, {"a": 3}),
        ({"a": {"b": KEY}}, {"a": {}}, {"a": {}}),
        ({"a": KEY}, {"c": "it"}, {"c": "it"}),
        (KEY, "it", KEY),
        (KEY, "other", "other"),
    ],
)
async def test_row_of_a_plugin_that_takes_anything(w, written, given, kept):
    await w.create("foo", config=written)
    await w.fiber("foo").update(given)
    assert w.entry("foo").options["config"] == kept
    assert w.fiber("foo").config == given


async def test_expression_that_means_nothing_any_more_gives_way(w):
    w.root.provide("number", 1)
    await w.create("foo", config={"at": Expression("1 // ctx.number"), "b": 1}, inject=["number"])
    w.root.set("number", 0)
    await w.fiber("foo").update({"at": 1, "b": 2})
    assert w.entry("foo").options["config"] == {"at": 1, "b": 2}
