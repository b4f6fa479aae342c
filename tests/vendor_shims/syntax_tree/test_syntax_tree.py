"""Parsing goes on undisturbed by what a collection of garbage runs."""

from __future__ import annotations

import ast
import gc
import inspect
from collections.abc import Iterator

import pytest

from vendor_shims import cordis
from vendor_shims.syntax_tree import parse_expression, parse_module

SOURCE = inspect.getsource(cordis.context)


class Parsing:
    """Garbage that parses when it is collected, as the logging of a lost task does."""

    def __init__(self) -> None:
        self.itself = self

    def __del__(self) -> None:
        ast.parse("a + b * (c - (d + e))")


@pytest.fixture
def eager() -> Iterator[None]:
    """Collect garbage often."""
    before = gc.get_threshold()
    gc.set_threshold(20)
    yield
    gc.set_threshold(*before)


def test_garbage_that_parses_does_not_disturb(eager):
    for _ in range(20):
        garbage = [Parsing() for _ in range(5)]
        del garbage
        assert len(parse_module(SOURCE).body) > 10
        garbage = [Parsing() for _ in range(5)]
        del garbage
        assert isinstance(parse_expression("+".join("a" * 50)).body, ast.BinOp)
    assert gc.isenabled()


def test_collection_stays_switched_off():
    gc.disable()
    try:
        parse_module("a = 1")
        assert not gc.isenabled()
    finally:
        gc.enable()


@pytest.mark.parametrize("parse", [parse_module, parse_expression])
def test_what_is_no_python_is_a_syntax_error(parse):
    with pytest.raises(SyntaxError):
        parse("a +")
    assert gc.isenabled()
