"""Every way an exchange can fail has its own error, without anything secret in it."""

import asyncio
import socket
import traceback

import anyio
import pytest

from harness.errors import error_chain
from harness.http import (
    HttpClosedError,
    HttpConnectError,
    HttpError,
    HttpInvalidRequestError,
    HttpProtocolError,
    HttpReadError,
    HttpRequest,
    HttpService,
    HttpTimeoutError,
    HttpTimeouts,
    HttpTlsError,
)
from harness.testing import Part, Reply, json_reply, raw_reply, text_reply
from vendor_shims.cordis import AbortController, AbortError

SECRETS = {"authorization": "Bearer hunter2", "x-api-key": "hunter2", "cookie": "a=hunter2"}


def request_to(server, **timeouts):
    return HttpRequest("POST", server.base_url, SECRETS, timeouts=HttpTimeouts(**timeouts))


async def until(condition):
    while not condition():
        await asyncio.sleep(0)


@pytest.fixture
def closed_port():
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return sock.getsockname()[1]


async def test_nobody_listens(http, closed_port):
    with pytest.raises(HttpConnectError, match="cannot connect") as caught:
        await http.request(HttpRequest("GET", f"http://u:hunter2@127.0.0.1:{closed_port}/p?k=v"))
    assert caught.value.code == "HTTP_CONNECT"
    assert caught.value.url == f"http://127.0.0.1:{closed_port}/p?k=…"
    assert "hunter2" not in error_chain(caught.value)


async def test_a_name_without_address(http):
    with pytest.raises(HttpConnectError):
        await http.request(HttpRequest("GET", "http://nowhere.invalid"))


async def test_no_tls_at_the_other_end(http):
    async def answer(_reader, writer):
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as plain:
        port = plain.sockets[0].getsockname()[1]
        with pytest.raises(HttpTlsError) as caught:
            await http.request(HttpRequest("GET", f"https://127.0.0.1:{port}"))
    assert isinstance(caught.value, HttpConnectError)


@pytest.mark.parametrize("url", ["ftp://host/x", "host/x", "", "http://[::1", "http:///x"])
async def test_a_url_that_cannot_be_requested(http, url):
    with pytest.raises(HttpInvalidRequestError) as caught:
        await http.request(HttpRequest("GET", url))
    assert isinstance(caught.value, ValueError)


@pytest.mark.parametrize(
    ("method", "headers", "problem"),
    [
        ("GE T", {}, "no HTTP method"),
        ("", {}, "no HTTP method"),
        ("GET", {"a b": "x"}, "no header name"),
        ("GET", {"authorization": "hunter2\r\nx: y"}, "the header authorization holds"),
        ("GET", {"authorization": "hunter2\u20ac"}, "the header authorization holds"),
        ("GET", {"x": "hunter2\0"}, "the header x holds"),
    ],
)
async def test_a_request_that_http_cannot_carry_is_refused_without_its_values(
    http, method, headers, problem
):
    with pytest.raises(HttpInvalidRequestError, match=problem) as caught:
        await http.request(HttpRequest(method, "http://127.0.0.1:1/", headers))
    assert "hunter2" not in "".join(traceback.format_exception(caught.value))


async def test_a_header_that_only_the_library_refuses_is_not_quoted(http, server):
    headers = {**SECRETS, "transfer-encoding": "hunter2", "content-length": "hunter2"}
    with pytest.raises(HttpInvalidRequestError, match="not legal HTTP") as caught:
        await http.request(HttpRequest("POST", server.base_url, headers))
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(
    ("reply", "error"),
    [
        (Reply(has_head=False, ending="reset"), (HttpReadError, HttpProtocolError)),
        (Reply(has_head=False, ending="close"), HttpProtocolError),
        (raw_reply([b"HTP nonsense\r\n\r\n"], framing="length"), HttpProtocolError),
        (raw_reply([b"part"], ending="reset"), (HttpReadError, HttpProtocolError)),
        (raw_reply([b"part"], ending="close"), HttpProtocolError),
        (raw_reply([b"part"]).with_headers(content_encoding="gzip"), HttpProtocolError),
    ],
    ids=["reset", "close", "nonsense", "reset in body", "close in body", "no gzip"],
)
async def test_a_peer_that_breaks_off(http, server, reply, error):
    if reply.framing == "length":
        reply = Reply(reply.parts, has_head=False, framing="length", ending="close")
    server.enqueue(reply)
    with pytest.raises(error) as caught:
        await http.request(request_to(server))
    assert "hunter2" not in error_chain(caught.value)
    server.enqueue(json_reply(1))
    assert (await http.request(request_to(server))).json() == 1


async def test_what_came_before_the_break_is_handed_out(http, server):
    gate = asyncio.Event()
    pieces = [b"one", b"two", Part(b"", gate=gate)]
    server.enqueue(raw_reply(pieces, ending="reset"))
    seen = []
    async with http.stream(request_to(server)) as stream:
        seen.append(await anext(stream))
        seen.append(await anext(stream))
        gate.set()
        with pytest.raises((HttpReadError, HttpProtocolError)):
            await anext(stream)
    assert seen == [b"one", b"two"]


async def test_headers_that_do_not_come_in_time(timed_http, clock, server):
    server.enqueue(Reply(has_head=False, ending="stall"))

    async def ask():
        with pytest.raises(HttpTimeoutError, match=r"did not answer within 30 s") as caught:
            await timed_http.request(request_to(server, first_byte_s=30))
        assert (caught.value.kind, caught.value.timeout_s) == ("first-byte", 30)
        assert isinstance(caught.value, TimeoutError)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(ask)
        await until(lambda: server.exchanges)
        await clock.advance(29.9)
        assert server.exchanges[0].outcome != "client_closed"
        await clock.advance(0.1)
    await until(lambda: server.exchanges[0].outcome == "client_closed")


