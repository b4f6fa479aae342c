"""What operators, functions and members do not take, and how `!!js` differs."""

from __future__ import annotations

import math
import os
from functools import cached_property
from typing import Any

import pytest

from vendor_shims.cordis import Context, Service
from vendor_shims.expressions import (
    Expression,
    ExpressionError,
    Names,
    config_readable,
    evaluate,
    interpolate,
)

NAMES = Names(env={"A": "a", "N": "3"}, platform="win32")


def value(source: str, tag: Any = "!expr", names: Names = NAMES) -> Any:
    return evaluate(Expression(source, tag), names)


@pytest.mark.spec("01-K04")
@pytest.mark.parametrize(
    "source",
    [
        "'a' + 1",
        "1 + [1]",
        "(1,) + [1]",
        "{} + {}",
        "None + 1",
        "'a' - 'b'",
        "'a' / 2",
        "1 // 0",
        "1 % 0",
        "1 / 0",
        "'a' < 1",
        "None < 1",
        "[1] < ['a']",
        "1 in 5",
        "'a' in 'abc' in 3",
        "-'a'",
        "+None",
        "env.A.B",
        "[1]['a']",
        "[1][5]",
        "'a'[9]",
        "{'a': 1}['b']",
        "5[0]",
        "[1, 2][::0]",
        "{[1]: 2}",
        "{'a': 1}.keys()",
        "'a'.upper(1)",
        "'a'.split('')",
        "'a'.join([1])",
        "'a'.join('b', 'c')",
        "'a'.replace('a')",
        "[1].append(2)",
        "env('A', 1, 2)",
        "int()",
        "int('x')",
        "int([1])",
        "int(1e400)",
        "float('x')",
        "float([])",
        "len(5)",
        "min()",
        "min(1, 'a')",
        "max([1], 2)",
        "str()",
        "bool()",
        "path.join()",
        "path.join(1)",
        "path.nothing('a')",
        "json(5)",
        "json('{')",
        "json('NaN')",
        "cwd(1)",
        "dsh_home_path(1)",
        "dsh_home_path('a')",
        "ctx",
        "ctx.web",
        "env['A', 'B']",
        "f'{1:x>5000}'",
        "f'{1!q}'",
        "f'{[1]:d}'",
        "'%d' % 'x'",
        "'%s %s' % 1",
        "'%(a)s' % 1",
        "5 is 5",
        "'a' is not 'a'",
        "json",
        "str.x",
        "1 if",
        "[*env]",
        "{**env}",
        "int(x=1)",
        "...",
        "1j",
        "b'x'",
        "'a' 'b' + 5",
        "env.A[0:'x']",
        "-(9 * 'a')",
        "not",
        "env?.A",
        "?? 1",
        "1 ??",
    ],
)
def test_what_does_not_fit_is_an_error(source):
    with pytest.raises(ExpressionError):
        value(source)


@pytest.mark.spec("01-K01")
@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("-3 + +2", -1),
        ("(1, 2) + (3,)", (1, 2, 3)),
        ("2 * 'ab'", "abab"),
        ("0.5 * 2", 1.0),
        ("7 // 2.0", 3.0),
        ("'b' in 'abc'", True),
        ("'b' > 'a' >= 'a'", True),
        ("[1, 2] == [1, 2]", True),
        ("'abcdef'[1:5:2]", "bd"),
        ("(1, 2, 3)[1:]", (2, 3)),
        ("f'{1.5:.2f} {\"x\":>3} {1!r}'", "1.50   x 1"),
        ("'a' 'b'", "ab"),
        ("1_000", 1000),
        ("'x' if not env.A else 'y'", "y"),
        ("(env.MISSING ?? {}).get('a')", None),
        ("int(3.9) + int(True)", 4),
        ("str(1.5)", "1.5"),
        ("platform", "win32"),
        ("len(env.A)", 1),
    ],
)
def test_more_that_fits(source, expected):
    assert value(source) == expected


@pytest.mark.spec("01-K06")
@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("'a' + 1", "a1"),
        ("1 + 2", 3),
        ("1.0 + 'x'", "1x"),
        ("1.5 + 'x'", "1.5x"),
        ("true + 'x'", "truex"),
        ("1 === '1'", False),
        ("1 === 1.0", True),
        ("true === 1", False),
        ("null === undefined", True),
        ("'' || 0 || 'x'", "x"),
        ("Number('') + Number(' 12 ')", 12),
        ("Number('0x10')", 16),
        ("Number(true)", 1),
        ("Number('1e3')", 1000),
        ("Number('-Infinity') < 0 ? 1 : 2", None),
        ("!''", True),
        ("JSON.parse('{}') ? 1 : 2", 1),
        ("JSON.parse('[]') === JSON.parse('[]')", False),
        ("`${1.0}${true}`", "1true"),
        ('"a\\n\\u0041"', "a\nA"),
    ],
)
def test_original_forms_count_as_the_original_does(source, expected):
    if expected is None:
        with pytest.raises(ExpressionError):
            value(source, "!!js")
    else:
        assert value(source, "!!js") == expected
    assert math.isnan(value("Number('x')", "!!js"))
    assert math.isnan(value("Number(JSON.parse('[]'))", "!!js"))
    assert value("Number('x') ? 1 : 2", "!!js") == 2


