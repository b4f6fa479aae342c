"""Decide where the log of a run goes: to stderr, into a file, or only its errors, as notes."""

import os
from collections.abc import Callable, Mapping
from typing import Final, TextIO

from harness_plugins.launcher.complaint import Complaint
from harness_plugins.launcher.errors import CommandError
from harness_plugins.launcher.launch_options import LaunchOptions
from vendor_shims.cordis import Context
from vendor_shims.logger import (
    DEBUG,
    ERROR,
    INFO,
    WARN,
    ConsoleExporter,
    LogRecord,
    format_message,
)

_LEVELS: Final = {"error": ERROR, "warn": WARN, "info": INFO, "debug": DEBUG}
_MAX_CHARS = 300
_TRACEBACK = "Traceback (most"


def write_log(root: Context, launch: LaunchOptions, environ: Mapping[str, str]) -> bool:
    """Write the log where the user wants it, from the first record on; return whether anywhere.

    The level is that of `--log-level`, else of `DSH_LOG`, else `debug` with `--debug` and `info`
    without. The file of `--log-file`, else of `DSH_LOG_FILE`, is appended to; with a level but no
    file the log goes to stderr, and with `--debug` always.

    Raises:
        CommandError: `DSH_LOG` is no level, or the file cannot be opened.
    """
    level = launch.log_level or environ.get("DSH_LOG", "").strip()
    if level and level not in _LEVELS:
        expected = ", ".join(_LEVELS)
        sentence = f"DSH_LOG expects one of {expected}; found {level!r}"
        raise CommandError(Complaint("CONFIG_INVALID", sentence))
    path = launch.log_file or environ.get("DSH_LOG_FILE", "").strip()
    levels = {"default": _LEVELS[level or ("debug" if launch.is_debug else "info")]}
    if path:
        stream = _opened(path)
        root.effect(lambda: stream.close, "log file")  # undone after the exporter's removal
        root.logger.exporter(
            ConsoleExporter(colors=False, levels=levels, stream=stream), replay=True
        )
    if launch.is_debug or (level and not path):
        root.logger.exporter(ConsoleExporter(levels=levels), replay=True)
        return True
    return bool(path)


def note_changes_not_taken(root: Context, tell: Callable[[str], object]) -> None:
    """Tell in one line each what include and hot reload could not keep or take.

    Of what was raised before this, the report of the boot has told.
    """
    notes = _Notes(tell)
    root.logger.exporter(notes, replay=True)
    notes.is_live = True


class _Notes:
    """Takes the errors of two services.

    What is also told as an event has another listener.
    """

    levels: Final = {"default": -1, "include": ERROR, "hmr": ERROR}

    def __init__(self, tell: Callable[[str], object]) -> None:
        self._tell = tell
        self.is_live = False

    def export(self, record: LogRecord) -> None:
        """Tell one record."""
        if "event" in record.extra:
            return
        text = format_message(record, escape=True)
        if self.is_live or _TRACEBACK not in text:
            self._tell(_in_one_line(text)[:_MAX_CHARS])


def _in_one_line(text: str) -> str:
    """Return the first line; of a traceback what was raised, and where."""
    lines = [line.strip() for line in text.strip().split("\n")]
    if not any(_TRACEBACK in line for line in lines):
        return lines[0]
    first = "" if _TRACEBACK in lines[0] else f"{lines[0]} "
    places = [line for line in lines if line.startswith('File "')]
    return f"{first}{lines[-1]}" + (f" ({places[-1]})" if places else "")


def _opened(path: str) -> TextIO:
    """Open a log file for the user alone.

    Raises:
        CommandError: it cannot be written.
    """
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        return open(descriptor, "a", encoding="utf-8", errors="backslashreplace")
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else str(error)
        sentence = f"the log file {path} cannot be written: {why}"
        raise CommandError(Complaint("STORAGE_DENIED", sentence, status=3)) from error
