"""How a source is read: where strings end, where the caret stands, what `??` belongs to."""

from __future__ import annotations

import pytest

from vendor_shims.expressions import Expression, ExpressionError, Names, evaluate, interpolate

NAMES = Names(env={"A": "a", "LONG": "1" * 1_001}, home="/h")


@pytest.mark.spec("01-K01")
@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("env.X??env.Y??1", 1),
        ("env.X ?? 1 + 1", 2),
        ("env.X ?? 0 or 5", 5),
        ("env.A or 'b' ?? 'c'", "a"),
        ("env.X ?? 1 and 2", 2),
        ("not env.X ?? 3", True),
        ("(env.X ?? 'b') + 'c'", "bc"),
        ("'x' if env.X ?? False else 'y'", "y"),
        ("[env.X ?? 1, {'k': env.Y ?? 2}]", [1, {"k": 2}]),
        ('"""a ?? b""" + env.A', "a ?? ba"),
        (r"'\' ?? ' + env.A", "' ?? a"),
        (r"r'\d ??'", r"\d ??"),
        ("f'a ?? {env.X ?? 1} {{ ?? }}'", "a ?? 1 { ?? }"),
        ('f\'{"??"}{env.X ?? "??"}\'', "????"),
        ("f'''{f\"{env.X ?? 2}\"}'''", "2"),
        ("f'{1:{env.X ?? 3}d}'", "  1"),
        ('f"{1:\'>3}"', "''1"),
        ("  env.A\n  # the rest: 'is' ??\n  + 'b'\n# end", "ab"),
        ("'é' + env.A", "éa"),
        ("'A' in env and 'X' not in env", True),
        ("f'{env.A!r:>5}{env.A!s}{\"é\"!a}'", "  'a'a'\\xe9'"),
        ("'abc'.endswith(('x', 'c'))", True),
        ("'a b  c'.split() + 'a,b,c'.split(',', 1)", ["a", "b", "c", "a", "b,c"]),
        ("str([1, {'a': None}])", "[1, {'a': None}]"),
    ],
)
def test_source_is_read_as_written(source, expected):
    assert evaluate(Expression(source), NAMES) == expected


@pytest.mark.spec("01-K04")
@pytest.mark.parametrize(
    ("source", "line", "column", "said"),
    [
        ("1 + lambda: 2", 1, 5, "not a valid"),
        ("[1, lambda: 2]", 1, 5, "a lambda is not allowed"),
        ("env.X ?? env._private", 1, 14, "private"),
        ("'éé' + unknown", 1, 8, "no name 'unknown'"),
        ("env.X ??\n  hom", 2, 3, "did you mean 'home'"),
        ("'''\n''' + nope", 2, 7, "no name 'nope'"),
        ("1 +", 1, 4, "not a valid"),
        (" ?? 1", 1, 2, "nothing on its left"),
        ("1 + 'a", 1, 5, "does not end"),
        ("1 + PORT", 1, 5, "env.PORT"),
        ("1 + env['A':'B']", 1, 9, "not ranges"),
        ("env.get('A')", 1, 5, "env("),
        ("[~1]", 1, 2, "operator ~"),
        ("_nullish_", 1, 1, "private"),
        ("'\\d'", 1, 1, "escape"),
        ("f'{1 +}'", 1, 1, "f-string"),
        ("'\ud800' + nope", 1, 1, "bad character"),
        ("'x' + '\0'", 1, 8, "NUL character"),
        ("1 + '".ljust(2_500, "a"), 1, 2_001, "at most 2000 characters"),
    ],
)
def test_caret_stands_where_the_problem_is(source, line, column, said):
    with pytest.raises(ExpressionError) as caught:
        evaluate(Expression(source), NAMES)
    error = caught.value
    assert said in str(error)
    assert (error.line, error.column) == (line, column)
    *_, shown, caret = str(error).split("\n")
    written = source.split("\n")[line - 1]
    if column <= len(written) and written[column - 1].isprintable():
        assert shown[caret.index("^")] == written[column - 1]


