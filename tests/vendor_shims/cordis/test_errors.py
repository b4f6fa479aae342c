"""The error tree: codes, built-in bases, and what the messages carry (01 section 17.7)."""

from __future__ import annotations

import pytest

from vendor_shims.cordis import (
    AbortError,
    ContextDisposed,
    CordisError,
    InactiveEffect,
    InvalidEffect,
    InvalidPlugin,
    Issue,
    ReentrantAwait,
    ServiceConflict,
    ServiceInactive,
    ServiceNotInjected,
    ValidationError,
)


@pytest.mark.parametrize(
    ("error", "code", "also"),
    [
        (CordisError("x"), "CORDIS", Exception),
        (CordisError("x", code="MINE"), "MINE", Exception),
        (InactiveEffect("x"), "INACTIVE_EFFECT", Exception),
        (ReentrantAwait("x"), "REENTRANT_AWAIT", RuntimeError),
        (InvalidPlugin("x"), "INVALID_PLUGIN", TypeError),
        (InvalidEffect("x"), "INVALID_EFFECT", TypeError),
        (ServiceConflict("x"), "SERVICE_CONFLICT", RuntimeError),
        (ServiceNotInjected("x", name="n", fiber=None), "SERVICE_NOT_INJECTED", AttributeError),
        (ServiceInactive("x", name="n", fiber=None), "SERVICE_INACTIVE", AttributeError),
        (ValidationError([]), "VALIDATION_ERROR", ValueError),
        (ContextDisposed(), "CONTEXT_DISPOSED", Exception),
        (AbortError("why"), "ABORTED", Exception),
    ],
)
def test_every_error_has_a_code_and_a_builtin_base(
    error: CordisError, code: str, also: type[Exception]
) -> None:
    assert isinstance(error, CordisError)
    assert isinstance(error, also)
    assert error.code == code
    assert str(error)


def test_hints_are_part_of_the_message() -> None:
    error = ServiceInactive("gone", name="foo", fiber=None, hint="wait for it")
    assert str(error) == "gone (wait for it)"
    assert (error.name, error.hint) == ("foo", "wait for it")


def test_a_validation_error_shows_all_issues() -> None:
    issues = [Issue("expected list", ("a", 0, "b")), Issue("missing required value")]
    error = ValidationError(issues, title="invalid arguments:")
    assert isinstance(error, TypeError)
    assert error.issues == tuple(issues)
    assert str(error) == (
        "invalid arguments:\n  - $.a[0].b expected list\n  - $ missing required value"
    )
