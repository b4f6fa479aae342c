"""Serve scripted chat-completions answers over real HTTP on the loopback address."""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Self

from harness.testing.behaviours import BehaviourOptions, BehaviourPicker
from harness.testing.chat_replies import error_reply
from harness.testing.http_wire import RequestError, head_bytes, read_request, write_body
from harness.testing.recorded import Exchange, MockEvent, RecordedRequest
from harness.testing.reply import Reply
from harness.testing.script import Respond, Script, ScriptEntry
from harness.wire import JsonDecodeError


class MockServer:
    """A chat-completions server in this process whose every byte is scripted.

    `POST` to any path ending in `/chat/completions` takes the next answer; anything else is
    refused like a real server would, and takes none.

    Args:
        replies: the answers in order; see `enqueue`.
        respond: makes an answer from the request whenever no scripted one is left.
        repeat_last: give the last scripted answer again when none is left.
        api_key: when set, requests need it as bearer token.
        any_path: take answers for every method and path, to test clients of other APIs.
        options: texts and pauses of the named behaviours.
        random_seed: makes the behaviour `random` repeatable.
        random_weights: which behaviours `random` picks, and how often.
        on_event: told of each request and result; its failures are ignored.
        host: the address to listen on.
        port: 0 for any free one.

    Invariants:
        - `exchanges` has one entry per accepted request, in the order of their arrival.
        - After `close` no connection and no task is left.
    """

    def __init__(
        self,
        *replies: ScriptEntry,
        respond: Respond | None = None,
        repeat_last: bool = False,
        api_key: str | None = None,
        any_path: bool = False,
        options: BehaviourOptions | None = None,
        random_seed: int | None = None,
        random_weights: Mapping[str, int] | None = None,
        on_event: Callable[[MockEvent], object] | None = None,
        host: str = "127.0.0.1",
        port: int = 0,
    ) -> None:
        self._picker = BehaviourPicker(random_seed, random_weights)
        self._script = Script(
            replies,
            respond=respond,
            repeat_last=repeat_last,
            options=options or BehaviourOptions(),
            picker=self._picker,
        )
        self._api_key = api_key
        self._any_path = any_path
        self._on_event = on_event
        self._host = host
        self.port: int = port
        """The port in use, once started."""
        self.exchanges: list[Exchange] = []
        """Accepted requests with the fate of their answers."""
        self.refused: list[RecordedRequest] = []
        """Requests that took no answer."""
        self.connections: int = 0
        """How many connections have been accepted."""
        self._server: asyncio.Server | None = None
        self._open: dict[asyncio.Task[None], asyncio.StreamWriter] = {}
        self._closing = False

    @property
    def base_url(self) -> str:
        """Return what a client is configured with: scheme, host and port."""
        return f"http://{self._host}:{self.port}"

    @property
    def random_seed(self) -> int:
        """Return the seed behind the behaviour `random`."""
        return self._picker.seed

    @property
    def requests(self) -> list[RecordedRequest]:
        """Return the accepted requests, oldest first."""
        return [exchange.request for exchange in self.exchanges]

    @property
    def replies_left(self) -> int:
        """Return how many scripted answers nobody has taken."""
        return self._script.left

    def enqueue(self, *replies: ScriptEntry) -> None:
        """Add answers: `Reply` records, behaviour names, or `{"behavior": name, option: value}`.

        Raises:
            ValueError: an unknown behaviour or option.
        """
        self._script.extend(replies)

    async def start(self) -> Self:
        """Listen; the server is reachable when this returns."""
        self._server = await asyncio.start_server(self._serve, self._host, self.port)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def close(self) -> None:
        """Stop listening, drop open connections and wait for them; twice is harmless."""
        if self._server is None:
            return
        self._closing = True
        self._server.close()
        for writer in self._open.values():
            writer.transport.abort()
        if self._open:
            await asyncio.wait(list(self._open))
        await self._server.wait_closed()
        self._server = None

    async def __aenter__(self) -> Self:
        return await self.start()

    async def __aexit__(self, *_exc: object) -> None:
        await self.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._open[task] = writer
        self.connections += 1
        try:
            with suppress(ConnectionError, asyncio.IncompleteReadError):  # the peer has gone
                while await self._exchange(reader, writer):
                    pass
        finally:
            self._open.pop(task, None)
            writer.close()
            with suppress(ConnectionError):
                await writer.wait_closed()

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Answer one request; return whether the connection stays open for the next."""
        try:
            request = await read_request(reader, len(self.exchanges) + 1)
        except RequestError as error:
            await _send_plain(writer, error_reply(error.status, str(error)))
            return False
        if request is None:
            return False
        refusal = None if self._any_path else self._refusal(request)
        if refusal is not None:
            self.refused.append(request)
            await _send_plain(writer, refusal)
            return True
        exchange = Exchange(request, "", "")
        self.exchanges.append(exchange)
        name, reply = await self._script.take(request)
        exchange.script_behavior, exchange.behavior = name, reply.name
        self._tell("request", exchange)
        try:
            return await self._answer(reader, writer, reply, exchange)
        finally:
            if exchange.outcome == "pending":
                exchange.outcome = "stalled" if self._closing else "client_closed"
            self._tell("result", exchange)

    async def _answer(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        reply: Reply,
        exchange: Exchange,
    ) -> bool:
        if not await write_body(reader, writer, reply, exchange):
            return False
        if reply.ending == "complete":
            exchange.outcome = "server_error" if reply.status >= 500 else "completed"
            return reply.framing != "until-close"
        if reply.ending == "stall":
            await reader.read(1)  # returns when either side closes
            return False
        exchange.outcome = "reset"
        if reply.ending == "reset":
            _set_reset(writer)
        return False

    def _refusal(self, request: RecordedRequest) -> Reply | None:
        if not request.path.split("?")[0].endswith("/chat/completions"):
            return error_reply(404, f"no route for {request.path}", code="not_found")
        if request.method != "POST":
            return error_reply(405, "use POST", code="method_not_allowed").with_headers(
                allow="POST"
            )
        expected = None if self._api_key is None else f"Bearer {self._api_key}"
        if expected is not None and request.headers.get("authorization") != expected:
            return error_reply(401, "wrong bearer token", code="invalid_api_key")
        try:
            request.json()
        except JsonDecodeError:
            return error_reply(400, "the body is not JSON", code="invalid_json")
        return None

    def _tell(self, kind: str, exchange: Exchange) -> None:
        if self._on_event is None:
            return
        event = MockEvent(
            "request" if kind == "request" else "result",
            exchange.request.attempt,
            exchange.script_behavior,
            exchange.behavior,
            exchange.request.path,
            exchange.parts_sent,
            exchange.outcome,
        )
        with suppress(Exception):  # an observer never changes what is on the wire
            self._on_event(event)


async def _send_plain(writer: asyncio.StreamWriter, reply: Reply) -> None:
    writer.write(head_bytes(reply) + reply.body)
    await writer.drain()


def _set_reset(writer: asyncio.StreamWriter) -> None:
    """Make the close of this connection a reset, as a crashed peer's would be."""
    sock = writer.get_extra_info("socket")
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()
