"""Cut a window of lines out of a streamed text, in bounded memory."""

from attrs import frozen

MAX_LINES = 2000
"""Lines in one window, by default and at most."""

MAX_LINE_CHARS = 2000
"""Longer lines are cut."""

MAX_WINDOW_BYTES = 50 * 1024
"""UTF-8 bytes of the lines of one window, joined by newlines."""

_CUT = f"... (line truncated to {MAX_LINE_CHARS} chars)"
_COUNTED_IN_ONE_GO = 4096


@frozen
class Window:
    """Hold consecutive lines, the first of them number `offset`, and how many the text has."""

    offset: int
    lines: tuple[str, ...]
    total_lines: int


class LineWindow:
    """Collect the lines from `offset` on (1-based) while the chunks of a text pass by.

    Lines end with LF; one CR before it, or at the end of the text, is not shown. At most one byte
    cap and `limit` lines are kept, and of any line at most one character more than is shown.
    """

    def __init__(self, offset: int, limit: int) -> None:
        self._offset = offset
        self._limit = limit
        self._lines: list[str] = []
        self._n_bytes = 0
        self._n_ends = 0
        self._head = ""
        self._n_chars = 0
        self._is_open = False
        self._is_full = False

    def feed(self, chunk: str) -> None:
        """Take the next chunk, which must not be empty."""
        position = self._skip(chunk)
        while not self._is_full and position < len(chunk):
            end = chunk.find("\n", position)
            stop = len(chunk) if end < 0 else end
            self._extend(chunk, position, stop)
            if end < 0:
                break
            self._end_line()
            self._n_ends += 1
            position = end + 1
        else:
            self._n_ends += chunk.count("\n", position)
        self._is_open = not chunk.endswith("\n")

    def finish(self) -> Window:
        """Return the window after the last chunk; lines are empty when it lies beyond the end."""
        if self._is_open and not self._is_full and self._n_ends >= self._offset - 1:
            self._end_line()
        return Window(self._offset, tuple(self._lines), self._n_ends + self._is_open)

    def _skip(self, chunk: str) -> int:
        """Return where the window starts in the chunk, counting the line ends before it."""
        missing = self._offset - 1 - self._n_ends
        if missing <= 0:
            return 0
        here = chunk.count("\n")
        if here < missing:
            self._n_ends += here
            return len(chunk)
        self._n_ends += missing
        return _after_line_end(chunk, missing)

    def _extend(self, chunk: str, start: int, stop: int) -> None:
        room = MAX_LINE_CHARS + 1 - len(self._head)
        self._head += chunk[start : min(stop, start + room)]
        self._n_chars += stop - start

    def _end_line(self) -> None:
        text = self._head
        if self._n_chars <= MAX_LINE_CHARS + 1:
            text = text.removesuffix("\r")
        if len(text) > MAX_LINE_CHARS:
            text = text[:MAX_LINE_CHARS] + _CUT
        self._head, self._n_chars = "", 0
        n_bytes = len(text.encode()) + bool(self._lines)
        if self._lines and self._n_bytes + n_bytes > MAX_WINDOW_BYTES:
            self._is_full = True
            return
        self._n_bytes += n_bytes
        self._lines.append(text)
        self._is_full = len(self._lines) == self._limit


def _after_line_end(chunk: str, n: int) -> int:
    """Return the position after the n-th line end of a chunk that has so many."""
    low, high = 0, len(chunk)
    while high - low > _COUNTED_IN_ONE_GO:
        middle = (low + high) // 2
        before = chunk.count("\n", low, middle)
        if before >= n:
            high = middle
        else:
            low, n = middle, n - before
    for _ in range(n):
        low = chunk.index("\n", low) + 1
    return low
