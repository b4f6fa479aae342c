"""Join the log service and Python's `logging`, in both directions."""

from __future__ import annotations

import logging
from collections.abc import Callable

from vendor_shims.logger.core import LoggerCore
from vendor_shims.logger.format import format_message
from vendor_shims.logger.record import DEBUG, ERROR, INFO, WARN, Levels, LogRecord
from vendor_shims.logger.service import Logger, LoggerService

_MARK = "from_log_service"
_TO_STDLIB = {ERROR: logging.ERROR, WARN: logging.WARNING, INFO: logging.INFO, DEBUG: logging.DEBUG}


class StdlibBridge(logging.Handler):
    """Forwards standard log records, such as those of httpx, into the service.

    Records that `StdlibExporter` wrote are left out, so both may be used together.
    """

    def __init__(self, target: LoggerService | LoggerCore, *, level: int = logging.NOTSET) -> None:
        super().__init__(level)
        self._core = target.core if isinstance(target, LoggerService) else target
        self._loggers: dict[str, Logger] = {}

    def emit(self, record: logging.LogRecord) -> None:
        """Log one standard record under its own logger's name, exceptions after the text."""
        if getattr(record, _MARK, False):
            return
        logger = self._loggers.get(record.name)
        if logger is None:
            logger = self._loggers[record.name] = Logger(self._core, record.name)
        level = _severity(record.levelno)
        if not logger.is_enabled(level):
            return
        try:
            text = record.getMessage()
        except Exception:  # noqa: BLE001  # template and arguments of a library may not fit
            text = f"{record.msg} {record.args!r}"
        logger.log(level, "%s", text)
        error = record.exc_info[1] if record.exc_info else None
        if error is not None:
            logger.log(level, error)

    def install(self, logger: logging.Logger | None = None) -> Callable[[], None]:
        """Attach to a standard logger, the root one by default, and return the remover.

        As an effect: `ctx.effect(lambda: StdlibBridge(ctx.logger).install(), "stdlib logging")`.
        """
        target = logging.getLogger() if logger is None else logger
        target.addHandler(self)
        return lambda: target.removeHandler(self)


class StdlibExporter:
    """Writes the service's records to the standard logger of the same name.

    Args:
        prefix: Put before every logger name, for example `dsh.`.
        levels: Thresholds by logger name, `default` for the others.
    """

    def __init__(self, *, prefix: str = "", levels: Levels | None = None) -> None:
        self.levels = levels
        self._prefix = prefix

    def export(self, record: LogRecord) -> None:
        """Write one record, its text already formatted."""
        level = _TO_STDLIB[min(max(record.level, ERROR), DEBUG)]
        logging.getLogger(self._prefix + record.name).log(
            level, "%s", format_message(record), extra={_MARK: True}
        )


def _severity(levelno: int) -> int:
    if levelno >= logging.ERROR:
        return ERROR
    if levelno >= logging.WARNING:
        return WARN
    return INFO if levelno >= logging.INFO else DEBUG
