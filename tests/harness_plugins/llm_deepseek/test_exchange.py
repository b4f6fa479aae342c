"""Real HTTP on loopback: errors, ends, aborts, timeouts, connections."""

import asyncio
from contextlib import aclosing
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from harness.llm import (
    BlockStart,
    TextBlock,
    TextDelta,
    create_user_message,
)
from harness.testing import (
    DONE,
    Reply,
    chat_chunk,
    error_reply,
    json_reply,
    raw_reply,
    text_reply,
    with_comments,
)
from harness_plugins.llm_deepseek import (
    DeepSeekAdapter,
    DeepSeekConfig,
    key_source,
    response_error,
)
from vendor_shims.cordis import AbortController
from vendor_shims.schema import structure


def failure_of(chunks):
    assert chunks[-1].reason.failure is not None, chunks[-1]
    return chunks[-1].reason.failure


def text_of(chunks) -> str:
    return "".join(chunk.text for chunk in chunks if isinstance(chunk, TextDelta))


@pytest.mark.spec("02-161")
@pytest.mark.parametrize(
    ("behaviour", "code", "status"),
    [
        ("auth_error", "AUTH", 401),
        ("rate_limit", "RATE_LIMIT", 429),
        ("quota_exceeded", "QUOTA", 429),
        ("invalid_request", "INVALID_REQUEST", 400),
        ("context_overflow", "CONTEXT_WINDOW_EXCEEDED", 400),
        ("server_error", "SERVER", 500),
        ("service_unavailable", "SERVER", 503),
    ],
)
async def test_each_refusal_has_its_code(mount, behaviour, code, status) -> None:
    bench = await mount(behaviour)
    failure = await bench.failure()
    assert (failure.code, failure.status) == (code, status)


@pytest.mark.spec("02-162")
@pytest.mark.parametrize(
    ("status", "message", "code"),
    [
        (402, "pay", "QUOTA"),
        (403, "no", "AUTH"),
        (403, "quota exceeded", "AUTH"),
        (404, "insufficient balance", "QUOTA"),
        (404, "no such model", "HTTP_404"),
        (408, "slow", "TIMEOUT"),
        (413, "context length exceeded", "INVALID_REQUEST"),
        (418, "teapot", "HTTP_418"),
        (422, "bad field", "INVALID_REQUEST"),
        (422, "maximum context length is 9", "CONTEXT_WINDOW_EXCEEDED"),
        (301, "moved", "HTTP_301"),
        (599, "gone", "SERVER"),
    ],
)
async def test_other_statuses_are_mapped(mount, status, message, code) -> None:
    bench = await mount(error_reply(status, message))
    failure = await bench.failure()
    assert (failure.code, failure.message) == (code, message)


NOW = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.mark.spec("02-163")
@pytest.mark.parametrize(
    ("value", "expected_ms"),
    [
        ("2", 2000),
        ("0", None),
        ("-1", None),
        ("abc", None),
        ("", None),
        ("²", None),
        ("9" * 400, None),
        (format_datetime(NOW + timedelta(seconds=5), usegmt=True), 5000),
        (format_datetime(NOW + timedelta(seconds=5)).replace("+0000", "-0000"), 5000),
        (format_datetime(NOW - timedelta(seconds=5), usegmt=True), None),
        ("Thu, 01 Jan 99999 00:00:00 GMT", None),
    ],
)
def test_retry_after_is_seconds_or_a_future_date(value, expected_ms) -> None:
    error = response_error(429, {"retry-after": value}, b"", now_s=NOW.timestamp())
    assert error.failure.provider_retry_after_ms == expected_ms


@pytest.mark.spec("02-163", "02-165")
async def test_headers_of_a_refusal_become_facts(mount) -> None:
    bench = await mount(error_reply(429, "slow", retry_after="2", request_id="r1"))
    failure = await bench.failure()
    assert (failure.provider_retry_after_ms, failure.request_id) == (2000, "r1")
    bench.server.enqueue(
        error_reply(500, "x", request_id="").with_headers(x_deepseek_request_id="d1"),
        error_reply(500, "x", request_id=""),
    )
    assert (await bench.failure()).request_id == "d1"
    assert (await bench.failure()).request_id is None


