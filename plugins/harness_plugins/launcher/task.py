"""Put the task together from the words of the command line and from standard input."""

import os
import select
import time
from collections.abc import Sequence

from harness_plugins.launcher.complaint import Complaint
from harness_plugins.launcher.descriptors import STDIN, complain_on_stderr
from harness_plugins.launcher.errors import CommandError, UsageError

MAX_STDIN_BYTES = 16 * 1024 * 1024
TIMED_OUT = 124
_BLOCK_BYTES = 1024 * 1024
_PATIENCE_S = 3.0


def read_task(words: Sequence[str], *, from_stdin: bool, deadline: float | None) -> str:
    """Return the words, joined by blanks, with standard input behind them after a blank line.

    What is only white space counts as nothing, so the task may come out empty.

    Args:
        words: what the command line says; may be empty.
        from_stdin: whether standard input belongs to the task.
        deadline: `time.monotonic` at which waiting for standard input ends.

    Raises:
        UsageError: a part of the task is no text, or too long.
        CommandError: standard input did not end in time.
    """
    parts = [_checked_words(words)]
    if from_stdin:
        parts.append(_decode(_read_stdin(deadline, is_extra=bool(words))))
    return "\n\n".join(part for part in parts if part.strip())


def _checked_words(words: Sequence[str]) -> str:
    text = " ".join(words)
    try:
        text.encode()
    except UnicodeEncodeError:
        raise UsageError(f"the task is not valid UTF-8: {text!r}") from None
    return text


def _decode(data: bytes) -> str:
    """Return standard input as text; it is refused rather than changed when it is none."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UsageError(
            f"standard input is not UTF-8: byte 0x{data[error.start]:02x} at offset {error.start}",
            "convert it: … | iconv -f latin1 -t utf-8 | dsh run -",
            "or drop what is no text: … | iconv -c -t utf-8 | dsh run -",
        ) from None
    nul = data.find(b"\0")
    if nul >= 0:
        raise UsageError(f"standard input is no text: it holds a NUL at offset {nul}")
    return text.replace("\r\n", "\n").rstrip("\n")


def _read_stdin(deadline: float | None, *, is_extra: bool) -> bytes:
    """Read to the end; say so once when nothing comes although the task is known."""
    data = bytearray()
    notice_at = time.monotonic() + _PATIENCE_S if is_extra else None
    while True:
        if not _is_ready(deadline, notice_at):
            if deadline is not None and time.monotonic() >= deadline:
                raise CommandError(
                    Complaint("TIMEOUT", "standard input did not end in time", status=TIMED_OUT)
                )
            complain_on_stderr("dsh: note: still reading standard input; `< /dev/null` skips it\n")
            notice_at = None
            continue
        notice_at = None
        block = os.read(STDIN, _BLOCK_BYTES)
        if not block:
            return bytes(data)
        data += block
        if len(data) > MAX_STDIN_BYTES:
            raise UsageError(
                f"standard input has more than {MAX_STDIN_BYTES} bytes",
                "write it to a file and name the file in the task",
            )


def _is_ready(*moments: float | None) -> bool:
    """Wait until standard input has something, or until the first of the moments."""
    limits = [moment for moment in moments if moment is not None]
    timeout_s = max(0.0, min(limits) - time.monotonic()) if limits else None
    return bool(select.select((STDIN,), (), (), timeout_s)[0])
