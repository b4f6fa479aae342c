"""How much an expression may make, counted in characters, values and bytes rather than seconds."""

from __future__ import annotations

import sys
import tracemalloc
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vendor_shims.expressions import (
    Expression,
    ExpressionError,
    Names,
    Place,
    check_row,
    evaluate,
    has_expressions,
    interpolate,
)

MIB = 1 << 20
NAMES = Names(
    env={"BIG": "b" * 100_000, "DEEP": "[" * 90 + "]" * 90, "HUGE": " " * 2 * MIB},
)


def value(source: str, names: Names = NAMES) -> Any:
    return evaluate(Expression(source), names)


@pytest.mark.spec("01-K04")
@pytest.mark.parametrize(
    ("fits", "too_much", "said"),
    [
        ("'a' * 1048576", "'a' * 1048577", "1048576 characters"),
        ("'a' * 1048575 + 'b'", "'a' * 1048576 + 'b'", "1048576 characters"),
        ("'ab'.join(['c'] + ['d'])", "env.BIG.join('a,a,a,a,a,a,a,a,a,a,a,a'.split(','))", "char"),
        ("env.BIG.replace('b', 'cccccccccc')", "env.BIG.replace('b', 'ccccccccccc')", "charact"),
        ("f'{env.BIG}{env.BIG}'", "f'{env.BIG * 10}{env.BIG * 10}'", "1048576 characters"),
        ("('ß' * 500000).upper()", "('ß' * 600000).upper()", "1048576 characters"),
        ("f'{1:1000d}'", "f'{1:1001d}'", "1000 wide"),
        ("f'{1.5:.1000f}'", "f'{1.5:.99999999f}'", "wider than 1000"),
        ("('a,' * 9999).split(',')", "('a,' * 10000).split(',')", "10000 items"),
        ("('a ' * 9999).split()", "('a ' * 10001).split()", "10000 items"),
        ("('a ' * 10001).split(None, 5)", "('a ' * 20001).split(None, 50000)", "10000 items"),
        (
            "('a ' * 5000).split() + ('a ' * 5000).split()",
            "('a ' * 5000).split() + ('a ' * 5001).split()",
            "10000 items",
        ),
        ("json('[' + '1,' * 9998 + '1]')", "json('[' + '1,' * 9999 + '1]')", "10000 values"),
        ("json('[' * 100 + ']' * 100)", "json('[' * 101 + ']' * 101)", "100 deep"),
        ("json('[1]')", "json(env.HUGE)", "1048576 characters"),
        ("json(env.DEEP)", "[[[[[[[[[[[json(env.DEEP)]]]]]]]]]]]", "100 levels deep"),
        ("str(json(env.DEEP))", "str([[[[[[[[[[[json(env.DEEP)]]]]]]]]]]])", "100 levels deep"),
        ("str(['a' * 1000])", "str(['a' * 1000000, 'a' * 1000000])", "1048576 characters"),
        ("str(['a' * 999])", "str([1, 'a' * 1000000, 'a' * 1000000])", "1048576 characters"),
        ("f'{[env.BIG]}'", "f'{[env.BIG * 10, env.BIG * 10]!r}'", "1048576 characters"),
        ("1" + " + 1" * 98, "1" + " + 1" * 150, "levels deep"),
        ("[" + "1, " * 199 + "]", "[" + "1, " * 200 + "]", "200 parts"),
        ("' x '.strip(' ' * 100)", "' x '.strip(' ' * 101)", "100 characters"),
        ("0xF" + "F" * 1000 + " * 1", "0xF" + "F" * 1020 + " * 0xFFFF", "4096 bits"),
        ("int('F' * 900, 16)", "int('F' * 1200, 16)", "4096 bits"),
        ("int('9' * 1200)", "int('9' * 1300)", "4096 bits"),
    ],
)
def test_limit_lies_exactly_there(fits, too_much, said):
    value(fits)
    with pytest.raises(ExpressionError, match=said):
        value(too_much)


@pytest.mark.spec("01-K04")
def test_all_texts_of_one_expression_are_limited_together():
    value(f"len([{', '.join(['env.BIG * 10'] * 8)}])")
    with pytest.raises(ExpressionError, match="all texts together"):
        value(f"len([{', '.join(['env.BIG * 10'] * 9)}])")


@pytest.mark.spec("01-K04")
def test_text_with_expressions_is_limited_as_a_whole():
    with pytest.raises(ExpressionError, match="1048576 characters"):
        interpolate("${env.BIG}" * 11, NAMES)
    assert len(interpolate("${env.BIG}" * 10, NAMES)) == 1_000_000


@pytest.mark.spec("01-K04")
@pytest.mark.parametrize(
    "source",
    [
        "'a' * 99999999999",
        "('a' * 1000000).replace('', 'b' * 1000000)",
        "('a' * 1000000).join(['a' * 1000000] + ['b'])",
        "('a' * 1000000).split('a')",
        "'%999999999d' % 1",
        "f'{1:999999999}'",
        "f'{1:{999999999}}'",
        'f\'{"a":>{"9" * 1000}}\'',
        "json('[' * 1000000)",
        "json('[[],' * 200000)",
        "json('9' * 1000000 + 'x')",
        "int('9' * 1000000)",
        "[0] * 999999999",
        "('a' * 1000000).strip('b' * 1000000)",
        "[" * 900 + "]" * 900,
        "(" * 1900,
        "-" * 1900 + "1",
        "not " * 400 + "1",
        "1 if 1 else " * 150 + "1",
        "env" + "['A']" * 300,
        "f'{" * 100 + "1" + "}'" * 100,
        "9" * 1000 + "*" + "9" * 990,
        "*".join(["9" * 15] * 99),
        "`" * 1999,
    ],
)
def test_hostile_source_takes_little_memory(source):
    tracemalloc.start()
    try:
        with pytest.raises(ExpressionError):
            value(source)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 24 * MIB


