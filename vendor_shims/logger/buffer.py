"""Keep the newest records, so that an exporter mounted later can catch up."""

from __future__ import annotations

from collections import deque

from vendor_shims.logger.record import Levels, LogRecord


class RingBuffer:
    """An exporter that remembers the last `size` records.

    Invariants: never longer than `size`; oldest first; every `sn` once.
    """

    def __init__(self, size: int = 1000, *, levels: Levels | None = None) -> None:
        self.levels = levels
        self._records: deque[LogRecord] = deque(maxlen=size)

    def export(self, record: LogRecord) -> None:
        """Append one record, dropping the oldest when full."""
        self._records.append(record)

    def records(self) -> tuple[LogRecord, ...]:
        """Return a copy of what is kept, oldest first."""
        return tuple(self._records)

    def __len__(self) -> int:
        return len(self._records)
