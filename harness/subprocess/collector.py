"""Collect one output stream in bounded memory, with an optional file for all of it."""

from __future__ import annotations

import codecs

from harness.subprocess.service import CollectedStream
from harness.subprocess.spill_file import SpillDirectory, SpillFile
from harness.subprocess.types import Collect, Retained, StreamRead

_CONTINUATION = range(0x80, 0xC0)


class Collector(CollectedStream):
    """Keep the first and the last bytes of a stream; for whoever implements the runtime.

    Invariants:
        `_head` holds the first bytes, up to `head_bytes`.
        `_tail` holds the last bytes that came after `_head`, up to `max_bytes`.
        Nothing is lost while `_total == len(_head) + len(_tail)`.
        The spill file, once open, holds every byte counted by `_total`.
    """

    def __init__(self, limits: Collect, directory: SpillDirectory) -> None:
        self._limits = limits
        self._head = bytearray()
        self._tail = bytearray()
        self._total = 0
        self._closed = False
        self._spill = SpillFile(directory, limits.spill.max_bytes) if limits.spill else None

    def feed(self, chunk: bytes) -> None:
        """Take the next bytes; after `close` they are dropped."""
        if self._closed:
            return
        self._total += len(chunk)
        if self._spill is not None and self._overflows():
            self._spill_over(self._spill, chunk)
        room = self._limits.head_bytes - len(self._head)
        if room > 0:
            self._head += chunk[:room]
            chunk = chunk[room:]
        self._tail += chunk
        excess = len(self._tail) - self._limits.max_bytes
        if excess > 0:
            del self._tail[:excess]

    def close(self) -> None:
        """End the stream: what is held stays readable, the spill file is complete."""
        self._closed = True
        if self._spill is not None:
            self._spill.close()

    def read_from(self, byte_offset: int) -> StreamRead:
        """Return the text after `byte_offset`; see `CollectedStream.read_from`."""
        if byte_offset < 0:
            raise ValueError(f"byte_offset must be 0 or more, got {byte_offset}")
        tail_start = self._total - len(self._tail)
        lossy = False
        if self._is_whole():
            kept = bytes(self._head[byte_offset:]) + self._tail[max(0, byte_offset - tail_start) :]
        elif byte_offset >= tail_start:
            kept = bytes(self._tail[byte_offset - tail_start :])
        else:
            kept, lossy = _trim_start(bytes(self._tail)), True
        text, n_pending = _decode(kept, final=self._closed)
        return StreamRead(
            text=text,
            next_offset=max(byte_offset, self._total) - n_pending,
            lossy=lossy,
            spill_path=self._spill_path(),
        )

    def retained(self) -> Retained:
        """Return both kept ends, cut at character boundaries."""
        if self._is_whole():
            text, _ = _decode(bytes(self._head + self._tail), final=True)
            return self._retained("", text, 0)
        head, n_pending = _decode(bytes(self._head), final=False)
        tail = _trim_start(bytes(self._tail))
        omitted = self._total - (len(self._head) - n_pending) - len(tail)
        return self._retained(head, _decode(tail, final=True)[0], omitted)

    def _retained(self, head: str, tail: str, omitted_bytes: int) -> Retained:
        return Retained(
            head=head,
            tail=tail,
            omitted_bytes=omitted_bytes,
            total_bytes=self._total,
            spill_path=self._spill_path(),
        )

    def _is_whole(self) -> bool:
        return self._total == len(self._head) + len(self._tail)

    def _overflows(self) -> bool:
        return self._total > self._limits.head_bytes + self._limits.max_bytes

    def _spill_over(self, spill: SpillFile, chunk: bytes) -> None:
        if not spill.is_started:
            spill.write(bytes(self._head + self._tail))
        spill.write(chunk)

    def _spill_path(self) -> str | None:
        return None if self._spill is None else self._spill.path


def _trim_start(kept: bytes) -> bytes:
    """Drop what is left of a character whose first bytes were cut off."""
    n_cut = 0
    while n_cut < min(3, len(kept)) and kept[n_cut] in _CONTINUATION:
        n_cut += 1
    return kept[n_cut:]


def _decode(kept: bytes, *, final: bool) -> tuple[str, int]:
    """Return the text and how many bytes at the end are an unfinished character."""
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    text = decoder.decode(kept, final)
    return text, len(decoder.getstate()[0])
