"""What must not be possible: to run code, to see what is not offered, to use much of anything."""

from __future__ import annotations

import os
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from vendor_shims.expressions import (
    Expression,
    ExpressionError,
    Names,
    Place,
    check_row,
    evaluate,
    interpolate,
)

NAMES = Names(env={"A": "a" * 1000, "N": "9" * 50}, home="/h")


@pytest.mark.spec("01-K04")
@pytest.mark.parametrize(
    "source",
    [
        "().__class__",
        "''.__class__.__mro__",
        "env.__class__",
        "env['__class__'].x",
        "lambda: 1",
        "[x for x in [1]]",
        "{x: 1 for x in [1]}",
        "(x for x in [1])",
        "(x := 1)",
        "2 ** 9",
        "__import__('os')",
        "open('/etc/passwd')",
        "eval('1')",
        "'{0.__class__}'.format(1)",
        "'a'.encode()",
        "str.join",
        "getattr(env, 'A')",
        "import os",
        "yield 1",
        "await x",
        "a; b",
        "f'{().__class__}'",
        "f'{1!r:>999999999}'",
        "unknown",
        "env()",
        "1 << 99",
        "~1 & 2",
        "*a",
        "print",
        "",
        "\\",
        "'\ud800",
    ],
)
def test_what_is_not_offered_is_refused_with_a_caret(source):
    with pytest.raises(ExpressionError) as caught:
        evaluate(Expression(source, place=Place("f.yml", 1, 1)), NAMES)
    assert "^" in str(caught.value) or not source
    assert caught.value.column >= 1


@pytest.mark.spec("01-K04")
@pytest.mark.parametrize(
    "source",
    [
        "1" + " + 1" * 1_000,
        "[" * 150 + "]" * 150,
        "(" * 500 + "1" + ")" * 500,
        "-" * 900 + "1",
        "'a' * 1000000000",
        "1000000000 * 'a'",
        "[0] * 100000000",
        "env.A * 2000",
        "'%999999999d' % 1",
        "'%*d' % (999999999, 1)",
        "f'{1:999999999d}'",
        "'a'.replace('', 'b' * 1000).replace('', 'c' * 1000).replace('', 'd' * 1000)",
        "('a' * 1000).join(['b'] * 10000)",
        "9" * 1_900 + " * " + "9" * 90,
        "int('9' * 4500)",
        "str(int(env.N) * int(env.N)) * 1000000",
        "json('[' * 100000)",
        "json('[' + '1,' * 100000 + '1]')",
    ],
)
def test_bombs_end_at_the_limits(source):
    with pytest.raises(ExpressionError):
        evaluate(Expression(source), NAMES)


atoms = st.sampled_from(
    [
        "env",
        "env.A",
        "ctx",
        "home",
        "1",
        "0",
        "99999999",
        "'a'",
        "''",
        "None",
        "True",
        "[]",
        "{}",
        "__import__",
        "().__class__",
        "x",
        "path",
        "path.join",
        "json",
        "int",
        "str",
        "f'{1:9999999}'",
        "'%99999d'",
        "cwd",
        "ctx.fiber",
        "ctx.root",
        "[1, 2]",
        "{'a': 1}",
    ]
)
operators = st.sampled_from(
    [*"+-*/%<.,", "//", "**", "==", "in", "and", "or", "??", "is", "if 1 else"]
)
sources = st.recursive(
    atoms,
    lambda inner: st.one_of(
        st.tuples(inner, operators, inner).map(" ".join),
        st.tuples(inner, inner).map(lambda pair: f"{pair[0]}({pair[1]})"),
        st.tuples(inner, inner).map(lambda pair: f"{pair[0]}[{pair[1]}]"),
        st.tuples(
            inner, st.sampled_from(["__class__", "format", "join", "replace", "get", "_x"])
        ).map(lambda pair: f"({pair[0]}).{pair[1]}"),
        inner.map(lambda one: f"({one})"),
        inner.map(lambda one: f"f'{{{one}}}'" if "'" not in one else one),
        inner.map(lambda one: f"[x for x in {one}]"),
        inner.map(lambda one: f"lambda: {one}"),
        inner.map(lambda one: f"not {one}"),
    ),
    max_leaves=12,
)


