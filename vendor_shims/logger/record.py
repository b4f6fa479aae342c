"""What is logged and who receives it: severities, records and the exporter protocol."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

ERROR = 0
"""Severity of failures."""
WARN = 1
"""Severity of what deserves attention but did not fail."""
INFO = 2
"""Severity of ordinary news; the default threshold."""
DEBUG = 3
"""Severity of detail for developers."""

Levels = Mapping[str, int]
"""Thresholds by logger name; the key `default` stands for every other name."""

Formatter = Callable[[Any, "LogRecord"], str]
"""Renders the argument of one placeholder letter; `Any` because a log argument may be anything."""


@dataclass(frozen=True, slots=True)
class LogRecord:
    """One logged line before formatting.

    Args:
        sn: Serial number within the core, increasing from 1.
        ts: Wall clock in milliseconds.
        name: Logger name.
        type: `error`, `warn`, `info` or `debug`.
        level: Severity number, lower is more severe.
        args: Template and its arguments; exceptions have been replaced by their text.
        extra: Structured members that the caller gave as keywords.
        owner: Weak reference to the fiber that logged, None for lines of no fiber.
    """

    sn: int
    ts: int
    name: str
    type: str
    level: int
    args: tuple[object, ...]
    extra: Mapping[str, object]
    owner: weakref.ReferenceType[object] | None = None

    @property
    def fiber(self) -> object | None:
        """Return the fiber that logged, None once it is gone."""
        return None if self.owner is None else self.owner()


class Exporter(Protocol):
    """Receives records; an optional attribute `levels` holds thresholds by logger name.

    Without `levels` an exporter sees what the logger's own level lets through. `levels` is read
    when the exporter is registered. An exception raised by `export` is contained.
    """

    def export(self, record: LogRecord) -> None:
        """Take one record; must not block for long and may be called from any thread."""
        ...
