"""Read HTTP/1.1 requests and write scripted answers, byte by byte."""

import asyncio

from anyio import create_task_group

from harness.testing.recorded import Exchange, RecordedRequest
from harness.testing.reply import Part, Reply

_REASONS = {
    200: "OK",
    400: "Bad Request",
    401: "Unauthorized",
    404: "Not Found",
    405: "Method Not Allowed",
    429: "Too Many Requests",
    500: "Internal Server Error",
    503: "Service Unavailable",
}


class RequestError(Exception):
    """Report a request that is no HTTP/1.1 this server understands, with the status to answer."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status: int = status


async def read_request(reader: asyncio.StreamReader, attempt: int) -> RecordedRequest | None:
    """Return the next request of a connection, or None when the peer has closed it.

    Raises:
        RequestError: malformed, too large a head, or a body without a length.
        IncompleteReadError: the peer closed in the middle.
    """
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError as error:
        if error.partial:
            raise
        return None
    except asyncio.LimitOverrunError as error:
        raise RequestError(431, "the head is too large") from error
    first, *lines = head.decode("latin-1").rstrip("\r\n").split("\r\n")
    words = first.split(" ")
    if len(words) != 3 or not words[2].startswith("HTTP/1."):
        raise RequestError(400, "no HTTP/1.1 request")
    headers = {
        name.strip().lower(): value.strip()
        for name, _, value in (line.partition(":") for line in lines)
    }
    if "transfer-encoding" in headers:
        raise RequestError(411, "send a content-length")
    length = headers.get("content-length", "0")
    if not length.isdigit():
        raise RequestError(400, "the content-length is no number")
    body = await reader.readexactly(int(length))
    return RecordedRequest(attempt, words[0], words[1], headers, body)


def head_bytes(reply: Reply) -> bytes:
    """Return the status line and the headers of an answer."""
    lines = [f"HTTP/1.1 {reply.status} {_REASONS.get(reply.status, 'Scripted')}"]
    lines += [f"{name}: {value}" for name, value in reply.headers]
    if reply.framing == "chunked":
        lines.append("transfer-encoding: chunked")
    elif reply.framing == "length":
        lines.append(f"content-length: {len(reply.body)}")
    else:
        lines.append("connection: close")
    return "\r\n".join([*lines, "", ""]).encode("latin-1")


async def write_body(
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    reply: Reply,
    exchange: Exchange,
) -> bool:
    """Write head and parts as scripted; return False when the peer has closed meanwhile.

    Parts without a pause go out together with what precedes them, each still a chunk of its own.
    """
    if not await _pause(reader, Part(b"", reply.delay_s, reply.gate)):
        return False
    pending = head_bytes(reply) if reply.has_head else b""
    for part in reply.parts:
        if part.delay_s or part.gate is not None:
            writer.write(pending)
            await writer.drain()
            pending = b""
            if not await _pause(reader, part):
                return False
        pending += _chunk(reply, part.data)
        exchange.parts_sent += 1
    if reply.framing == "chunked" and reply.has_head and reply.ending == "complete":
        pending += b"0\r\n\r\n"
    writer.write(pending)
    await writer.drain()
    return True


def _chunk(reply: Reply, data: bytes) -> bytes:
    if reply.framing != "chunked" or not data:
        return data
    return b"%x\r\n%s\r\n" % (len(data), data)


async def _pause(reader: asyncio.StreamReader, part: Part) -> bool:
    """Wait for the part's gate and delay; return False as soon as the peer closes."""
    if part.gate is not None and not await _wait_or_closed(reader, part.gate):
        return False
    if not part.delay_s:
        return True
    try:
        await asyncio.wait_for(reader.read(1), part.delay_s)
    except TimeoutError:
        return True
    return False


async def _wait_or_closed(reader: asyncio.StreamReader, gate: asyncio.Event) -> bool:
    """Wait for the gate; return False when the peer closes first."""
    if gate.is_set():
        return True
    async with create_task_group() as tasks:

        async def stop_when_closed() -> None:
            await reader.read(1)
            tasks.cancel_scope.cancel()

        tasks.start_soon(stop_when_closed)
        await gate.wait()
        tasks.cancel_scope.cancel()
    return gate.is_set()