def size(value: Any) -> int:
    if isinstance(value, str):
        return len(value)
    if isinstance(value, dict):
        return sum(size(one) for pair in value.items() for one in pair)
    if isinstance(value, list | tuple):
        return len(value) + sum(map(size, value))
    return value.bit_length() // 8 if isinstance(value, int) else 1


@pytest.mark.fuzz
@pytest.mark.spec("01-K04", "01-K06")
@given(st.one_of(sources, st.text(max_size=60)), st.sampled_from(["!expr", "!!js"]))
@example("'a' * 1048577", "!expr")
@example("`${`${1}`}`", "!!js")
def test_any_source_ends_in_a_plain_value_or_in_an_error(source, tag):
    before = dict(os.environ)
    try:
        value = evaluate(Expression(source, tag), NAMES)
    except ExpressionError as error:
        message = str(error)
    else:
        message = ""
        assert isinstance(value, str | int | float | list | tuple | dict | type(None))
        assert size(value) <= 9 << 20
    assert len(message) < 4_000
    assert dict(os.environ) == before


@pytest.mark.fuzz
@pytest.mark.spec("01-K02", "01-K04")
@given(st.text(alphabet="${}'\"a.1+[]() \\envA?", max_size=40))
def test_any_text_is_taken_or_refused(text):
    try:
        value = interpolate({"key": text}, NAMES)
    except ExpressionError:
        return
    if "${" not in text:
        assert value == {"key": text}


@pytest.mark.spec("01-K05")
@pytest.mark.parametrize("key", ["id", "name", "inject", "isolate", "intercept", "group", "other"])
@pytest.mark.parametrize("wrap", [lambda one: one, lambda one: [one], lambda one: {"x": [one]}])
def test_expression_elsewhere_is_refused_when_the_row_is_read(key, wrap):
    row = {"id": "web", "name": "m", key: wrap(Expression("env.A"))}
    with pytest.raises(ExpressionError, match=key):
        check_row(row, file="rows.yml")


@pytest.mark.spec("01-K05")
def test_expressions_in_config_and_disabled_are_only_compiled():
    inner = {"id": "in", "name": "m", "config": {"p": Expression("ctx.nothing.here()")}}
    group = {"id": "g", "name": "cordis:group", "group": True, "config": [inner]}
    check_row(group, file="rows.yml")
    check_row({"id": "a", "name": "m", "disabled": Expression("env.A"), "config": "${1}"})
    for broken in (Expression("lambda: 1"), Expression("require('x')", "!!js"), "${lambda: 1}"):
        row = {**group, "config": [{**inner, "config": {"p": broken}}]}
        with pytest.raises(ExpressionError, match=r"row 'in'.*config\.p"):
            check_row(row, file="rows.yml")
    check_row({"id": "a", "name": "m", "config": "${lambda: 1}"}, templates=False)
    misplaced = {**group, "config": [{**inner, "inject": [Expression("1")]}]}
    with pytest.raises(ExpressionError, match="inject"):
        check_row(misplaced)
    with pytest.raises(ExpressionError):
        check_row({"id": "a", "name": "m", "config": {"k": [Expression("(")]}})


def test_config_that_is_too_deep_or_goes_round_is_refused():
    deep: Any = "${1}"
    for _ in range(500):
        deep = [deep]
    with pytest.raises(ExpressionError):
        interpolate(deep, NAMES)
    group: dict[str, Any] = {"id": "a", "name": "m", "config": "${1}"}
    for _ in range(300):
        group = {"id": "a", "name": "cordis:group", "group": True, "config": [group]}
    with pytest.raises(ExpressionError):
        check_row(group)
