"""Print records as lines on a terminal or into any text stream, stderr by default.

A line is time, `[I]`, margin, label padded to its width, space, message; with a label aligned
right it is time, label, margin, `[I]`, margin, message. Later lines of a message start under
its first character. Control characters in messages are shown by their codes, so that logged text
cannot drive the terminal.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TextIO

from vendor_shims.logger.format import (
    MAX_LINE_LENGTH,
    colour_code,
    escape_controls,
    format_message,
    paint,
)
from vendor_shims.logger.record import Formatter, Levels, LogRecord

DEFAULT_TIME = "yyyy-MM-dd hh:mm:ss "
"""Time template; the letters yyyy, MM, dd, hh, mm, ss and SSS are replaced, local time."""

_GREY = 8
_LETTERS = {0: "E", 1: "W", 2: "I", 3: "D"}
_LETTER_COLOURS = {0: 1, 1: 3, 2: 2, 3: _GREY}


@dataclass(frozen=True, slots=True, kw_only=True)
class Label:
    """How the logger name is laid out; all in characters."""

    width: int = 0
    margin: int = 1
    align: Literal["left", "right"] = "left"


class ConsoleExporter:
    """Write each record as one coloured or plain line.

    Args:
        colors: False or 0 none, 1 sixteen, 2 and 3 rich; None asks the environment (`NO_COLOR`,
            `FORCE_COLOR`, `TERM`) and whether the stream is a terminal.
        levels: Thresholds by logger name, `default` for the others.
        max_length: Longest line in characters, longer ones are cut and get `...`.
        show_time: Template as `DEFAULT_TIME`; empty prints no time.
        show_diff: Append the time since the previous line, such as ` +2ms`.
        label: Layout of the logger name.
        formatters: Extra renderers by placeholder letter.
        stream: Where to write; None is whatever `sys.stderr` is at that moment.
    """

    def __init__(
        self,
        *,
        colors: bool | int | None = None,
        levels: Levels | None = None,
        max_length: int = MAX_LINE_LENGTH,
        show_time: str = DEFAULT_TIME,
        show_diff: bool = False,
        label: Label | None = None,
        formatters: Mapping[str, Formatter] | None = None,
        stream: TextIO | None = None,
    ) -> None:
        self.levels = levels
        self._colors = detect_colors(stream or sys.stderr) if colors is None else int(colors)
        self._max_length = max_length
        self._show_time = show_time
        self._show_diff = show_diff
        self._label = label or Label()
        self._formatters = formatters
        self._stream = stream
        self._previous_ts: int | None = None

    def export(self, record: LogRecord) -> None:
        """Write one record and flush.

        Raises:
            OSError: The stream is broken.
            ValueError: The stream is closed.
        """
        stream = self._stream or sys.stderr
        line = self.render(record) + "\n"
        try:
            stream.write(line)
        except UnicodeEncodeError:
            encoding = stream.encoding or "ascii"
            stream.write(line.encode(encoding, "backslashreplace").decode(encoding))
        stream.flush()

    def render(self, record: LogRecord) -> str:
        """Return the text of one record without the final newline."""
        colors = self._colors
        name = escape_controls(record.name)
        code = colour_code(record.name, colors)
        level = min(max(record.level, 0), 3)
        bracket = paint(f"[{_LETTERS[level]}]", _LETTER_COLOURS[level], colors=colors)
        stamp = time_text(self._show_time, record.ts)
        padding = " " * max(0, self._label.width - len(name))
        margin = " " * self._label.margin
        label = paint(name, code, colors=colors, bold=True)
        head = paint(stamp, _GREY, colors=colors) if stamp else ""
        if self._label.align == "right":
            head += f"{padding}{label}{margin}{bracket}{margin}"
            indent = len(stamp) + len(padding) + len(name) + 2 * len(margin) + 3
        else:
            head += f"{bracket}{margin}{label}{padding} "
            indent = len(stamp) + 3 + len(margin) + len(name) + len(padding) + 1
        message = format_message(
            record,
            formatters=self._formatters,
            max_length=self._max_length,
            colors=colors,
            escape=True,
        )
        tail = paint(self._diff(record), code, colors=colors) if self._show_diff else ""
        return head + message.replace("\n", "\n" + " " * indent) + tail

    def _diff(self, record: LogRecord) -> str:
        previous, self._previous_ts = self._previous_ts, record.ts
        return "" if previous is None else f" +{duration_text(record.ts - previous)}"


def detect_colors(stream: TextIO) -> int:
    """Return the colour level for `stream`, 0 to 3, from the environment and the stream.

    `NO_COLOR` (any value) means none; `FORCE_COLOR` gives the level, an empty or other value 1;
    otherwise terminals get colours by `TERM` and `COLORTERM`, everything else none.
    """
    env = os.environ
    if env.get("NO_COLOR"):
        return 0
    forced = env.get("FORCE_COLOR")
    if forced is not None:
        if forced in {"0", "false"}:
            return 0
        return int(forced) if forced in {"1", "2", "3"} else 1
    if not stream.isatty() or env.get("TERM") == "dumb":
        return 0
    if env.get("COLORTERM") in {"truecolor", "24bit"}:
        return 3
    return 2 if "256" in env.get("TERM", "") else 1


def time_text(template: str, ts_ms: int) -> str:
    """Return the local time of `ts_ms` (milliseconds) in the form of `template`."""
    if not template:
        return ""
    moment = time.localtime(ts_ms / 1000)
    for token, value in (
        ("yyyy", f"{moment.tm_year:04}"),
        ("MM", f"{moment.tm_mon:02}"),
        ("dd", f"{moment.tm_mday:02}"),
        ("hh", f"{moment.tm_hour:02}"),
        ("mm", f"{moment.tm_min:02}"),
        ("SSS", f"{ts_ms % 1000:03}"),
        ("ss", f"{moment.tm_sec:02}"),
    ):
        template = template.replace(token, value)
    return template


def duration_text(ms: int) -> str:
    """Return a duration in its largest fitting unit: `2ms`, `3s`, `4m`, `5h`, `6d`."""
    size = abs(ms)
    for unit, length_ms in (("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1000)):
        if size >= length_ms:
            return f"{round(ms / length_ms)}{unit}"
    return f"{ms}ms"
