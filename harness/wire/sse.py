"""Decode server-sent events from raw bytes.

Source: the event stream format of the HTML standard, section 9.2. Differs from it: an event whose
data is empty is not dispatched, and lines and events are capped.
"""

from typing import NamedTuple, NoReturn, TypeAlias

from harness.wire.errors import SseEventTooLargeError

_BOM = b"\xef\xbb\xbf"
_LF, _CR = 0x0A, 0x0D  # a byte is found in bytes at a fraction of what a bytes of length one costs
_DEFAULT_MAX_BYTES = 16 * 1024 * 1024
_Raw: TypeAlias = tuple[bytes, bytes, str]  # data, type and id of an event


class SseEvent(NamedTuple):
    """One dispatched event: its data lines joined by newlines, its type and the last id seen."""

    data: str
    event: str = "message"
    id: str = ""


class SseDecoder:
    """Collect bytes and hand out whole events.

    Any slicing of the same bytes gives the same events, followed by the same error if one is too
    large. Lines end at CR, LF or CRLF, in any mixture; nothing else ends a line. Bytes that are
    no UTF-8 become U+FFFD. An event that the end of the stream cuts is never dispatched.

    Invariants:
        - `_pending` is the beginning of the current line in pieces and holds no line end.
        - `_pending_size` and `_data_size` count the bytes held; neither exceeds `max_bytes`.
        - `_is_between` is true only when nothing is held: the next byte begins an event.
    """

    def __init__(self, max_bytes: int = _DEFAULT_MAX_BYTES) -> None:
        """Accept events and lines of up to `max_bytes` bytes each."""
        self.comments: int = 0
        """How many comment lines have been seen: peers send them to keep a stream alive."""
        self.retry_ms: int | None = None
        """The reconnection delay that the peer has asked for, in milliseconds."""
        self._max_bytes = max_bytes
        self._pending: list[bytes] = []
        self._pending_size = 0
        self._data: list[bytes] = []
        self._data_size = 0
        self._event = b""
        self._id = ""
        self._is_between = False
        self._start: bytes | None = b""  # bytes that may be a byte order mark; None once decided
        self._skip_lf = False
        self._overrun = False

    @property
    def has_partial(self) -> bool:
        """Return whether a line or an event has begun and is not complete."""
        return bool(self._pending_size or self._data or self._start)

    def feed(self, data: bytes) -> list[SseEvent]:
        """Return the events that these bytes complete, oldest first.

        Raises:
            SseEventTooLargeError: an event or a line is larger than `max_bytes`. Events before it
                are returned first and the next call raises; from then on every call does.
        """
        return [
            SseEvent(text.decode("utf-8", "replace"), kind.decode("utf-8", "replace"), ident)
            for text, kind, ident in self._feed(data)
        ]

    def feed_data(self, data: bytes) -> list[bytes]:
        """Return only the data of the events that these bytes complete, as the peer's bytes.

        Costs a fraction of `feed`; most of all for bytes that are exactly one event of one line,
        which is what a model's answer comes in. Errors are as in `feed`.
        """
        if (
            self._is_between
            and data[:6] == b"data: "
            and data.find(b"\n") == len(data) - 2
            and data[-1] == _LF
            and _CR not in data
            and 8 < len(data) <= self._max_bytes
        ):
            return [data[6:-2]]
        return [text for text, _, _ in self._feed(data)]

    def _feed(self, data: bytes) -> list[_Raw]:
        if self._overrun:
            self._refuse()
        if self._skip_lf or _CR in data:
            data = self._normalize(data)
        if self._start is not None:
            data = self._without_bom(data)
        if _LF not in data:
            self._hold(data)
            events: list[_Raw] = []
        else:
            if self._pending:
                self._pending.append(data)
                data = b"".join(self._pending)
                self._pending.clear()
                self._pending_size = 0
            events = self._split(data)
        self._is_between = not (
            self._pending_size
            or self._data
            or self._event
            or self._start is not None
            or self._skip_lf
            or self._overrun
        )
        if self._overrun and not events:
            self._refuse()
        return events

    def _split(self, data: bytes) -> list[_Raw]:
        """Take every whole line of these bytes, which begin at the beginning of a line.

        Nearly every event is one `data:` line, so the bytes are cut at blank lines first; a cut
        that is not of that kind goes line by line.
        """
        events: list[_Raw] = []
        blocks = data.split(b"\n\n")
        rest = blocks.pop()
        for block in blocks:
            if (
                block[:6] == b"data: "
                and _LF not in block
                and 6 < len(block) <= self._max_bytes
                and not (self._data or self._event)
            ):
                events.append((block[6:], b"message", self._id))
                continue
            for line in block.split(b"\n"):
                self._line(line, events)
            self._dispatch(events)
            if self._overrun:
                return events
        lines = rest.split(b"\n")
        tail = lines.pop()
        for line in lines:
            self._line(line, events)
        if not self._overrun:
            self._hold(tail)
        return events

    def _line(self, line: bytes, events: list[_Raw]) -> None:
        if self._overrun:
            return
        if len(line) > self._max_bytes:
            self._fail()
        elif not line:
            self._dispatch(events)
        elif line.startswith(b":"):
            self.comments += 1
        else:
            name, _, value = line.partition(b":")
            self._field(name, value.removeprefix(b" "))

    def _field(self, name: bytes, value: bytes) -> None:
        if name == b"data":
            self._data_size += len(value) + 1
            if self._data_size > self._max_bytes:
                self._fail()
            else:
                self._data.append(value)
        elif name == b"event":
            self._event = value
        elif name == b"id":
            if b"\0" not in value:
                self._id = value.decode("utf-8", "replace")
        elif name == b"retry" and value.isdigit() and len(value) < 10:
            self.retry_ms = int(value)

    def _dispatch(self, events: list[_Raw]) -> None:
        if self._data:
            text = b"\n".join(self._data)
            if text:
                events.append((text, self._event or b"message", self._id))
            self._data = []
            self._data_size = 0
        self._event = b""

    def _hold(self, piece: bytes) -> None:
        self._pending_size += len(piece)
        if self._pending_size > self._max_bytes:
            self._fail()
        elif piece:
            self._pending.append(piece)

    def _normalize(self, data: bytes) -> bytes:
        """Turn CR and CRLF into LF, also when a CRLF is cut between two calls."""
        if self._skip_lf and data:
            data = data.removeprefix(b"\n")
            self._skip_lf = False
        if data.endswith(b"\r"):
            self._skip_lf = True
        return data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")

    def _without_bom(self, data: bytes) -> bytes:
        """Drop a byte order mark at the very beginning, also when it comes in pieces."""
        data = (self._start or b"") + data
        if len(data) < len(_BOM) and _BOM.startswith(data):
            self._start = data
            return b""
        self._start = None
        return data.removeprefix(_BOM)

    def _fail(self) -> None:
        """Stop for good and let go of everything held."""
        self._overrun = True
        self._pending.clear()
        self._data = []

    def _refuse(self) -> NoReturn:
        raise SseEventTooLargeError(
            f"the peer sent an event or a line larger than {self._max_bytes} bytes"
        )
