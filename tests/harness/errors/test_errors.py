"""The root error and the one-line account of a failure."""

import pytest

from harness.errors import HarnessError, error_chain
from vendor_shims.cordis import CordisError


class Unprintable(Exception):
    def __str__(self):
        raise RuntimeError("no text")


def caused(effect, cause):
    effect.__cause__ = cause
    return effect


def test_a_harness_error_is_a_kernel_error_with_a_code_that_one_instance_may_override():
    assert isinstance(HarnessError("x"), CordisError)
    assert HarnessError("x").code == "HARNESS_ERROR"
    error = HarnessError("text", code="OTHER")
    assert (error.code, str(error)) == ("OTHER", "text")
    assert HarnessError.code == "HARNESS_ERROR"


def test_error_chain_joins_causes_and_skips_repeated_texts():
    error = caused(ValueError("outer"), caused(OSError("outer"), KeyError("inner")))
    assert error_chain(error) == "outer: 'inner'"
    assert error_chain(ValueError()) == "ValueError"


def test_error_chain_ignores_the_implicit_context():
    error = KeyError("second")
    error.__context__ = ValueError("first")
    assert error_chain(error) == "'second'"


def test_error_chain_lists_the_members_of_a_group():
    group = ExceptionGroup("two failed", [ValueError("a"), caused(OSError("b"), OSError("c"))])
    assert error_chain(group) == "two failed [a; b: c]"


def test_error_chain_never_raises():
    loop = ValueError("round")
    loop.__cause__ = caused(OSError("and"), loop)
    assert error_chain(loop) == "round: and: [the error repeats itself]"
    assert error_chain(Unprintable()) == "[unprintable Unprintable]"
    deep = ValueError("0")
    for number in range(5000):
        deep = caused(ValueError(str(number)), deep)
    assert error_chain(deep).endswith(": […]")
    nested = ValueError("x")
    for _ in range(300):
        nested = ExceptionGroup("g", [nested])
    assert error_chain(nested).startswith("g [g [")


@pytest.mark.parametrize("count", [1, 3])
def test_error_chain_counts_links_over_the_whole_tree(count):
    members = [caused(ValueError(str(n)), OSError("why")) for n in range(count)]
    assert error_chain(ExceptionGroup("all", members)).count("why") == count
