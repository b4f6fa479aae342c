"""Write batches of events as the lines of a log."""

from collections.abc import Iterable

from harness.session import SessionEvent, event_to_json
from harness.session_persistence.chunk_rows import pack_chunk_runs
from harness.session_persistence.errors import EventTooLargeError
from harness.wire import dumps


def encode_lines(
    events: Iterable[SessionEvent], *, pack_chunks: bool, max_line_bytes: int
) -> bytes:
    """Return the lines of a batch, each ended by a line feed.

    Raises:
        EventTooLargeError: a line is longer than a reader accepts.
    """
    records = pack_chunk_runs(events) if pack_chunks else [event_to_json(e) for e in events]
    lines: list[bytes] = []
    for record in records:
        line = dumps(record)
        if len(line) > max_line_bytes:
            raise EventTooLargeError(record["type"], n_bytes=len(line), max_bytes=max_line_bytes)
        lines.append(line)
    lines.append(b"")
    return b"\n".join(lines)