@pytest.mark.spec("02-164")
def test_a_body_that_is_no_json_is_the_cause_and_not_the_message() -> None:
    error = response_error(502, {}, b"<html>Bad Gateway</html>", now_s=0)
    assert "502" in error.failure.message
    assert str(error.__cause__) == "<html>Bad Gateway</html>"
    assert response_error(500, {}, b"", now_s=0).__cause__ is None


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b'{"error":"model not loaded"}', "model not loaded"),
        (b'{"message":"top level"}', "top level"),
        (b'{"error":{"message":["no text"]}}', "HTTP status 400"),
        (b"[1]", "HTTP status 400"),
        (b'{"error":null}', "HTTP status 400"),
    ],
)
def test_error_bodies_of_other_servers_are_read(body, message) -> None:
    assert message in response_error(400, {}, body, now_s=0).failure.message


def test_a_status_outside_http_is_no_fact() -> None:
    error = response_error(600, {}, b"", now_s=0)
    assert (error.failure.code, error.failure.status) == ("SERVER", None)


async def test_a_huge_error_body_is_bounded(mount) -> None:
    pieces = [b'{"error":{"message":"' + b"x" * 50_000] * 4
    bench = await mount(raw_reply(pieces, status=500))
    failure = await bench.failure()
    assert failure.code == "SERVER"
    assert len(failure.message) < 200
    bench.server.enqueue(error_reply(500, "y" * 9_000))
    assert len((await bench.failure()).message) == 2_000


async def test_an_error_body_that_breaks_off_still_tells_the_status(mount) -> None:
    bench = await mount(raw_reply([b'{"error"'], status=503, ending="reset"))
    assert (await bench.failure()).code == "SERVER"


@pytest.mark.spec("02-166")
async def test_a_closed_port_is_a_transport_failure_naming_the_url(mount) -> None:
    bench = await mount()
    await bench.server.close()
    failure = await bench.failure()
    assert failure.code == "TRANSPORT"
    assert bench.server.base_url in failure.message


@pytest.mark.spec("02-144", "02-145", "02-147", "02-157", "02-158", "02-159", "02-167")
@pytest.mark.parametrize(
    ("reply", "code", "text"),
    [
        ("connection_reset", "TRANSPORT", ""),
        ("stream_disconnect", "TRANSPORT", ""),
        ("partial_disconnect", "TRANSPORT", "Partial mock"),
        ("partial_eof", "STREAM_CLOSED", "Partial mock"),
        ("stream_eof", "STREAM_CLOSED", ""),
        ("empty_body", "EMPTY_RESPONSE", ""),
        ("empty", "EMPTY_RESPONSE", ""),
        ("malformed_json", "MALFORMED_RESPONSE", ""),
        ("malformed_event", "MALFORMED_RESPONSE", ""),
        ("inband_error", "QUOTA", "Partial mock"),
        ("content_filter", "CONTENT_FILTER", ""),
        (raw_reply([chat_chunk({"content": "x"}), DONE[:-1]]), "STREAM_CLOSED", "x"),
        (
            raw_reply(
                [chat_chunk({}, finish_reason="stop")], ending="close", framing="until-close"
            ),
            "STREAM_CLOSED",
            "",
        ),
        (
            raw_reply([chat_chunk({"content": "a"}), chat_chunk({"content": "b"}), b"data: {\n\n"]),
            "MALFORMED_RESPONSE",
            "ab",
        ),
    ],
)
async def test_a_broken_stream_delivers_what_came_and_ends_with_its_code(
    mount, reply, code, text
) -> None:
    bench = await mount(reply)
    chunks = await bench.ask()
    assert failure_of(chunks).code == code
    assert text_of(chunks) == text


@pytest.mark.spec("02-147", "02-141")
@pytest.mark.parametrize(
    "behaviour",
    ["success", "slow_success", "wrong_content_type", "keepalive", "trailing_usage"],
)
async def test_good_streams_arrive_whole(mount, behaviour) -> None:
    bench = await mount(behaviour)
    chunks = await bench.ask()
    assert text_of(chunks) == "Mock response"
    assert [chunk.type for chunk in chunks[-3:]] == ["block-end", "usage", "finish"]
    assert chunks[-2].usage.output_tokens == 13


