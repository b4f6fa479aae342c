"""Write and read the marker line that ends the text of every command result."""

from __future__ import annotations

import re

from harness.subprocess import ProcessExit

_MARKER = re.compile(r"\[(?:exit code: (-?\d+)|killed by signal: (SIG[A-Z0-9+]+))\]")


def format_exit_status(ended: ProcessExit) -> str:
    """Return the marker line for an end, without a newline."""
    if ended.signal is not None:
        return f"[killed by signal: {ended.signal}]"
    if ended.exit_code is not None:
        return f"[exit code: {ended.exit_code}]"
    return "[exit status unknown]"


def parse_exit_status(text: str) -> ProcessExit | None:
    """Return what the last line of `text` says about the end, or None when it is no marker.

    Only the last line counts, so output that imitates a marker cannot mislead.
    """
    found = _MARKER.fullmatch(text.rstrip("\n").rpartition("\n")[2])
    if found is None:
        return None
    code, signal = found.groups()
    return ProcessExit(exit_code=None if code is None else int(code), signal=signal)