@pytest.mark.spec("01-K02")
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("${env.A}", "a"),
        ("it's ${env.A}'s", "it's a's"),
        ("${'}'}${\"{\"}", "}{"),
        ("${{'a': {'b': 1}}['a']['b']}", 1),
        ("${f'{env.A}}}'}!", "a}!"),
        ("a$${env.A}$${", "a${env.A}${"),
        ("$ {x} $x $", "$ {x} $x $"),
        ("${1}$${${2}", "1${2"),
        ("${ env.X ?? '' }", ""),
        ("<${env.X ?? ''}>", "<>"),
        ("${True} ${1.50} ${[1]}", "True 1.5 [1]"),
    ],
)
def test_text_with_braces_and_strings(text, expected):
    assert interpolate({"k": text}, NAMES) == {"k": expected}


@pytest.mark.spec("01-K02", "01-K04")
@pytest.mark.parametrize(
    ("text", "column", "said"),
    [
        ("port ${env.X}", 8, "give one for that case"),
        ("${env.X}", 3, "give one for that case"),
        ("a ${env.A", 3, "without its `}`"),
        ("a ${ }", 3, "holds no expression"),
        ("a ${env.A} ${1 + nope}", 18, "no name 'nope'"),
        ("a ${'x}", 5, "does not end"),
        ("a ${1 // 0}", 5, "division by zero"),
    ],
)
def test_problem_in_a_text_is_shown_in_the_text(text, column, said):
    with pytest.raises(ExpressionError) as caught:
        interpolate({"k": [text]}, NAMES, row="web", file="rows.yml")
    error = caught.value
    assert (error.source, error.column) == (text, column)
    assert str(error).startswith("rows.yml: row 'web': config.k[0]: ")
    assert said in str(error)


def test_message_about_a_long_source_shows_the_part_around_the_caret():
    source = "[" + "'aaaaaaaa', " * 100 + "nope, " + "1, " * 50 + "]"
    with pytest.raises(ExpressionError) as caught:
        evaluate(Expression(source), NAMES)
    *_, shown, caret = str(caught.value).split("\n")
    assert shown[caret.index("^") :].startswith("nope, 1")
    assert len(shown) < 120


@pytest.mark.spec("01-K06")
@pytest.mark.parametrize(
    ("source", "column", "said"),
    [
        ("1 + require('fs')", 5, "modules cannot be loaded"),
        ("ctx.web?.port ?? 1", 8, "leave out the ?"),
        ("x => 1", 3, "functions cannot be written"),
        ("1 == 1", 3, "==="),
        ("1 ?? 2 || 3", 8, "put brackets"),
        ("process.env.A + parseInt('1')", 17, "Number"),
        ("'a' + new Date()", 7, "objects cannot be made"),
        ("'a", 1, "does not end"),
        ("`a ${", 4, "without its `}`"),
        ("1 +", 4, "ends too early"),
        ("JSON.parse('1' 2)", 16, "',' expected"),
        ("(1", 3, "')' expected"),
        ("process.+ 1", 9, "'+'"),
        ("Number(process.env.LONG)", 1, "as long as that"),
        ("process.env.A.length", 1, "process.env.A.length"),
        ("process.cwd().length", 14, "a member or call"),
        ("ctx.web.port()", 1, "the functions are"),
        ("'\\u{110000}'", 2, "escape"),
    ],
)
def test_unsupported_form_names_the_place_and_a_way_out(source, column, said):
    with pytest.raises(ExpressionError) as caught:
        evaluate(Expression(source, "!!js"), NAMES)
    assert said in str(caught.value)
    assert caught.value.column == column


@pytest.mark.spec("01-K06")
def test_whole_numbers_are_written_without_a_fraction():
    assert evaluate(Expression("`${JSON.parse('3.0')}`", "!!js"), NAMES) == "3"