@pytest.mark.parametrize("behaviour", ["parallel_tools", "missing_tool_index", "tool_call_success"])
async def test_tool_calls_arrive_whole(mount, behaviour) -> None:
    bench = await mount(behaviour)
    chunks = await bench.ask()
    calls = [chunk.block for chunk in chunks if chunk.type == "block-end"]
    assert all(call.arguments == '{"value":"mock"}' for call in calls)
    assert calls[0].id == "mock-call-1"
    assert chunks[-1].reason.kind == "tool-calls"


@pytest.mark.spec("02-141")
async def test_comments_keep_a_slow_stream_alive(mount) -> None:
    patient = with_comments(text_reply("ok"), [""] * 12, delay_s=0.05)
    bench = await mount(patient, config={"streamIdleTimeoutMs": 400})
    assert text_of(await bench.ask()) == "ok"


@pytest.mark.spec("02-142")
@pytest.mark.parametrize("reply", ["stall", Reply(has_head=False, ending="stall")])
async def test_silence_longer_than_the_idle_limit_is_a_timeout(mount, reply) -> None:
    bench = await mount(reply, config={"streamIdleTimeoutMs": 50})
    failure = await bench.failure()
    assert failure.code == "TIMEOUT"


@pytest.mark.spec("02-142")
async def test_a_slow_consumer_is_no_silence(mount) -> None:
    gate = asyncio.Event()
    reply = text_reply("abcdef", chunk_size=3).gated(2, gate)
    bench = await mount(reply, config={"streamIdleTimeoutMs": 300})
    seen = []
    async with aclosing(bench.llm.stream(bench.options())) as stream:
        async for chunk in stream:
            seen.append(chunk)
            if isinstance(chunk, TextDelta):
                gate.set()
                await asyncio.sleep(0.5)  # longer than the limit: this is what is tested
    assert text_of(seen) == "abcdef"
    assert seen[-1].reason.kind == "stop"


@pytest.mark.spec("02-168")
@pytest.mark.parametrize("is_headless", [True, False])
async def test_an_abort_ends_the_exchange_at_once(mount, is_headless) -> None:
    stalled = Reply(has_head=False, ending="stall") if is_headless else None
    reply = stalled or text_reply("partial", chunk_size=99).ending_with("stall", after_parts=2)
    bench = await mount(reply)
    controller = AbortController()
    options = bench.options(signal=controller.signal)
    chunks = []

    async def consume() -> None:
        async with aclosing(bench.llm.stream(options)) as stream:
            async for chunk in stream:
                chunks.append(chunk)  # noqa: PERF401 - a test looks while it grows

    task = asyncio.create_task(consume())
    while not bench.server.exchanges or (not is_headless and len(chunks) < 2):
        await asyncio.sleep(0)
    controller.abort("user")
    await task
    assert chunks[-1].reason.kind == "aborted"
    assert failure_of(chunks).code == "ABORTED"
    assert text_of(chunks) == ("" if is_headless else "partial")
    while bench.server.exchanges[0].outcome == "pending":
        await asyncio.sleep(0.001)
    assert bench.server.exchanges[0].outcome == "client_closed"


async def test_an_abort_before_the_request_sends_nothing(mount) -> None:
    bench = await mount()
    controller = AbortController()
    controller.abort("early")
    failure = await bench.failure(signal=controller.signal)
    assert failure.code == "ABORTED"
    assert bench.server.requests == []


async def test_the_adapter_works_without_the_service(mount) -> None:
    bench = await mount("success")
    adapter = DeepSeekAdapter(
        structure(DeepSeekConfig, {"baseURL": bench.server.base_url}),
        bench.root.require("http"),
        find_key=key_source(bench.root, {"DEEPSEEK_API_KEY": "k"}),
        environ={},
        warn=print,
    )
    chunks = [chunk async for chunk in adapter.stream(bench.options())]
    assert text_of(chunks) == "Mock response"


