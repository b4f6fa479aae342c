"""Whatever rows hold comes back from a file unchanged, and written files can be read."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vendor_shims.expressions import Expression
from vendor_shims.include import (
    Layer,
    apply_entry_patches,
    compose,
    dump,
    parse_rows,
    with_changed_rows,
    with_patches,
)


def same(one: Any, other: Any) -> bool:
    """Compare values, their types and the order of keys."""
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return list(one) == list(other) and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list):
        return len(one) == len(other) and all(map(same, one, other))
    return one == other


ODD_TEXTS = [
    "yes", "no", "on", "~", "null", "True", "1", "-1", "1e5", "0o17", "0x1f", "1_000", ".5", "1.",
    "2020-01-01", "12:30:45", "<<", "=", "- a", ": b", "a: b", "a #b", "# c", " x", "x ", "", "\n",
    "a\nb", "a\nb\n", "a\n\n", " a\nb", "a \nb", "|", ">", "%", "@x", "`", "!x", "&a", "*a", "é√",
    "\t", "a\tb", "...", "---", "--- a", "'", '"', "${env.X}", "$${x}", "\x85", "\u2028", "\ufeff",
    "\U0001f600", "\0", "?", "? a", "-", "[", "{a}", "a, b", ".inf", ".nan", "\r\n", "a\r\nb",
]  # fmt: skip

texts = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"]), max_size=10), st.sampled_from(ODD_TEXTS)
)
expressions = st.builds(Expression, texts, st.sampled_from(["!expr", "!!py", "!!js"]))
scalars = st.one_of(
    texts,
    st.integers(),
    st.booleans(),
    st.none(),
    st.floats(allow_nan=False, allow_infinity=False),
    expressions,
)
values = st.recursive(
    scalars,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(texts, inner, max_size=3)),
    max_leaves=8,
)

configs = st.dictionaries(texts, values, max_size=4)


def dumped(config: Any) -> str:
    rows = [{"id": "a", "name": "x", "config": config}, {"id": "b", "name": "y"}]
    return dump(compose([Layer("l", "bundle", [{"insert": rows}])]))


@pytest.mark.spec("01-K07", "01-J12")
@given(configs)
def test_a_dump_is_read_back_as_the_same_values(config):
    first, second = parse_rows(dumped(config), file="f").rows
    assert same(first["config"], config)
    assert second == {"id": "b", "name": "y"}


@pytest.mark.spec("01-K07")
@given(configs)
def test_reading_and_dumping_again_changes_nothing(config):
    text = dumped(config)
    rows = parse_rows(text, file="f").rows
    assert dump(compose([Layer("l", "bundle", [{"insert": rows}])])) == text


@given(configs)
def test_a_json_dump_is_read_back_as_the_same_values(config):
    rows = [{"id": "a", "name": "x", "config": config}]
    text = dump(compose([Layer("l", "bundle", [{"insert": rows}])]), format="json")
    (row,) = parse_rows(text, file="f.json", format="json").rows
    assert same(row["config"], expressed(config))


def expressed(value: Any) -> Any:
    """Return what JSON means by a mapping that looks like an expression."""
    if isinstance(value, dict):
        if len(value) == 1:
            [(key, source)] = value.items()
            if key in {"!expr", "!!py", "!!js"} and isinstance(source, str):
                return Expression(source, key)
        return {key: expressed(one) for key, one in value.items()}
    return [expressed(one) for one in value] if isinstance(value, list) else value


def test_expressions_are_written_as_they_are_read():
    text = (
        "- id: a\n  name: x\n  config:\n    p: !expr env.PORT ?? 3080\n    q: !!js process.env.X\n"
    )
    text += "    r: ${env.Y}\n"
    rows = parse_rows(text, file="f").rows
    assert dump(compose([Layer("l", "bundle", [{"insert": rows}])])) == f"# == l\n{text}"


@pytest.mark.spec("01-J08")
@pytest.mark.parametrize("name", ["f.yml", "f.json"])
@given(before=configs, after=configs)
def test_a_changed_config_comes_back_from_the_written_patch(before, after, name):
    base = [{"id": "a", "name": "x", "config": before}]
    wanted = [{"id": "a", "name": "x", "config": after}]
    text = with_patches("", base, wanted, file=name)
    kind = "json" if name == "f.json" else "yaml"
    patches = parse_rows(text, file=name, format=kind).rows if text.strip() else []
    (row,) = apply_entry_patches(base, patches, pytest.fail)
    assert without_none(row["config"]) == without_none(after)


@given(before=configs, after=configs)
def test_a_changed_config_comes_back_from_the_file_of_rows(before, after):
    base = [{"id": "a", "name": "x", "config": before}, {"id": "b", "name": "y"}]
    wanted = [{"id": "a", "name": "x", "config": after}, {"id": "b", "name": "y"}]
    text = with_changed_rows(dumped(before), base, wanted, file="f.yml")
    first, second = parse_rows(text, file="f.yml").rows
    assert without_none(first["config"]) == without_none(after)
    assert second == {"id": "b", "name": "y"}


def without_none(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: without_none(one) for key, one in value.items() if one is not None}
    return [without_none(one) for one in value] if isinstance(value, list) else value
