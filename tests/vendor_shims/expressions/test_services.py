"""What expressions see of services: through the inject check, and no further."""

from __future__ import annotations

from typing import Any

import pytest

from vendor_shims.cordis import Context, Inject, Service
from vendor_shims.expressions import (
    Expression,
    ExpressionError,
    Names,
    config_readable,
    evaluate,
    interpolate,
)


def value(source: str, ctx: Context, tag: Any = "!expr") -> Any:
    return evaluate(Expression(source, tag), Names(env={}, ctx=ctx))


class AbstractWeb(Service):
    key = "web"

    @property
    @config_readable
    def base_url(self) -> str:
        raise NotImplementedError

    @config_readable
    def shared(self) -> dict[str, list[int]]:
        raise NotImplementedError


class Web(AbstractWeb):
    def __init__(self, ctx: Context) -> None:
        super().__init__(ctx)
        self.kept = {"ports": [1, 2]}

    @property
    def base_url(self) -> str:
        return "http://here"

    def shared(self) -> dict[str, list[int]]:
        return self.kept


class Odd(Service):
    key = "odd"

    @config_readable
    def later(self) -> Any:
        return "now"

    @config_readable
    def itself(self) -> Odd:
        return self

    @config_readable
    def opaque(self) -> complex:
        return 1j


class LateOdd(Odd):
    async def later(self) -> str:
        return "later"


@pytest.mark.spec("01-K03")
async def test_mark_of_the_abstract_service_holds_for_its_implementation():
    async with Context() as root:
        root.plugin(Web)
        seen: list[Any] = []

        def reads(ctx: Context) -> None:
            seen.append(value("ctx.web.base_url + '/x'", ctx))
            seen.append(value("ctx.web.baseUrl ?? 'd'", ctx, "!!js"))
            ports = value("ctx.web.shared()", ctx)
            ports["ports"].append(3)
            seen.append(value("ctx.web.shared()['ports']", ctx))
            seen.append(value("ctx.web is not None", ctx))
            seen.append(value("1 if ctx.web else 2", ctx))

        root.inject(["web"], reads)
        await root.settle()
        assert seen == ["http://here/x", "http://here", [1, 2], True, 1]


@pytest.mark.spec("01-K03")
async def test_absent_optional_service_counts_as_missing_before_the_default():
    async with Context() as root:
        seen: list[Any] = []

        def reads(ctx: Context) -> None:
            seen.append(value("ctx.web.port ?? 3080", ctx))
            seen.append(value("ctx.web.port ?? 3080", ctx, "!!js"))
            with pytest.raises(ExpressionError, match="web is not available"):
                value("ctx.web.port", ctx)
            with pytest.raises(ExpressionError, match="without inject"):
                value("ctx.other.port ?? 3080", ctx)

        root.inject(Inject(optional=["web"]), reads)
        await root.settle()
        assert seen == [3080, 3080]


@pytest.mark.spec("01-K03")
async def test_plain_values_that_are_provided_are_read_as_they_are():
    async with Context() as root:
        root.provide("settings", {"port": 5, "list": ["a", "b"]})
        root.provide("number", 7)
        assert value("ctx.settings.port + ctx.settings['port'] + ctx.number", root) == 17
        assert value("ctx.settings.get('none', 1)", root) == 1
        assert value("ctx.settings['list'][1:]", root) == ["b"]
        assert value("ctx.settings.port", root, "!!js") == 5
        for wrong in (
            "ctx.settings.none",
            "ctx.number.real",
            "ctx.settings.keys()",
            "ctx.number.get('a')",
            "ctx.settings.get()",
        ):
            with pytest.raises(ExpressionError):
                value(wrong, root)


@pytest.mark.spec("01-K03", "01-K04")
@pytest.mark.parametrize(
    "name", ["fiber", "root", "registry", "kernel", "entry", "base_dir", "logger", "plugin"]
)
async def test_context_offers_nothing_of_its_own(name):
    async with Context() as root:
        with pytest.raises(ExpressionError, match="is no service"):
            value(f"ctx.{name}.x", root.extend(entry="a tag"))


@pytest.mark.spec("01-K03", "01-K04")
@pytest.mark.parametrize(
    "source",
    [
        "ctx.odd",
        "[ctx.odd]",
        "ctx.odd.itself()",
        "{'a': [ctx.odd.itself()]}",
        "ctx.odd == 1",
        "str(ctx.odd)",
        "f'{ctx.odd}'",
        "ctx.odd + 1",
        "len(ctx.odd)",
        "int(ctx.odd)",
        "ctx.odd['x']",
        "{ctx.odd: 1}",
        "ctx.odd in [1]",
        "json(ctx.odd)",
        "ctx.odd.name",
        "ctx.odd.caller",
        "ctx.odd.__class__",
        "ctx.odd.opaque() + 1",
    ],
)
async def test_service_itself_is_no_value(source):
    async with Context() as root:
        root.plugin(Odd)
        await root.settle()
        with pytest.raises(ExpressionError):
            value(source, root)
        assert value("ctx.odd.opaque()", root) == 1j


@pytest.mark.spec("01-K03")
async def test_member_that_became_asynchronous_is_refused():
    async with Context() as root:
        root.plugin(LateOdd)
        await root.settle()
        with pytest.raises(ExpressionError, match="asynchronous"):
            value("ctx.odd.later()", root)


@pytest.mark.spec("01-K03")
async def test_failure_of_an_accessor_is_the_failure_of_the_row():
    def broken(_: Context) -> Any:
        raise LookupError("no such thing")

    async with Context() as root:
        root.accessor("thing", broken)
        with pytest.raises(ExpressionError, match=r"row 'r': config\.a: no such thing") as caught:
            interpolate({"a": "${ctx.thing}"}, Names(env={}, ctx=root), row="r")
        assert isinstance(caught.value.__cause__, LookupError)
