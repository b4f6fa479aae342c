"""Errors of the schema layer.

CordisError
├── ValidationError   a value does not match; made by the kernel's error module
└── SchemaError       a class or JSON schema cannot be used for validating at all
"""

from __future__ import annotations

from collections.abc import Sequence

from vendor_shims.cordis.errors import CordisError


class SchemaError(CordisError, TypeError):
    """Raised when a config class or JSON schema is itself wrong; `problems` lists every reason."""

    code = "SCHEMA_ERROR"

    def __init__(self, message: str, problems: Sequence[str] = ()) -> None:
        self.problems = tuple(problems) or (message,)
        super().__init__("\n".join([message, *(f"  - {problem}" for problem in problems)]))
