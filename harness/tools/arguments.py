"""Read the arguments text of a model, once, without ever failing."""

from __future__ import annotations

from typing import Final

from harness.wire import FrozenDict, JsonDecodeError, NotJsonError, loads, snapshot_json

MAX_ARGUMENTS_CHARS: Final = 16 * 1024 * 1024
"""Longest arguments text that is parsed; a longer one is answered with an error result."""

_NO_ARGUMENTS: Final = FrozenDict()


class _UnusableError(Exception):
    """Say why a text does not hold usable arguments."""


def parse_arguments(text: str) -> FrozenDict | str:
    """Return the frozen JSON object of an arguments text; any other text is returned as it is.

    Blank text means no arguments. Of duplicate names the last wins. Text that is not a JSON object,
    is too long, or holds numbers or characters that cannot be kept, stays text: the validation of
    the tool answers it with an error that says why.
    """
    try:
        return _read(text)
    except _UnusableError:
        return text


def explain_arguments(text: str) -> str:
    """Say in words for the model why a text did not hold usable arguments; `""` when it does."""
    try:
        _read(text)
    except _UnusableError as error:
        return str(error)
    return ""


def _read(text: str) -> FrozenDict:
    if not text or text.isspace():
        return _NO_ARGUMENTS
    if len(text) > MAX_ARGUMENTS_CHARS:
        raise _UnusableError(
            f"the text has {len(text)} characters, at most {MAX_ARGUMENTS_CHARS} are accepted"
        )
    try:
        value = snapshot_json(loads(text), allow_surrogates=False)
    except JsonDecodeError as error:
        raise _UnusableError(f"the text is not valid JSON: {error}") from error
    except NotJsonError as error:
        raise _UnusableError(f"the text cannot be used: {error}") from error
    if not isinstance(value, FrozenDict):
        raise _UnusableError("the text is JSON, but no object")
    return value
