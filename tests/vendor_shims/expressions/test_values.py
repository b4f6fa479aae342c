"""What expressions are worth: operators, names, texts with `${}`, and the translated forms."""

from __future__ import annotations

from typing import Any

import pytest

from vendor_shims.cordis import Context, Service
from vendor_shims.expressions import (
    Expression,
    ExpressionError,
    Names,
    Place,
    config_readable,
    evaluate,
    has_expressions,
    interpolate,
)

NAMES = Names(
    env={"PORT": "8080", "EMPTY": "", "N": "3"},
    home="/home/me/.dsh",
    base_dir="/work/conf",
    version="1.2.3",
    working_dir="/work/here",
    platform="linux",
    executable="/usr/bin/python3",
)


def value(source: str, tag: Any = "!expr", names: Names = NAMES) -> Any:
    return evaluate(Expression(source, tag), names)


@pytest.mark.spec("01-K01")
@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("env.PORT", "8080"),
        ("env['PORT']", "8080"),
        ("env.MISSING", None),
        ("env.MISSING ?? 'd'", "d"),
        ("env.EMPTY ?? 'd'", ""),
        ("env.MISSING ?? env.ALSO ?? 7", 7),
        ('env("PORT", "d")', "8080"),
        ('env("MISSING", "d")', "d"),
        ("'a ?? b'", "a ?? b"),
        ("1 if env.PORT == '8080' else 2", 1),
        ("1 < 2 <= 2 != 3", True),
        ("'a' in ['a', 'b']", True),
        ("'a' not in {'a': 1}", False),
        ("env.MISSING is None", True),
        ("env.PORT is not None and not False", True),
        ("env.EMPTY or 'x'", "x"),
        ("'http://' + 'host' + ':' + env.PORT", "http://host:8080"),
        ("[1, 2] + [3]", [1, 2, 3]),
        ("(1, 2)[0]", 1),
        ("{'a': [1, {'b': 2}]}['a'][1]['b']", 2),
        ("'abc'[1:]", "bc"),
        ("[1, 2, 3][-1]", 3),
        ("-7 // 2", -4),
        ("7 % 4 * 2 - 1", 5),
        ("1 / 2", 0.5),
        ("f'{env.PORT}-{1 + 1}'", "8080-2"),
        ("f'{3:03d}'", "003"),
        ("'%s' % 'x' if False else 'y'", "y"),
        ("'Ab'.lower() + 'b'.upper()", "abB"),
        ("' x '.strip()", "x"),
        ("'a,b'.split(',')", ["a", "b"]),
        ("'-'.join(['a', 'b'])", "a-b"),
        ("'aXb'.replace('X', '_')", "a_b"),
        ("'abc'.startswith('a') and 'abc'.endswith('c')", True),
        ("{'a': 1}.get('b', 2)", 2),
        ("int(env.N) + len('four') + min(1, 2) + max(3, 4)", 12),
        ("float('1.5')", 1.5),
        ("str(5) + str(True)", "5True"),
        ("bool('')", False),
        ("json('[1, {\"a\": null}]')", [1, {"a": None}]),
        ("platform", "linux"),
        ("cwd()", "/work/here"),
        ("home + base_dir + version", "/home/me/.dsh/work/conf1.2.3"),
        ("executable", "/usr/bin/python3"),
        ("dsh_home_path('py', 'x')", "/home/me/.dsh/py/x"),
        ("path.join(base_dir, 'a.yml')", "/work/conf/a.yml"),
        ("True", True),
        ("None", None),
    ],
)
def test_value_of_an_expression(source, expected):
    assert value(source) == expected
    assert value(source, "!!py") == expected


@pytest.mark.spec("01-K02")
def test_texts_with_expressions_in_them():
    given = {
        "whole": "${int(env.PORT)}",
        "whole_default": "${env.MISSING ?? 5}",
        "part": "at ${env.PORT}, ${1 + 1}!",
        "escaped": "$${env.PORT} and $x",
        "nested": ["${{'a': '}'}['a']}", {"deep": "${[1, 2]}"}],
        "plain": "nothing",
        "number": 5,
        "tagged": Expression("env.N"),
    }
    assert interpolate(given, NAMES) == {
        "whole": 8080,
        "whole_default": 5,
        "part": "at 8080, 2!",
        "escaped": "${env.PORT} and $x",
        "nested": ["}", {"deep": [1, 2]}],
        "plain": "nothing",
        "number": 5,
        "tagged": "3",
    }
    assert given["whole"] == "${int(env.PORT)}"


@pytest.mark.spec("01-K02")
@pytest.mark.parametrize("text", ["at ${env.MISSING}", "x${None}", "a ${env.PORT", "${}", "${1 +}"])
def test_text_with_something_missing_is_an_error(text):
    with pytest.raises(ExpressionError):
        interpolate({"key": text}, NAMES, row="web")


