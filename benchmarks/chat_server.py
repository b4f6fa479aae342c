"""Answer chat-completions requests from canned bytes, in a process of its own.

    python -m benchmarks.chat_server

It listens on a free loopback port, prints that port, and ends with its standard input. The `model`
of a request chooses the answer: `text-N` is one answer of N deltas, handed to the socket at once;
`tools-N` is one call of the tool `tick` while the request holds fewer than N of its results, then
a short text. Every event travels in an HTTP chunk of its own, as real providers send them.
"""

import asyncio
import contextlib
import re
import sys
from functools import cache

from harness.wire import dumps

MARKER = b"TICKOK"
"""What each result of the tool holds exactly once, so that the server can count results."""

_MODEL = re.compile(rb'"model"\s*:\s*"([a-z]+)-(\d+)"')
_LENGTH = re.compile(rb"content-length: *(\d+)", re.IGNORECASE)
_HEAD = (
    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\n"
    b"cache-control: no-cache\r\ntransfer-encoding: chunked\r\n\r\n"
)


def _chunk(payload: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(payload), payload)


def _event(delta: dict[str, object], finish: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    body = {
        "id": "chatcmpl-canned",
        "object": "chat.completion.chunk",
        "created": 1_700_000_000,
        "model": "canned",
        "choices": [choice],
    }
    return b"data: " + dumps(body) + b"\n\n"


_USAGE = {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}
_TAIL = b"".join(
    [
        _chunk(b"data: " + dumps({"choices": [], "usage": _USAGE}) + b"\n\n"),
        _chunk(b"data: [DONE]\n\n"),
        b"0\r\n\r\n",
    ]
)


def text_pieces(n_deltas: int) -> list[bytes]:
    """Return the events of an answer of `n_deltas` text deltas, up to its usage."""
    deltas = [_event({"content": f"tok{i % 10} "}) for i in range(n_deltas)]
    return [_event({"role": "assistant", "content": ""}), *deltas, _event({}, "stop")]


@cache
def _text_answer(n_deltas: int) -> bytes:
    return b"".join([_HEAD, *map(_chunk, text_pieces(n_deltas)), _TAIL])


def _call_answer(number: int) -> bytes:
    head = {"index": 0, "id": f"call_{number}", "type": "function"}
    opening = {**head, "function": {"name": "tick", "arguments": ""}}
    pieces = [
        {"index": 0, "function": {"arguments": text}} for text in ('{"n"', ": ", f"{number}}}")
    ]
    events = [_event({"tool_calls": [piece]}) for piece in (opening, *pieces)]
    return b"".join([_HEAD, *map(_chunk, [*events, _event({}, "tool_calls")]), _TAIL])


def _answer(body: bytes) -> bytes:
    found = _MODEL.search(body)
    kind, count = (found[1], int(found[2])) if found else (b"text", 1)
    if kind == b"text":
        return _text_answer(count)
    n_done = body.count(MARKER)
    return _call_answer(n_done) if n_done < count else _text_answer(3)


class _Connection(asyncio.Protocol):
    """Serve one connection; requests on it are answered in order."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._transport: asyncio.WriteTransport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.WriteTransport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        while (end := self._buffer.find(b"\r\n\r\n")) >= 0:
            length = _LENGTH.search(self._buffer, 0, end)
            stop = end + 4 + (int(length[1]) if length else 0)
            if len(self._buffer) < stop:
                return
            body = bytes(self._buffer[end + 4 : stop])
            del self._buffer[:stop]
            assert self._transport is not None
            self._transport.write(_answer(body))


async def _serve() -> None:
    loop = asyncio.get_running_loop()
    server = await loop.create_server(_Connection, "127.0.0.1", 0, backlog=1024)
    async with server:
        print(server.sockets[0].getsockname()[1], flush=True)
        await loop.run_in_executor(None, sys.stdin.buffer.read)


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(_serve())
