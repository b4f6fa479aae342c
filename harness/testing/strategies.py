"""Generate inputs for properties; needs hypothesis, so it is imported from here, not from the root.

from harness.testing.strategies import slicings, sse_streams
"""

from collections.abc import Sequence

import attrs
from hypothesis import strategies as st

from harness.testing.reply import Reply

_LINE_ENDS = (b"\n", b"\r\n", b"\r")


@attrs.frozen
class SseStream:
    """The bytes of an event stream in pieces, and the payloads that a decoder must find in it."""

    pieces: list[bytes]
    payloads: tuple[str, ...]


def slicings(data: bytes) -> st.SearchStrategy[list[bytes]]:
    """Return ways to cut these bytes, empty pieces included; joined they are the bytes again."""
    cuts = st.lists(st.integers(0, len(data)), max_size=12).map(sorted)
    return cuts.map(lambda at: [data[a:b] for a, b in zip([0, *at], [*at, len(data)], strict=True)])


@st.composite
def sse_streams(draw: st.DrawFn, payloads: Sequence[str]) -> SseStream:
    """Encode payloads in every way the format allows, cut anywhere.

    Line ends are mixed, `data:` lines may lack their space, payloads with newlines take several
    lines, comments, unknown fields and a byte order mark may stand between. Payloads must not be
    empty, hold CR, or begin with a space.
    """
    ends = st.sampled_from(_LINE_ENDS)
    lines: list[bytes] = []
    for payload in payloads:
        noise = st.sampled_from([b": keep-alive", b":", b"event: x", b"id: 7", b"retry: 10", b"z"])
        lines += draw(st.lists(noise, max_size=2))
        prefix = draw(st.sampled_from([b"data: ", b"data:"]))
        lines += (prefix + line.encode() for line in payload.split("\n"))
        lines += [b""] * draw(st.integers(1, 2))
    data = b""
    for line in lines:
        end = draw(ends)
        # After a bare CR, an empty line that ends at LF would read as one CRLF.
        data += line + (b"\r" if not line and end == b"\n" and data.endswith(b"\r") else end)
    if draw(st.booleans()):
        data = b"\xef\xbb\xbf" + data
    return SseStream(draw(slicings(data)), tuple(payloads))


def sliced_replies(reply: Reply) -> st.SearchStrategy[Reply]:
    """Return the reply with its body cut at arbitrary bytes."""
    offsets = st.lists(st.integers(0, len(reply.body)), max_size=12)
    return offsets.map(lambda at: reply.sliced(*at))
