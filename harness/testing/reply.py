"""Describe one scripted HTTP answer down to its bytes, cuts, pauses and end."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from itertools import pairwise
from typing import Literal, TypeAlias

import attrs

from harness.wire import dumps

Ending: TypeAlias = Literal["complete", "close", "reset", "stall"]
Framing: TypeAlias = Literal["chunked", "length", "until-close"]


@attrs.frozen
class Part:
    """One piece of a body: written at once, as one chunk, after its gate and its delay."""

    data: bytes
    delay_s: float = 0.0
    gate: asyncio.Event | None = attrs.field(default=None, repr=False)
    """Waited for before the piece is sent, so that a test decides the moment."""


@attrs.frozen
class Reply:
    """One scripted answer.

    `ending` says what follows the last part: a proper end, a close that leaves the body cut, a
    connection reset, or silence until somebody closes.
    """

    parts: tuple[Part, ...] = ()
    status: int = 200
    headers: tuple[tuple[str, str], ...] = (("content-type", "text/event-stream"),)
    ending: Ending = "complete"
    framing: Framing = "chunked"
    has_head: bool = True
    """Whether status and headers are sent at all; without them only the ending happens."""
    delay_s: float = 0.0
    """Pause before the head, in seconds."""
    gate: asyncio.Event | None = attrs.field(default=None, repr=False)
    """Waited for before the head."""
    name: str = "raw"
    """What the server's records call it."""

    @property
    def body(self) -> bytes:
        """Return all parts joined."""
        return b"".join(part.data for part in self.parts)

    def sliced(self, *offsets: int) -> Reply:
        """Return the same body cut at these byte offsets instead, without pauses."""
        body = self.body
        edges = [0, *sorted(offset for offset in offsets if 0 < offset < len(body)), len(body)]
        return attrs.evolve(self, parts=tuple(Part(body[a:b]) for a, b in pairwise(edges) if a < b))

    def paced(self, delay_s: float) -> Reply:
        """Return the same reply, pausing `delay_s` seconds before every part but the first."""
        first, rest = self.parts[:1], self.parts[1:]
        slow = (attrs.evolve(part, delay_s=delay_s) for part in rest)
        return attrs.evolve(self, parts=(*first, *slow))

    def gated(self, index: int, gate: asyncio.Event) -> Reply:
        """Return the same reply, holding back the part of this index until the gate is set."""
        parts = list(self.parts)
        parts[index] = attrs.evolve(parts[index], gate=gate)
        return attrs.evolve(self, parts=tuple(parts))

    def with_headers(self, **headers: str) -> Reply:
        """Return the same reply with headers added; underscores in names become dashes."""
        more = tuple((name.replace("_", "-"), value) for name, value in headers.items())
        return attrs.evolve(self, headers=self.headers + more)

    def ending_with(self, ending: Ending, *, after_parts: int | None = None) -> Reply:
        """Return the same reply with another end, after its first `after_parts` parts."""
        return attrs.evolve(self, parts=self.parts[:after_parts], ending=ending)


def raw_reply(
    pieces: Iterable[bytes | Part],
    *,
    status: int = 200,
    headers: Iterable[tuple[str, str]] = (("content-type", "text/event-stream"),),
    ending: Ending = "complete",
    framing: Framing = "chunked",
) -> Reply:
    """Return an answer made of exactly these pieces of bytes."""
    parts = tuple(piece if isinstance(piece, Part) else Part(piece) for piece in pieces)
    return Reply(parts, status, tuple(headers), ending, framing)


def json_reply(value: object, *, status: int = 200) -> Reply:
    """Return one JSON document with its length."""
    headers = (("content-type", "application/json"),)
    return Reply((Part(dumps(value)),), status, headers, framing="length", name="json")
