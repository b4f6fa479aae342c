"""Rows whose config or switch is computed when they start."""

from __future__ import annotations

from typing import Any

import pytest

from vendor_shims.cordis import Context, FiberState, Service
from vendor_shims.expressions import Expression, config_readable
from vendor_shims.loader import EntryError


class Web(Service):
    key = "web"

    def __init__(self, ctx: Context, config: Any = None) -> None:
        super().__init__(ctx)
        self._port = config

    @config_readable
    def port(self) -> Any:
        return self._port


@pytest.fixture
async def w(w):
    w.loader.resolver.register("web", Web)
    return w


PORT = Expression("ctx.web.port()")


@pytest.mark.spec("01-I29", "01-K03")
async def test_config_reads_an_injected_service_when_it_is_there(w):
    await w.create("foo", config={"at": PORT}, inject=["web"])
    assert w.fiber("foo").state is FiberState.PENDING
    await w.create("web", config=8080)
    await w.settle()
    assert w.taken() == ["+foo {'at': 8080}"]
    await w.loader.update("web", {"config": 9090})
    await w.settle()
    assert w.taken() == ["-foo", "+foo {'at': 9090}"]
    assert w.entry("foo").options["config"] == {"at": PORT}
    assert w.fiber("foo").raw_config == {"at": PORT}


@pytest.mark.spec("01-I29")
async def test_expression_that_fails_fails_its_row_alone_until_the_provider_changes(w):
    await w.create("bar")
    await w.create("web", config=[])
    picky = Expression("10 // ctx.web.port()")
    with pytest.raises(EntryError, match="foo"):
        await w.create("foo", config={"at": picky}, inject=["web"])
    await w.loader.update("web", {"config": 5})
    await w.create("foo", config={"at": picky}, inject=["web"])
    w.taken()
    await w.loader.update("web", {"config": 0})
    await w.settle()
    assert w.fiber("foo").state is FiberState.FAILED
    assert w.fiber("bar").state is FiberState.ACTIVE
    await w.loader.update("web", {"config": 2})
    await w.settle()
    assert w.taken() == ["-foo", "+foo {'at': 5}"]


@pytest.mark.spec("01-K03")
async def test_service_that_the_row_does_not_inject_is_refused_by_name(w):
    await w.create("web", config=1)
    with pytest.raises(EntryError, match=r"foo.*without inject"):
        await w.create("foo", config={"at": PORT})


@pytest.mark.spec("01-I30")
async def test_only_the_plugin_of_the_row_is_interpolated(w):
    seen: list[Any] = []

    def child(ctx: Context, config: Any) -> None:
        seen.append(config)

    def parent(ctx: Context, config: Any) -> None:
        seen.append(config)
        ctx.plugin(child, {"env": Expression("env.PORT"), "text": "${env.PORT}"})

    w.loader.resolver.register("parent", parent)
    await w.create("parent", config={"env": Expression("env.PORT"), "text": "at ${env.PORT}"})
    await w.settle()
    assert seen == [
        {"env": "8080", "text": "at 8080"},
        {"env": Expression("env.PORT"), "text": "${env.PORT}"},
    ]


@pytest.mark.spec("01-I30")
async def test_group_leaves_the_expressions_of_its_rows_to_them(w):
    row = {"id": "foo", "name": "foo", "config": {"at": Expression("env.PORT")}}
    await w.create("g", name="cordis:group", group=True, config=[row])
    assert w.taken() == ["+foo {'at': '8080'}"]
    assert w.entry("foo").options["config"] == {"at": Expression("env.PORT")}


@pytest.mark.spec("01-I31")
async def test_switch_is_evaluated_at_each_decision(w):
    off = Expression('env.PORT == "8080"')
    await w.create("foo", disabled=off)
    assert w.entry("foo").fiber is None
    assert w.entry("foo").options["disabled"] == off
    await w.loader.update("foo", {"disabled": Expression('env.PORT == "1"')})
    assert w.taken() == ["+foo"]
    await w.loader.update("foo", {"disabled": "${env.PORT == '8080'}"})
    assert w.taken() == ["-foo"]


@pytest.mark.spec("01-I31")
async def test_switch_that_cannot_be_evaluated_is_an_error_of_the_row(w):
    with pytest.raises(EntryError, match="failed to apply loader entry foo"):
        await w.create("foo", disabled=Expression("1 // 0"))
    assert list(w.loader.entries()) == []
    await w.create("foo")
    with pytest.raises(EntryError):
        await w.loader.update("foo", {"disabled": Expression("1 // 0")})
    assert w.fiber("foo").state is FiberState.ACTIVE
