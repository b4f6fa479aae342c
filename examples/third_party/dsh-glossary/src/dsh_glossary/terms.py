"""Read and write the terms of a glossary: a JSON object of terms and meanings in one file."""

from collections.abc import Mapping
from pathlib import Path

from dsh_glossary.errors import GlossaryFileError
from harness.durable_files import atomic_write
from harness.wire import JsonDecodeError, JsonValue, dumps, loads

Terms = Mapping[str, str]
"""Meanings by term, in order of their definition."""


def read_terms(path: Path) -> Terms:
    """Return what a file holds; nothing when there is none. Blocks.

    Raises:
        GlossaryFileError: it cannot be read, or is no JSON object of texts.
    """
    try:
        value: JsonValue = loads(path.read_bytes())
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise GlossaryFileError(f"{path}: {error.strerror}") from error
    except JsonDecodeError as error:
        raise GlossaryFileError(f"{path}: {error}; repair or remove the file") from error
    if not isinstance(value, dict):
        raise GlossaryFileError(f"{path}: expected an object, got {type(value).__name__}")
    for term, meaning in value.items():
        if not isinstance(meaning, str):
            kind = type(meaning).__name__
            raise GlossaryFileError(f"{path}: {term!r} must have a text for a meaning, got {kind}")
    return {term: str(meaning) for term, meaning in value.items()}


def write_terms(path: Path, terms: Terms) -> None:
    """Replace a file by these terms in one step. Blocks.

    Raises:
        GlossaryFileError: the disk refuses; the file is as it was.
    """
    try:
        atomic_write(path, dumps(dict(terms)) + b"\n", mode=0o600)
    except OSError as error:
        raise GlossaryFileError(f"{path}: {error.strerror}") from error
