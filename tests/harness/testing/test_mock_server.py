"""The mock model server: what takes an answer, what is recorded, how it ends."""

import asyncio
import json
import subprocess
import sys
from typing import Any

import anyio
import httpx
import pytest

from harness.testing import (
    BehaviourOptions,
    MockServer,
    Part,
    Reply,
    json_reply,
    mock_server,
    raw_reply,
    text_reply,
)

CHAT = "/v1/chat/completions"


async def post(server, path=CHAT, **options):
    async with httpx.AsyncClient(base_url=server.base_url, trust_env=False) as client:
        return await client.post(path, **{"json": {"stream": True}, **options})


async def until(condition):
    while not condition():
        await asyncio.sleep(0)


@pytest.mark.spec("02-197")
async def test_only_a_proper_request_takes_an_answer():
    async with MockServer("success", api_key="key") as server:
        bearer = {"authorization": "Bearer key"}
        async with httpx.AsyncClient(base_url=server.base_url, trust_env=False) as client:
            answers = [
                await client.post("/v1/models", json={}, headers=bearer),
                await client.get(CHAT, headers=bearer),
                await client.post(CHAT, json={}),
                await client.post(CHAT, json={}, headers={"authorization": "Bearer other"}),
                await client.post(CHAT, content=b"{not json", headers=bearer),
            ]
            assert [answer.status_code for answer in answers] == [404, 405, 401, 401, 400]
            assert answers[1].headers["allow"] == "POST"
            assert all("message" in answer.json()["error"] for answer in answers)
            assert (server.replies_left, len(server.refused), server.requests) == (1, 5, [])
            accepted = await client.post(f"/any/prefix{CHAT}", json={"a": 1}, headers=bearer)
        assert accepted.status_code == 200
        (request,) = server.requests
        assert (request.attempt, request.json()) == (1, {"a": 1})
        assert request.headers["authorization"] == "Bearer key"
        assert server.connections == 1


@pytest.mark.spec("02-198")
async def test_an_exhausted_script_is_an_error_unless_the_last_answer_repeats():
    async with MockServer("success") as server:
        await post(server)
        answer = await post(server)
        assert (answer.status_code, answer.json()["error"]["code"]) == (
            500,
            "MOCK_SCRIPT_EXHAUSTED",
        )
        server.enqueue(text_reply("more"))
        assert "more" in (await post(server)).text
    async with MockServer("server_error", text_reply("last"), repeat_last=True) as server:
        assert (await post(server)).status_code == 500
        for _ in range(3):
            assert "last" in (await post(server)).text
    async with MockServer(repeat_last=True) as server:
        assert (await post(server)).status_code == 500


@pytest.mark.spec("02-199")
async def test_random_behaviours_repeat_with_their_seed():
    async def outcomes(seed):
        script = ["random"] * 12
        weights = {"success": 3, "rate_limit": 2, "empty": 1, "auth_error": 1, "stall": 0}
        async with MockServer(*script, random_seed=seed, random_weights=weights) as server:
            assert server.random_seed == seed
            for _ in script:
                await post(server)
            assert {exchange.script_behavior for exchange in server.exchanges} == {"random"}
            return [exchange.behavior for exchange in server.exchanges]

    assert await outcomes(7) == await outcomes(7)
    assert await outcomes(7) != await outcomes(8)
    assert 0 <= MockServer().random_seed < 2**32


@pytest.mark.spec("02-199")
@pytest.mark.parametrize("weights", [{"success": 0}, {}, {"nonsense": 1}, {"success": -1}])
def test_weights_that_pick_nothing_are_refused(weights):
    with pytest.raises(ValueError, match="positive weight"):
        MockServer(random_weights=weights)


@pytest.mark.spec("02-200")
async def test_closing_ends_a_stalled_exchange():
    server = await MockServer("stall").start()

    async def ask():
        with pytest.raises(httpx.TransportError):
            await post(server, timeout=None)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(ask)
        await until(lambda: server.exchanges)
        await anyio.wait_all_tasks_blocked()
        await server.close()
        await server.close()
    assert server.exchanges[0].outcome == "stalled"


