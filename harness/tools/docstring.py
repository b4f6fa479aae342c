"""Read what a docstring says about a function and its parameters."""

import inspect
import re
from collections.abc import Callable
from typing import Any

import attrs

_SECTIONS = frozenset(
    {
        "Args:",
        "Arguments:",
        "Parameters:",
        "Returns:",
        "Yields:",
        "Raises:",
        "Example:",
        "Examples:",
        "Note:",
    }
)
_PARAMETERS = frozenset({"Args:", "Arguments:", "Parameters:"})
_PARAMETER = re.compile(r"\*{0,2}(\w+)(?:\s*\([^)]*\))?:\s*(.*)")


@attrs.frozen
class FunctionDoc:
    """Hold the text before the first section, and one text per described parameter."""

    description: str
    parameters: dict[str, str]


def read_docstring(function: Callable[..., Any]) -> FunctionDoc:
    """Split the docstring of a function; both parts are empty when there is none."""
    description: list[str] = []
    parameters: dict[str, list[str]] = {}
    section: str | None = None
    indent = 0
    current: list[str] | None = None
    for line in (inspect.getdoc(function) or "").split("\n"):
        header = line.rstrip()
        if header in _SECTIONS:
            section, indent, current = header, 0, None
        elif section is None:
            description.append(line)
        elif section in _PARAMETERS and line.strip():
            depth = len(line) - len(line.lstrip())
            indent = indent or depth
            entry = _PARAMETER.fullmatch(line.strip()) if depth == indent else None
            if entry is not None:
                current = parameters.setdefault(entry[1], [entry[2]])
            elif current is not None:
                current.append(line.strip())
    texts = {name: " ".join(filter(None, lines)) for name, lines in parameters.items()}
    return FunctionDoc("\n".join(description).strip(), texts)