async def test_a_body_that_stops_coming(timed_http, clock, server):
    server.enqueue(raw_reply([b"one"], ending="stall"))
    async with timed_http.stream(request_to(server, idle_s=30)) as stream:
        assert await anext(stream) == b"one"
        await clock.advance(60)  # nobody was waiting

        async def read():
            with pytest.raises(HttpTimeoutError, match=r"sent nothing for 30 s") as caught:
                await anext(stream)
            assert caught.value.kind == "idle"

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(read)
            await anyio.wait_all_tasks_blocked()
            await clock.advance(30)
    await until(lambda: server.exchanges[0].outcome == "client_closed")


async def test_a_connection_that_does_not_come_about(http):
    with socket.socket() as full:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        waiting = []
        for _ in range(3):  # what the kernel still takes, without anybody accepting
            sock = socket.socket()
            sock.setblocking(False)
            sock.connect_ex(full.getsockname())
            waiting.append(sock)
        url = f"http://127.0.0.1:{full.getsockname()[1]}"
        with pytest.raises(HttpTimeoutError) as caught:
            await http.request(HttpRequest("GET", url, timeouts=HttpTimeouts(connect_s=0.05)))
        for sock in waiting:
            sock.close()
    assert (caught.value.kind, caught.value.timeout_s) == ("connect", 0.05)


async def test_a_peer_that_takes_no_more_of_the_request(http):
    with socket.socket() as deaf:
        deaf.bind(("127.0.0.1", 0))
        deaf.listen(5)
        url = f"http://127.0.0.1:{deaf.getsockname()[1]}"
        timeouts = HttpTimeouts(idle_s=0.05)
        request = HttpRequest("POST", url, {}, b"x" * 50_000_000, timeouts)
        with pytest.raises(HttpTimeoutError) as caught:
            await http.request(request)
    assert (caught.value.kind, caught.value.timeout_s) == ("write", 0.05)


async def test_no_limit_means_none(http, server):
    server.enqueue(text_reply("x"))
    request = request_to(server, connect_s=None, first_byte_s=None, idle_s=None)
    assert (await http.request(request)).is_success


async def test_an_abort_before_the_start_sends_nothing(http, server):
    controller = AbortController()
    controller.abort("why")
    with pytest.raises(AbortError):
        await http.request(request_to(server), signal=controller.signal)
    assert server.connections == 0


@pytest.mark.parametrize("reason", [None, LookupError("mine")])
async def test_an_abort_while_waiting_for_the_head(http, server, reason):
    controller = AbortController()
    server.enqueue(Reply(has_head=False, ending="stall"))

    async def ask():
        with pytest.raises(AbortError if reason is None else LookupError):
            await http.request(request_to(server), signal=controller.signal)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(ask)
        await until(lambda: server.exchanges)
        controller.abort(reason)
    await until(lambda: server.exchanges[0].outcome == "client_closed")


async def test_an_abort_in_the_middle_of_the_body(http, server):
    controller = AbortController()
    server.enqueue(raw_reply([b"one"], ending="stall"))
    async with http.stream(request_to(server), signal=controller.signal) as stream:
        assert await anext(stream) == b"one"

        async def ask():
            with pytest.raises(AbortError):
                await anext(stream)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(ask)
            await anyio.wait_all_tasks_blocked()
            controller.abort()
    await until(lambda: server.exchanges[0].outcome == "client_closed")


async def test_cancelling_the_task_ends_the_exchange(http, server):
    server.enqueue(raw_reply([b"one"], ending="stall"), json_reply(1))
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(http.request, request_to(server))
        await until(lambda: server.exchanges and server.exchanges[0].parts_sent)
        tasks.cancel_scope.cancel()
    await until(lambda: server.exchanges[0].outcome == "client_closed")
    assert (await http.request(request_to(server))).json() == 1


async def test_the_end_of_the_service_ends_what_runs_on_it(context, server):
    fiber = context.plugin(HttpService)
    await context.settle()
    http = context.require("http")
    server.enqueue(raw_reply([b"one"], ending="stall"), Reply(has_head=False, ending="stall"))
    failures = []

    async def ask():
        try:
            await http.request(request_to(server))
        except HttpError as error:
            failures.append(error)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(ask)
        await until(lambda: server.exchanges and server.exchanges[0].parts_sent)
        tasks.start_soon(ask)
        await until(lambda: len(server.exchanges) == 2)
        await anyio.wait_all_tasks_blocked()
        await fiber.dispose()
    assert [type(error) for error in failures] == [HttpClosedError, HttpClosedError]
    with pytest.raises(HttpClosedError, match="has ended"):
        await http.client("new").request(request_to(server))
    with pytest.raises(HttpClosedError, match="has ended"):
        await http.request(request_to(server))


async def test_a_client_closed_while_it_is_being_made_is_not_left_open(http, server):
    client = http.client("k")

    async def ask():
        with pytest.raises(HttpClosedError):
            await client.request(request_to(server))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(ask)
        await asyncio.sleep(0)
        await client.aclose()
        await client.aclose()


async def test_requests_that_start_together_share_one_client(http, server):
    server.enqueue(*[json_reply(1)] * 20)
    async with anyio.create_task_group() as tasks:
        for _ in range(20):
            tasks.start_soon(http.request, request_to(server))
    assert len(server.requests) == 20
