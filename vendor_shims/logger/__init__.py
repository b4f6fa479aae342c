"""Log records with severities, exporters that can be swapped while running, a console printer."""

from vendor_shims.logger.buffer import RingBuffer
from vendor_shims.logger.console import ConsoleExporter, Label
from vendor_shims.logger.console_plugin import ConsolePlugin
from vendor_shims.logger.core import LoggerCore
from vendor_shims.logger.format import format_message
from vendor_shims.logger.names import kebab_case, resolve_level, resolve_name
from vendor_shims.logger.record import (
    DEBUG,
    ERROR,
    INFO,
    WARN,
    Exporter,
    Formatter,
    Levels,
    LogRecord,
)
from vendor_shims.logger.service import LogContext, Logger, LoggerService, LogOwner
from vendor_shims.logger.stdlib import StdlibBridge, StdlibExporter

__all__ = [
    "DEBUG",
    "ERROR",
    "INFO",
    "WARN",
    "ConsoleExporter",
    "ConsolePlugin",
    "Exporter",
    "Formatter",
    "Label",
    "Levels",
    "LogContext",
    "LogOwner",
    "LogRecord",
    "Logger",
    "LoggerCore",
    "LoggerService",
    "RingBuffer",
    "StdlibBridge",
    "StdlibExporter",
    "format_message",
    "kebab_case",
    "resolve_level",
    "resolve_name",
]
