"""The log of one tree: numbers records and hands them to exporters."""

from __future__ import annotations

import itertools
import sys
import threading
import time
import weakref
from collections.abc import Callable, Mapping

from vendor_shims.logger.buffer import RingBuffer
from vendor_shims.logger.exceptions import ExceptionText, exception_texts
from vendor_shims.logger.record import DEBUG, INFO, Exporter, Levels, LogRecord

_TYPES = ("error", "warn", "info", "debug")


class _Sink:
    """One registered exporter with its thresholds."""

    __slots__ = ("busy", "default", "exporter", "levels", "reported")

    def __init__(self, exporter: Exporter) -> None:
        levels: Levels | None = getattr(exporter, "levels", None)
        self.exporter = exporter
        self.levels = levels or {}
        self.default = self.levels.get("default")
        self.busy = False
        """True while the exporter runs: what it logs itself does not come back to it."""
        self.reported = False
        """True once a failure of the exporter was shown on stderr."""

    def threshold(self, name: str, level: int) -> int:
        """Return the least severe level wanted from logger `name`, whose own level is `level`."""
        own = self.levels.get(name, self.default)
        return level if own is None else own


class LoggerCore:
    """Numbers records and hands them to the exporters of one tree.

    Safe to use from several threads; exporters run one record at a time.

    Invariants: `version` grows whenever the set of exporters changes; serial numbers never repeat;
    an exporter's exception never reaches whoever logged.
    """

    def __init__(
        self, clock: Callable[[], float] = time.time, *, buffer: RingBuffer | None = None
    ) -> None:
        self.buffer = RingBuffer() if buffer is None else buffer
        self.version = 0
        self._clock = clock
        self._serial = itertools.count(1)
        self._lock = threading.RLock()
        self._sinks = (_Sink(self.buffer),)

    @property
    def exporters(self) -> tuple[Exporter, ...]:
        """Return the registered exporters in order, the ring buffer first."""
        return tuple(sink.exporter for sink in self._sinks)

    def add_exporter(self, exporter: Exporter, *, replay: bool = False) -> Callable[[], None]:
        """Register `exporter` and return the remover of exactly this registration.

        Args:
            exporter: Receives every later record that passes its threshold.
            replay: First deliver what the ring buffer holds, oldest first.
        """
        sink = _Sink(exporter)
        with self._lock:
            if replay:
                for record in self.buffer.records():
                    self._deliver(sink, record, record.level)
            self._sinks = (*self._sinks, sink)
            self.version += 1

        def remove() -> None:
            with self._lock:
                self._sinks = tuple(other for other in self._sinks if other is not sink)
                self.version += 1

        return remove

    def threshold(self, name: str, level: int) -> int:
        """Return the least severe level that any exporter wants, -1 when there is none."""
        return max((sink.threshold(name, level) for sink in self._sinks), default=-1)

    def record(
        self,
        name: str,
        level: int,
        args: tuple[object, ...],
        *,
        extra: Mapping[str, object],
        owner: weakref.ReferenceType[object] | None = None,
    ) -> LogRecord:
        """Make the next record of logger `name`."""
        kept = tuple(ExceptionText(arg) if isinstance(arg, BaseException) else arg for arg in args)
        return LogRecord(
            sn=next(self._serial),
            ts=int(self._clock() * 1000),
            name=name,
            type=_TYPES[min(max(level, 0), DEBUG)],
            level=level,
            args=kept,
            extra=extra,
            owner=owner,
        )

    def emit(self, record: LogRecord, *, level: int = INFO) -> None:
        """Hand `record` to every exporter whose threshold it passes; `level` is its logger's."""
        with self._lock:
            for sink in self._sinks:
                self._deliver(sink, record, level)

    def _deliver(self, sink: _Sink, record: LogRecord, level: int) -> None:
        if sink.busy or record.level > sink.threshold(record.name, level):
            return
        sink.busy = True
        try:
            sink.exporter.export(record)
        except Exception as error:  # noqa: BLE001  # containing exporters is this method's purpose
            _report_once(sink, error)
        finally:
            sink.busy = False


def _report_once(sink: _Sink, error: Exception) -> None:
    if sink.reported:
        return
    sink.reported = True
    name = type(sink.exporter).__name__
    try:
        sys.stderr.write(f"log exporter {name} failed and goes on failing silently:\n")
        sys.stderr.write("\n".join(exception_texts(error)) + "\n")
    except (AttributeError, OSError, ValueError):
        pass  # stderr is missing, broken or closed: nobody is left to tell