@pytest.mark.spec("02-201")
async def test_an_observer_is_told_everything_and_its_failure_changes_nothing():
    events = []

    def observe(event):
        events.append(event)
        raise LookupError("observer")

    async with MockServer("success", on_event=observe) as server:
        assert (await post(server)).text.endswith("data: [DONE]\n\n")
    assert [(event.kind, event.outcome) for event in events] == [
        ("request", "pending"),
        ("result", "completed"),
    ]
    assert events[1].parts_sent > events[0].parts_sent == 0
    assert events[1].path == CHAT


async def test_answers_can_be_made_from_the_request():
    def count(request):
        messages = request.json()["messages"]
        return text_reply(f"{len(messages)} messages")

    async def slowly(request):
        await asyncio.sleep(0)
        return count(request)

    for respond in (count, slowly):
        async with MockServer(text_reply("first"), respond=respond) as server:
            assert "first" in (await post(server)).text
            assert "2 messag" in (await post(server, json={"messages": [1, 2]})).text
            failed = await post(server)
            assert (failed.status_code, failed.json()["error"]["code"]) == (
                500,
                "MOCK_RESPOND_FAILED",
            )
            assert server.exchanges[-1].outcome == "server_error"


async def test_a_client_that_leaves_is_seen_at_once():
    gate = asyncio.Event()
    slow = [
        raw_reply([b"a"], ending="stall"),
        raw_reply([b"a", Part(b"b", delay_s=60)]),
        raw_reply([b"a", Part(b"b", gate=gate)]),
        Reply(gate=gate),
        Reply(delay_s=60),
    ]
    async with MockServer(*slow) as server:
        for number in range(len(slow)):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(post, server)
                await until(lambda expected=number + 1: len(server.exchanges) == expected)
                await anyio.wait_all_tasks_blocked()
                tasks.cancel_scope.cancel()
            await until(lambda at=number: server.exchanges[at].outcome == "client_closed")


async def test_gates_and_pauses_hold_parts_back():
    gate = asyncio.Event()
    reply = text_reply("0123456789abcdef").gated(2, gate)
    async with MockServer(reply, reply.paced(0.001)) as server:
        url = server.base_url + CHAT
        async with (
            httpx.AsyncClient(trust_env=False) as client,
            client.stream("POST", url, json={}) as response,
        ):
            pieces = response.aiter_raw()
            seen = await anext(pieces) + await anext(pieces)
            assert b"01234567" in seen
            assert server.exchanges[0].parts_sent == 2
            gate.set()
            rest = b"".join([piece async for piece in pieces])
            assert seen + rest == reply.body
        assert (await post(server)).content == reply.body


@pytest.mark.parametrize(
    ("head", "status"),
    [
        (b"nonsense\r\n\r\n", 400),
        (b"GET / SPDY/9\r\n\r\n", 400),
        (b"POST / HTTP/1.1\r\ncontent-length: x\r\n\r\n", 400),
        (b"POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n", 411),
        (b"POST / HTTP/1.1\r\nx: " + b"y" * 100_000 + b"\r\n\r\n", 431),
    ],
)
async def test_bytes_that_are_no_request_are_answered_and_recorded_nowhere(head, status):
    async with MockServer("success") as server:
        stream = await anyio.connect_tcp("127.0.0.1", server.port)
        async with stream:
            await stream.send(head)
            answer = await stream.receive()
        assert answer.startswith(b"HTTP/1.1 %d" % status)
        assert (server.requests, server.replies_left) == ([], 1)


@pytest.mark.parametrize(
    "sent", [b"", b"POST / HT", b"POST / HTTP/1.1\r\ncontent-length: 9\r\n\r\nx"]
)
async def test_a_client_that_leaves_in_the_middle_of_a_request_is_no_error(sent):
    async with MockServer("success") as server:
        async with await anyio.connect_tcp("127.0.0.1", server.port) as stream:
            await stream.send(sent)
        assert (await post(server)).status_code == 200


async def test_any_path_takes_answers_for_other_apis_too():
    async with MockServer(json_reply({"a": 1}), any_path=True) as server:
        async with httpx.AsyncClient(base_url=server.base_url, trust_env=False) as client:
            assert (await client.get("/v1/models?x=1")).json() == {"a": 1}
        assert server.requests[0].path == "/v1/models?x=1"