async def test_leaving_early_closes_the_exchange(mount) -> None:
    bench = await mount(text_reply("x", chunk_size=1).ending_with("stall", after_parts=2))
    async with aclosing(bench.llm.stream(bench.options())) as stream:
        assert await anext(stream) == BlockStart(0, "text")
    while bench.server.exchanges[0].outcome == "pending":
        await asyncio.sleep(0.001)
    assert bench.server.exchanges[0].outcome == "client_closed"


async def test_what_a_consumer_throws_in_is_not_blamed_on_the_provider(mount) -> None:
    bench = await mount("slow_success")
    stream = bench.llm.stream(bench.options())
    await anext(stream)
    with pytest.raises(KeyError):
        await stream.athrow(KeyError("mine"))


@pytest.mark.spec("02-146")
async def test_what_follows_the_end_marker_is_ignored(mount) -> None:
    noise = [chat_chunk({"content": "x"}), DONE, b"data: garbage\n\n" * 10]
    bench = await mount(
        raw_reply(noise), raw_reply(noise, ending="reset"), raw_reply(noise, ending="stall")
    )
    for _ in range(3):
        chunks = await bench.ask()
        assert (text_of(chunks), chunks[-1].reason.kind) == ("x", "stop")


async def test_one_connection_serves_one_request_after_another(mount) -> None:
    bench = await mount(*["success"] * 5)
    for _ in range(5):
        await bench.ask(session_id="s")
    assert bench.server.connections == 1


async def test_an_event_without_an_end_is_refused_before_it_fills_the_memory(mount) -> None:
    piece = b"x" * (1024 * 1024)
    bench = await mount(raw_reply([b"data: ", *[piece] * 17]))
    failure = await bench.failure()
    assert failure.code == "MALFORMED_RESPONSE"


@pytest.mark.spec("02-132")
async def test_a_changed_config_serves_the_next_request(mount) -> None:
    gate = asyncio.Event()
    reply = text_reply("running").gated(2, gate)
    bench = await mount(reply, "success")
    async with aclosing(bench.llm.stream(bench.options())) as stream:
        await anext(stream)
        await bench.fiber.update({"baseURL": f"{bench.server.base_url}/v2"})
        gate.set()
        rest = [chunk async for chunk in stream]
    assert rest[-1].reason.kind == "stop"
    await bench.ask()
    assert [r.path for r in bench.server.requests] == ["/chat/completions", "/v2/chat/completions"]
    with pytest.raises(Exception, match="expected"):
        await bench.fiber.update({"baseURL": 7})
    bench.server.enqueue("success")
    await bench.ask()
    assert bench.server.requests[-1].path == "/v2/chat/completions"


async def test_counting_mistakes_of_a_provider_are_logged_once(mount) -> None:
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "prompt_cache_hit_tokens": 9}
    bench = await mount(text_reply("x", usage=usage), text_reply("x", usage=usage))
    records = []

    class Keep:
        def export(self, record):
            records.append(record)

    bench.root.logger.exporter(Keep())
    for _ in range(2):
        chunks = await bench.ask()
        assert chunks[-2].usage.input_tokens == 0
    warned = [r for r in records if "cached" in str(r)]
    assert len(warned) == 1


async def test_a_defect_is_no_transport_failure(mount) -> None:
    bench = await mount()

    class Broken:
        def resolve(self, reference):
            raise ZeroDivisionError("bug")

    bench.root.provide("credentials", Broken())
    failure = await bench.failure()
    assert failure.code == "UNKNOWN"


async def test_the_answer_carries_unicode_exactly(mount) -> None:
    text = "naïve \u2028 日本語 😀 \x00 end"
    reply = text_reply(text, chunk_size=3)
    bench = await mount(reply.sliced(*range(0, len(reply.body), 7)))
    chunks = await bench.ask(create_user_message(text))
    assert [c.block for c in chunks if c.type == "block-end"] == [TextBlock(text)]
    assert bench.server.requests[-1].json()["messages"][0]["content"] == text


async def test_a_json_answer_instead_of_a_stream_is_no_answer(mount) -> None:
    bench = await mount(json_reply({"choices": [{"message": {"content": "x"}}]}))
    assert (await bench.failure()).code == "STREAM_CLOSED"
