"""The log service: one core per tree, one cheap facade per context.

How the kernel wires it (this module imports nothing of the kernel):

- The root makes one `LoggerCore()`; it comes with the ring buffer of the last 1000 records.
- `ctx.logger` is `LoggerService(core, ctx, layers)`, made on first use and kept in the context's
  own dictionary. `layers` are the context's `logger` intercepts, root first. The service reads
  `ctx.fiber` (which must allow weak references), `ctx.fiber.name` and `ctx.effect(body, label)`.
- Code without a context logs through `Logger(core, name)`.

A call below every threshold costs two attribute reads and a comparison: each logger remembers the
least severe level that any exporter wants from it, until the set of exporters changes. Text is
made by the exporters; arguments are kept as they are, except that exceptions are turned into text
at once, since they would keep whole call stacks alive in the buffer.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from vendor_shims.logger.buffer import RingBuffer
from vendor_shims.logger.core import LoggerCore
from vendor_shims.logger.exceptions import exception_texts
from vendor_shims.logger.names import resolve_level, resolve_name
from vendor_shims.logger.record import DEBUG, ERROR, INFO, WARN, Exporter


class LogOwner(Protocol):
    """What the service needs from a fiber."""

    @property
    def name(self) -> str:
        """Return the display name."""
        ...


class LogContext(Protocol):
    """What the service needs from a context."""

    @property
    def fiber(self) -> LogOwner:
        """Return the fiber that logs."""
        ...

    def effect(self, body: Callable[[], Callable[[], None]], label: str = ...) -> Any:  # noqa: ANN401  # the kernel's disposer
        """Run `body` and undo it with the fiber; the result is the kernel's disposer."""
        ...


class Logger:
    """Log under one name on behalf of one fiber.

    The first argument is a printf-style template (`vendor_shims.logger.format`) or an exception,
    whose causes are logged first; keywords become the record's structured `extra`.
    """

    __slots__ = ("_core", "_level", "_name", "_owner", "_seen_version", "_threshold")

    def __init__(
        self,
        core: LoggerCore,
        name: str,
        *,
        level: int = INFO,
        owner: weakref.ReferenceType[object] | None = None,
    ) -> None:
        self._core = core
        self._name = name
        self._level = level
        self._owner = owner
        self._seen_version = -1
        """`core.version` for which `_threshold` is valid."""
        self._threshold = -1

    @property
    def name(self) -> str:
        """Return the name that records carry."""
        return self._name

    @property
    def level(self) -> int:
        """Return the threshold for exporters that configure none."""
        return self._level

    def is_enabled(self, level: int) -> bool:
        """Return whether any exporter wants records of `level` from this logger."""
        core = self._core
        if core.version != self._seen_version:
            self._threshold = core.threshold(self._name, self._level)
            self._seen_version = core.version
        return level <= self._threshold

    def error(self, *args: object, **extra: object) -> None:
        """Log a failure."""
        if self.is_enabled(ERROR):
            self._log(ERROR, args, extra)

    def warn(self, *args: object, **extra: object) -> None:
        """Log what deserves attention but did not fail."""
        if self.is_enabled(WARN):
            self._log(WARN, args, extra)

    warning = warn

    def info(self, *args: object, **extra: object) -> None:
        """Log ordinary news."""
        if self.is_enabled(INFO):
            self._log(INFO, args, extra)

    def debug(self, *args: object, **extra: object) -> None:
        """Log detail for developers."""
        if self._core.version == self._seen_version and self._threshold < DEBUG:
            return
        if self.is_enabled(DEBUG):
            self._log(DEBUG, args, extra)

    def log(self, level: int, *args: object, **extra: object) -> None:
        """Log at a level that is only known at run time."""
        if self.is_enabled(level):
            self._log(level, args, extra)

    def _log(self, level: int, args: tuple[object, ...], extra: Mapping[str, object]) -> None:
        if not args or not isinstance(args[0], BaseException):
            self._emit(level, args, extra)
            return
        *causes, own = exception_texts(args[0])
        for text in causes:
            self._emit(level, ("%s", text), extra)
        self._emit(level, ("%s", own, *args[1:]), extra)

    def _emit(self, level: int, args: tuple[object, ...], extra: Mapping[str, object]) -> None:
        core = self._core
        record = core.record(self._name, level, args, extra=extra, owner=self._owner)
        core.emit(record, level=self._level)


class LoggerService(Logger):
    """What `ctx.logger` is: a logger for the context's fiber that also makes named ones."""

    __slots__ = ("_ctx",)

    def __init__(
        self, core: LoggerCore, ctx: LogContext, layers: Sequence[Mapping[str, Any]] = ()
    ) -> None:
        super().__init__(
            core,
            resolve_name(None, layers, ctx.fiber.name),
            level=resolve_level(layers),
            owner=weakref.ref(ctx.fiber),
        )
        self._ctx = ctx

    def __call__(self, name: str | None = None) -> Logger:
        """Return a logger named `name`, this one without a name."""
        if name is None:
            return self
        return Logger(self._core, name, level=self._level, owner=self._owner)

    @property
    def buffer(self) -> RingBuffer:
        """Return the ring buffer of the tree."""
        return self._core.buffer

    @property
    def core(self) -> LoggerCore:
        """Return the tree's core."""
        return self._core

    def exporter(self, exporter: Exporter, *, replay: bool = False) -> Any:  # noqa: ANN401  # the kernel's disposer
        """Register `exporter` for the life of the calling fiber and return the disposer.

        Args:
            exporter: Receives records; its `levels` are read now.
            replay: First deliver what was logged before, as far as the buffer reaches.
        """
        core = self._core
        return self._ctx.effect(
            lambda: core.add_exporter(exporter, replay=replay), "ctx.logger.exporter()"
        )
