"""Requests and answers over real HTTP: exact bytes both ways."""

import gzip

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.http import (
    HttpBodyTooLargeError,
    HttpClosedError,
    HttpConfig,
    HttpRequest,
    HttpService,
)
from harness.testing import MockServer, Part, Reply, error_reply, json_reply, raw_reply, text_reply
from harness.testing.strategies import sliced_replies
from vendor_shims.cordis import Context


async def test_a_request_arrives_as_it_was_given(http, server):
    server.enqueue(json_reply({"ok": [1, 2]}))
    body = "é\0\r\n".encode() * 1000
    request = HttpRequest("PUT", f"{server.base_url}/a/b?x=1", {"X-Name": "value"}, body)
    response = await http.request(request)
    assert (response.status, response.is_success, response.json()) == (200, True, {"ok": [1, 2]})
    (seen,) = server.requests
    assert (seen.method, seen.path, seen.body) == ("PUT", "/a/b?x=1", body)
    assert seen.headers["x-name"] == "value"
    assert seen.headers["content-length"] == str(len(body))
    assert seen.headers["user-agent"] == "dsh-harness"


async def test_a_header_of_the_request_replaces_the_default(http, server):
    server.enqueue(json_reply(None))
    headers = [("User-Agent", "mine/1"), ("accept-encoding", "identity")]
    await http.request(HttpRequest("GET", server.base_url, headers))
    assert server.requests[0].headers["user-agent"] == "mine/1"
    assert server.requests[0].headers["accept-encoding"] == "identity"


async def test_addresses_may_alternate_on_one_client_and_no_cookie_is_sent_back(http, server):
    for path in ("/a", "/b", "/a"):
        server.enqueue(json_reply(path).with_headers(set_cookie="who=agent-1"))
        response = await http.request(HttpRequest("GET", server.base_url + path))
        assert (response.json(), response.headers["set-cookie"]) == (path, "who=agent-1")
    assert [seen.path for seen in server.requests] == ["/a", "/b", "/a"]
    assert all("cookie" not in seen.headers for seen in server.requests)


async def test_a_body_is_handed_out_chunk_by_chunk(http, server):
    pieces = [b"data: 1\n\n", b": keep-alive\n\n", b"\xff\x00"]
    server.enqueue(raw_reply(pieces, headers=[("content-type", "text/x"), ("X-Id", "7")]))
    async with http.stream(HttpRequest("POST", server.base_url)) as stream:
        assert (stream.status, stream.is_success) == (200, True)
        assert (stream.headers["content-type"], stream.headers["x-id"]) == ("text/x", "7")
        assert [piece async for piece in stream] == pieces


@pytest.mark.parametrize("status", [302, 404, 429, 500])
async def test_every_status_is_an_answer_and_no_redirect_is_followed(http, server, status):
    reply = error_reply(status, "no", retry_after="3").with_headers(location="/elsewhere")
    server.enqueue(reply)
    response = await http.request(HttpRequest("GET", server.base_url))
    assert (response.status, response.is_success) == (status, False)
    assert response.headers["retry-after"] == "3"
    assert response.json()["error"]["message"] == "no"
    assert len(server.requests) == 1


async def test_an_encoded_body_is_decoded(http, server):
    data = gzip.compress(b"hello " * 1000)
    reply = raw_reply([data[:10], data[10:]]).with_headers(content_encoding="gzip")
    server.enqueue(reply)
    response = await http.request(HttpRequest("GET", server.base_url))
    assert response.text() == "hello " * 1000


@pytest.mark.parametrize("framing", ["chunked", "length", "until-close"])
async def test_every_way_to_end_a_body_is_understood(http, server, framing):
    server.enqueue(raw_reply([b"one", b"two"], framing=framing))
    assert (await http.request(HttpRequest("GET", server.base_url))).body == b"onetwo"


async def test_a_body_beyond_the_cap_is_refused_without_reading_it_all(http, server):
    server.enqueue(raw_reply([b"x" * 1000] * 10).ending_with("stall"))
    with pytest.raises(HttpBodyTooLargeError, match="larger than 5000 bytes"):
        await http.request(HttpRequest("GET", server.base_url), max_bytes=5000)
    server.enqueue(raw_reply([b"x" * 5000]))
    response = await http.request(HttpRequest("GET", server.base_url), max_bytes=5000)
    assert len(response.body) == 5000


async def test_connections_are_reused_within_a_shard(http, server):
    for _ in range(3):
        server.enqueue(text_reply("x"))
        await http.request(HttpRequest("POST", server.base_url))
    assert server.connections == 1


async def test_an_exchange_left_early_costs_its_connection_and_no_more(http, server):
    server.enqueue(text_reply("abc" * 50).ending_with("stall"), text_reply("x"))
    async with http.stream(HttpRequest("POST", server.base_url)) as stream:
        async for _ in stream:
            break
    await http.request(HttpRequest("POST", server.base_url))
    assert server.connections == 2


async def test_a_stream_ends_with_its_block(http, server):
    server.enqueue(raw_reply([b"one", b"two"]))
    async with http.stream(HttpRequest("POST", server.base_url)) as stream:
        assert await anext(stream) == b"one"
    with pytest.raises(HttpClosedError, match="was left"):
        await anext(stream)


async def test_a_key_always_gets_the_client_of_its_shard(server):
    async with Context() as ctx:
        ctx.plugin(HttpService, HttpConfig(shards=4, user_agent="four"))
        await ctx.settle()
        service = ctx.require("http")
        clients = {key: service.client(key) for key in map(str, range(100))}
        assert len(set(clients.values())) == 4
        assert all(service.client(key) is client for key, client in clients.items())
        server.enqueue(*[json_reply(1)] * 4)
        for client in set(clients.values()):
            await client.request(HttpRequest("GET", server.base_url))
        assert server.connections == 4
        assert server.requests[0].headers["user-agent"] == "four"


async def test_the_library_can_be_loaded_ahead(http):
    await http.warm()
    await http.warm()


async def test_the_environments_proxy_is_used(context, server, monkeypatch):
    monkeypatch.setenv("HTTP_PROXY", server.base_url)
    monkeypatch.setenv("NO_PROXY", "")
    context.plugin(HttpService)
    await context.settle()
    server.enqueue(json_reply("proxied"))
    response = await context.require("http").request(HttpRequest("GET", "http://far.invalid/x"))
    assert response.json() == "proxied"
    assert server.requests[0].path == "http://far.invalid/x"


@settings(max_examples=20)
@given(st.data())
async def test_any_slicing_on_the_wire_gives_the_same_bytes(data):
    whole = text_reply("héllo wörld 😀", reasoning="hm")
    reply = data.draw(sliced_replies(whole))
    async with Context() as ctx, MockServer(reply, any_path=True) as mock:
        ctx.plugin(HttpService, HttpConfig(trust_env=False))
        await ctx.settle()
        response = await ctx.require("http").request(HttpRequest("POST", mock.base_url))
        assert response.body == whole.body


async def test_a_large_body_of_many_chunks_is_whole(http, server):
    parts = tuple(Part(bytes([index % 256]) * 1024) for index in range(2000))
    server.enqueue(Reply(parts))
    response = await http.request(HttpRequest("GET", server.base_url))
    assert response.body == b"".join(part.data for part in parts)