@pytest.mark.parametrize("framing", ["chunked", "length", "until-close"])
async def test_a_body_is_framed_and_ended_as_scripted(framing):
    whole = raw_reply([b"one", b"", b"two"], framing=framing)
    async with MockServer(whole, whole.ending_with("close")) as server:
        assert (await post(server)).content == b"onetwo"
        async with await anyio.connect_tcp("127.0.0.1", server.port) as stream:
            await stream.send(b"POST %s HTTP/1.1\r\ncontent-length: 2\r\n\r\n{}" % CHAT.encode())
            answer = b"".join([piece async for piece in stream])
        assert (b"\r\n0\r\n\r\n" in answer, b"two" in answer) == (False, True)
        assert [exchange.outcome for exchange in server.exchanges] == ["completed", "reset"]


@pytest.mark.parametrize(
    ("entry", "problem"),
    [
        ("nonsense", "unknown behaviour 'nonsense'"),
        ({"behavior": "success", "colour": 1}, "unknown option"),
        ({"success_text": "x"}, "unknown behaviour 'None'"),
        ({"behavior": "success", "success_text": ""}, "must not be empty"),
        ({"behavior": "success", "chunk_size": 0}, "chunk_size must be at least 1"),
        ({"behavior": "stall", "chunk_delay_s": -1}, "must not be negative"),
        ({"behavior": "tool_call_success", "tool_arguments": "{"}, "expected"),
    ],
)
async def test_a_script_is_checked_before_anything_is_served(entry, problem):
    with pytest.raises(ValueError, match=problem):
        MockServer(entry)
    async with MockServer() as server:
        with pytest.raises(ValueError, match=problem):
            server.enqueue("success", entry)
        assert server.replies_left == 0


async def test_one_script_can_vary_a_behaviour():
    options = BehaviourOptions(success_text="common", request_id="r1")
    script = ["success", {"behavior": "success", "success_text": "special"}]
    async with MockServer(*script, options=options) as server:
        first, second = await post(server), await post(server)
        assert "common" in first.text
        assert "special" in second.text
        assert first.headers["x-request-id"] == "r1"


def run_command(*arguments, **options):
    command = [sys.executable, "-m", "harness.testing.mock_server", *arguments]
    pipes: dict[str, Any] = {
        "stdin": subprocess.PIPE,
        "stdout": subprocess.PIPE,
        "stderr": subprocess.PIPE,
    }
    return subprocess.Popen[bytes](command, **pipes, **options)


def first_line(process):
    assert process.stdout is not None
    return json.loads(process.stdout.readline())


def test_it_runs_as_a_process_and_tells_what_happens(tmp_path):
    script = tmp_path / "script.json"
    script.write_text(json.dumps([{"behavior": "success", "success_text": "hi"}, "rate_limit"]))
    with run_command("--script", str(script), "--api-key", "k", "--until-eof") as process:
        listening = first_line(process)
        headers = {"authorization": "Bearer k"}
        url = listening["base_url"] + CHAT
        with httpx.Client(trust_env=False) as client:
            statuses = [client.post(url, json={}, headers=headers).status_code for _ in range(3)]
            assert client.post(url, json={}).status_code == 401
        out, err = process.communicate(timeout=30)
    events = [json.loads(line) for line in out.splitlines()]
    assert (statuses, process.returncode, err) == ([200, 429, 500], 0, b"")
    assert [event["event"] for event in events] == ["request", "result"] * 3
    assert [event["behavior"] for event in events[::2]] == ["success", "rate_limit", "error-500"]


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b'{"a": 1}', b"must be a JSON list"),
        (b"[1", b"expected"),
        (b'["nonsense"]', b"unknown behaviour"),
        (None, b"No such file"),
    ],
)
def test_a_bad_script_ends_the_process_with_a_message(tmp_path, content, problem):
    script = tmp_path / "script.json"
    if content is not None:
        script.write_bytes(content)
    with run_command("--script", str(script)) as process:
        out, err = process.communicate(timeout=30)
    assert (process.returncode, out) == (2, b"")
    assert err.startswith(b"mock_server: ")
    assert problem in err


def test_the_command_can_be_called_from_python(capsys):
    assert mock_server.main(["--sequence", "nonsense"]) == 2
    assert "unknown behaviour 'nonsense'" in capsys.readouterr().err


def test_an_interrupt_ends_the_process():
    import signal

    with run_command("--sequence", "success,stall") as process:
        assert first_line(process)["event"] == "listening"
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=30)
    assert (process.returncode, err) == (130, b"")