grown = st.recursive(
    st.sampled_from(["env.BIG", "'a' * 99999", "9999999", "'b'", "['x']", "json('[1]')", "''"]),
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(["+", "*", "%", "//", "??"]), inner).map(
            lambda part: f"({part[0]} {part[1]} {part[2]})"
        ),
        st.tuples(inner, inner, inner).map(
            lambda part: f"({part[0]}).replace({part[1]}, {part[2]})"
        ),
        st.tuples(inner, inner).map(lambda part: f"({part[0]}).join([{part[1]}, {part[1]}])"),
        st.tuples(inner, inner).map(lambda part: f"({part[0]}).split({part[1]})"),
        inner.map(lambda one: f"str({one})"),
        inner.map(lambda one: f"[{one}, {one}]"),
    ),
    max_leaves=10,
)


@pytest.mark.fuzz
@pytest.mark.spec("01-K04")
@given(grown)
def test_whatever_grows_stays_small(source):
    tracemalloc.start()
    try:
        value(source)
    except ExpressionError as error:
        assert len(str(error)) < 2_000  # noqa: PT017 - a value is as good an end
    finally:
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert peak < 64 * MIB


def with_frames_left(n_frames: int, call: Callable[[], object]) -> object:
    """Call with a stack that has room for about `n_frames` more frames."""

    def descend(n_more: int) -> object:
        return descend(n_more - 1) if n_more > 0 else call()

    frame, n_used = sys._getframe(), 0
    while frame is not None:
        frame, n_used = frame.f_back, n_used + 1
    return descend(sys.getrecursionlimit() - n_used - n_frames)


@pytest.mark.spec("01-K04")
@pytest.mark.parametrize(
    ("tag", "start", "end"), [("!expr", "[" * 90, "]" * 90), ("!!js", "!(" * 45, ")" * 45)]
)
def test_little_stack_left_is_an_error_of_the_expression(tag, start, end):
    problems: list[str] = []
    for n_frames in range(100, 800, 50):
        # Each source is new, so that none is compiled already.
        expression = Expression(f"{start}{n_frames}{end}", tag)
        problem = ""
        try:
            with_frames_left(n_frames, lambda expression=expression: evaluate(expression, NAMES))
        except ExpressionError as error:
            problem = error.problem
        problems.append(problem)
    n_refused = len([problem for problem in problems if "stack" in problem or "deep" in problem])
    assert problems[n_refused:] == [""] * (len(problems) - n_refused)
    assert 0 < n_refused < len(problems)


@pytest.mark.spec("01-K04")
def test_little_stack_left_for_a_deep_value_is_an_error_of_the_expression():
    value("json(env.DEEP)")
    with pytest.raises(ExpressionError, match="stack"):
        with_frames_left(80, lambda: value("json(env.DEEP)"))


def test_containers_in_several_places_are_copied_once():
    shared: Any = ["${1 + 1}", "$${"]
    pair: Any = ("${1 + 1}",)
    for _ in range(60):
        shared, pair = [shared, shared], (pair, pair)
    assert has_expressions(shared)
    check_row({"id": "a", "name": "m", "config": shared})
    for given_value in (shared, pair):
        made = interpolate(given_value, NAMES)
        assert made[0] is made[1]
        while isinstance(made, list | tuple):
            made = made[0]
        assert made == 2


def test_container_inside_itself_is_copied_with_its_circle():
    circle: dict[str, Any] = {"k": Expression("1 + 1")}
    circle["self"] = circle
    made = interpolate(circle, NAMES)
    assert made is not circle
    assert made["self"] is made
    assert made["k"] == 2


@pytest.mark.spec("01-K05")
def test_expression_as_a_key_or_as_a_row_of_a_group_is_refused():
    node = Expression("1", place=Place("rows.yml", 7, 3))
    with pytest.raises(ExpressionError, match=r"rows\.yml:7:3: row 'a': config\.k: .*as a value"):
        check_row({"id": "a", "name": "m", "config": {"k": {node: 1}}})
    with pytest.raises(ExpressionError, match=r"row 'g': config\[1\]"):
        check_row({"id": "g", "name": "m", "group": True, "config": [{"name": "x"}, node]})


@pytest.mark.spec("01-K05")
def test_text_with_expressions_is_checked_part_by_part():
    check_row({"id": "a", "name": "m", "config": "http://${env.HOST}:${env.PORT ?? 1}/$${x}"})
    with pytest.raises(ExpressionError, match="no name 'nope'"):
        check_row({"id": "a", "name": "m", "config": "http://${env.HOST}:${nope}/"})


@pytest.mark.parametrize(
    "source",
    [
        "int(env.KEY)",
        "float(env.KEY)",
        "json(env.KEY)",
        "{'a': 1}[env.KEY]",
        "env.KEY < 1",
        "f'{env.KEY:d}'",
        "env.KEY + 1",
        "'a'.split(',', env.KEY)",
        "[1][env.KEY]",
    ],
)
def test_message_never_quotes_what_was_read(source):
    env = {"KEY": "sk-secret"}
    names = Names(env=env)
    env["KEY"] = "later"
    assert value("env.KEY", names) == "sk-secret"
    assert "sk-secret" not in repr(names)
    with pytest.raises(ExpressionError) as caught:
        value(source, names)
    assert "sk-secret" not in str(caught.value)