def test_nothing_to_do_gives_the_same_object_back():
    config = {"a": [1, "text"], "b": {"c": None}}
    assert interpolate(config, NAMES) is config
    assert not has_expressions(config)
    assert has_expressions({"a": ["${1}"]})
    assert not has_expressions({"a": ["${1}"]}, templates=False)
    assert has_expressions([Expression("1")], templates=False)
    assert interpolate({"a": "${1}"}, NAMES, templates=False) == {"a": "${1}"}


class Web(Service):
    key = "web"
    port = 9

    @config_readable
    def address(self) -> str:
        return "here"

    def secret(self) -> str:
        return "never"


@pytest.mark.spec("01-K03")
async def test_service_is_read_after_injection_and_only_what_it_marks():
    async with Context() as root:
        root.plugin(Web)
        seen: list[Any] = []

        def reads(ctx: Context) -> None:
            names = Names(env={}, ctx=ctx)
            seen.append(value("ctx.web.address()", names=names))
            for source in ("ctx.web.secret()", "ctx.web.ctx", "ctx.web", "ctx.fiber", "ctx.root"):
                with pytest.raises(ExpressionError):
                    value(source, names=names)

        root.inject(["web"], reads)
        await root.settle()
        assert seen == ["here"]

        def stranger(ctx: Context) -> None:
            with pytest.raises(ExpressionError, match=r"row 'r'.*without inject"):
                interpolate(Expression("ctx.web.address()"), Names(env={}, ctx=ctx), row="r")
            with pytest.raises(ExpressionError):
                value("ctx.web.address()", names=NAMES)
            seen.append("refused")

        root.plugin(stranger)
        await root.settle()
        assert seen == ["here", "refused"]


@pytest.mark.spec("01-K06")
@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("process.env.PORT", "8080"),
        ("process.env.MISSING", None),
        ("process.env.MISSING ?? 'd'", "d"),
        ('process.env.MISSING || "d"', "d"),
        ("process.env.EMPTY || 'd'", "d"),
        ("process.env.MISSING === undefined ? 1 : 2", 1),
        ("process.env.PORT === undefined ? 'a' : 'b'", "b"),
        ("process.cwd()", "/work/here"),
        ("process.cwd() + '/x'", "/work/here/x"),
        ("process.platform === 'win32'", False),
        ("process.platform !== 'win32'", True),
        ("process.execPath", "/usr/bin/python3"),
        ("Number(process.env.PORT)", 8080),
        ("Number('1.5')", 1.5),
        ("JSON.parse('{\"a\": [1]}')", {"a": [1]}),
        ("dshHomePath('x')", "/home/me/.dsh/x"),
        ("!process.env.MISSING", True),
        ("!(process.env.PORT && 'x')", False),
        ("(process.env.PORT && 'x') || 'y'", "x"),
        ("`at ${process.env.PORT}!`", "at 8080!"),
        ("'it\\'s'", "it's"),
        ("true", True),
        ("null ?? 3", 3),
    ],
)
def test_forms_of_the_original_project(source, expected):
    assert value(source, "!!js") == expected


@pytest.mark.spec("01-K06")
async def test_service_member_in_the_original_form():
    async with Context() as root:
        root.plugin(Web)
        seen: list[Any] = []

        def reads(ctx: Context) -> None:
            names = Names(env={}, ctx=ctx)
            with pytest.raises(ExpressionError):
                value("ctx.web.secret ?? 1", "!!js", names)
            seen.append("done")

        root.inject(["web"], reads)
        await root.settle()
        assert seen == ["done"]


@pytest.mark.spec("01-K06")
@pytest.mark.parametrize(
    "source",
    [
        "require('fs')",
        "(() => 1)()",
        "process.exit(1)",
        "globalThis",
        "a = 1",
        "new Date()",
        "[1,2].map(x => x)",
        "process.env.X++",
        "eval('1')",
        "this.constructor",
        "`unclosed ${",
        "'unclosed",
        "1 +",
        "",
        "((((",
    ],
)
def test_any_other_form_is_an_error_with_a_way_out(source):
    with pytest.raises(ExpressionError) as caught:
        value(source, "!!js")
    assert len(str(caught.value)) < 2_000


def test_error_says_where_it_is():
    expression = Expression("1 // 0", place=Place("rows.yml", 3, 9))
    with pytest.raises(ExpressionError) as caught:
        interpolate({"a": [expression]}, NAMES, row="web", path=("config",))
    error = caught.value
    assert (error.file, error.row, error.path) == ("rows.yml", "web", ("config", "a", 0))
    assert "rows.yml:3:9: row 'web': config.a[0]: " in str(error)
    assert str(error).endswith("^")
    with pytest.raises(ValueError, match="has the tag"):
        Expression("1", "!what")  # pyright: ignore[reportArgumentType] - what is refused
