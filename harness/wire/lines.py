"""Cut a byte stream into lines at newline bytes and nowhere else."""

from typing import NoReturn

from harness.wire.errors import LineTooLongError


class LineFramer:
    """Collect bytes and hand out whole lines, without their newline byte.

    A CR before the newline, U+2028 and NUL are ordinary bytes of a line. Any slicing of the same
    bytes gives the same lines, followed by the same error if a line is too long. The work is
    linear in the bytes fed, however small the pieces.

    Invariants:
        - `_pending` is the beginning of the current line in pieces and holds no newline.
        - `_size` is their total length and never exceeds `max_bytes`.
    """

    def __init__(self, max_bytes: int) -> None:
        """Accept lines of up to `max_bytes` bytes, the newline not counted."""
        if max_bytes < 1:
            raise ValueError(f"max_bytes must be positive, got {max_bytes!r}")
        self._max_bytes = max_bytes
        self._pending: list[bytes] = []
        self._size = 0
        self._lines_seen = 0
        self._overrun = False

    @property
    def pending_bytes(self) -> int:
        """Return how many bytes of an unfinished line are held."""
        return self._size

    def feed(self, data: bytes) -> list[bytes]:
        """Return the lines that these bytes complete, oldest first.

        Raises:
            LineTooLongError: the current line is longer than `max_bytes`. Lines before it are
                returned first and the next call raises; from then on every call does.
        """
        if self._overrun:
            self._refuse()
        first, *rest = data.split(b"\n")
        if not rest:
            self._hold(first)
            if self._overrun:
                self._refuse()
            return []
        tail = rest.pop()
        if self._pending:
            self._pending.append(first)
            first = b"".join(self._pending)
            self._pending.clear()
            self._size = 0
        lines = self._checked([first, *rest])
        if not self._overrun:
            self._hold(tail)
        self._lines_seen += len(lines)
        if self._overrun and not lines:
            self._refuse()
        return lines

    def finish(self) -> bytes | None:
        """End the stream and return the last line if it had no newline, else None.

        Raises:
            LineTooLongError: as in `feed`.
        """
        if self._overrun:
            self._refuse()
        tail = b"".join(self._pending)
        self._pending.clear()
        self._size = 0
        return tail or None

    def _hold(self, piece: bytes) -> None:
        self._size += len(piece)
        if self._size > self._max_bytes:
            self._overrun = True
            self._pending.clear()
            self._size = 0
        elif piece:
            self._pending.append(piece)

    def _checked(self, lines: list[bytes]) -> list[bytes]:
        """Return the lines before the first one that is too long, and remember the overrun."""
        for index, line in enumerate(lines):
            if len(line) > self._max_bytes:
                self._overrun = True
                return lines[:index]
        return lines

    def _refuse(self) -> NoReturn:
        raise LineTooLongError(
            f"line {self._lines_seen + 1} is longer than {self._max_bytes} bytes; "
            f"raise the limit or send shorter lines"
        )