@pytest.mark.spec("01-K06")
@pytest.mark.parametrize(
    "source",
    [
        "process.env.X + 'x'",
        "`${process.env.X}`",
        "`${JSON.parse('[]')}`",
        "1 + null",
        "process",
        "process.env",
        "process.nothing",
        "JSON.stringify(1)",
        "Number()",
        "Number('1', '2')",
        "1 == 1",
        "a ? b",
        "a ? b : ",
        "`a",
        "'a\\",
        "dshHomePath()",
        "ctx.a.b.c()",
        "1 2",
        "@",
        "Number('9' + '9')x",
        "!",
        "()",
        "{}",
        "/x/",
        "'" + "a" * 3_000 + "'",
        "!" * 500 + "1",
    ],
)
def test_original_forms_that_do_not_fit(source):
    with pytest.raises(ExpressionError):
        value(source, "!!js")


class Readable(Service):
    key = "readable"

    @property
    @config_readable
    def size(self) -> int:
        return 3

    @config_readable
    @cached_property
    def once(self) -> str:
        return "once"

    @config_readable
    def at(self, index: int) -> list[int]:
        return [1, 2][index:]

    @staticmethod
    @config_readable
    def fixed() -> str:
        return "fixed"

    @config_readable
    def breaks(self) -> str:
        raise ValueError("broken")

    @config_readable
    def strange(self) -> Any:
        return object()

    def hidden(self) -> str:
        return "hidden"


@pytest.mark.spec("01-K03")
async def test_members_that_a_service_marks():
    async with Context() as root:
        root.plugin(Readable)
        done: list[bool] = []

        def reads(ctx: Context) -> None:
            names = Names(env={}, ctx=ctx)
            assert value("ctx.readable.size + 1", names=names) == 4
            assert value("ctx.readable.once", names=names) == "once"
            assert value("ctx.readable.at(1)", names=names) == [2]
            assert value("ctx.readable.fixed()", names=names) == "fixed"
            assert value("ctx.readable.size ?? 1", "!!js", names) == 3
            for wrong in ("size()", "at", "breaks()", "hidden()", "at(1, 2)", "nothing", "_ctx"):
                with pytest.raises(ExpressionError):
                    value(f"ctx.readable.{wrong}", names=names)
            for strange in ("ctx.readable.strange()", "ctx.readable.strange() == 1"):
                with pytest.raises(ExpressionError):
                    interpolate({"a": f"x ${{{strange}}}"}, names)
            done.append(True)

        root.inject(["readable"], reads)
        await root.settle()
        assert done == [True]


def test_only_what_answers_at_once_can_be_marked():
    with pytest.raises(TypeError, match="asynchronous"):

        @config_readable
        async def slow() -> None: ...

    with pytest.raises(TypeError, match="methods and properties"):
        config_readable(5)


def test_working_folder_that_was_removed(tmp_path, monkeypatch):
    folder = tmp_path / "gone"
    folder.mkdir()
    monkeypatch.chdir(folder)
    assert value("cwd()") == os.getcwd()
    folder.rmdir()
    with pytest.raises(ExpressionError, match="working folder"):
        value("cwd()")


@pytest.mark.spec("01-K04", "01-K06")
@pytest.mark.parametrize(
    ("source", "tag"),
    [
        ("int('1', 'x')", "!expr"),
        ("max('ab', 'c', 1)", "!expr"),
        ("max(5)", "!expr"),
        ("' x '.strip('" + "x" * 300 + "')", "!expr"),
        ("'a'.split(',', 'x')", "!expr"),
        ("'a'.join('bc')", "!expr"),
        ("'a'.get('b')", "!expr"),
        ("[1].get(0)", "!expr"),
        ("'a'.nothing()", "!expr"),
        ("ctx.a ?? ctx.b", "!expr"),
        ("1 in env.A", "!expr"),
        ("{'a': 1}.a", "!expr"),
        ("({'a': 1}).a + 'x'", "!expr"),
        ("a ?? b || c", "!!js"),
        ("(a", "!!js"),
        ("-'a'", "!!js"),
        ("`${ }`", "!!js"),
        ("process.1", "!!js"),
        ("process.env[1]", "!!js"),
        ("ctx.web._x", "!!js"),
        ("012", "!!js"),
        ("'\\u{110000}'", "!!js"),
        ("'\\9'", "!!js"),
        ("Number(" + "'" + "1" * 2_000 + "')", "!!js"),
    ],
)
def test_more_that_does_not_fit(source, tag):
    with pytest.raises(ExpressionError):
        value(source, tag)


@pytest.mark.spec("01-K06")
@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("-5", -5),
        ("0x1F", 31),
        ("process.env['A']", "a"),
        ("'\\x41\\0\\\n'", "A\0"),
        ("'\\u{1F600}'", "😀"),
        ("(1)", 1),
        ("Number('Infinity') === Number('Infinity')", True),
        ("Number(2.5)", 2.5),
    ],
)
def test_more_of_the_original(source, expected):
    assert value(source, "!!js") == expected
