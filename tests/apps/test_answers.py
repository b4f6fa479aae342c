"""`dsh run` prints the answer, and says with its exit code when there is none."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from harness.session import event_to_json
from harness.testing import (
    DONE,
    Part,
    ReplyToolCall,
    chat_chunk,
    error_reply,
    raw_reply,
    text_reply,
    tool_call_reply,
)
from harness.wire import dumps, loads

BOTH = pytest.mark.parametrize("form", [(), ("--json",)], ids=["text", "json"])


def bash(command: str, call_id: str = "c1", **more):
    return tool_call_reply(
        "bash", {"command": command, "description": "Try it"}, call_id=call_id, **more
    )


@pytest.fixture
def dsh(dsh, server):
    dsh.use(server)
    return dsh


@pytest.mark.spec("09-C050", "09-C081")
async def test_the_answer_goes_to_stdout_and_nothing_else_does(dsh, server, check_grammar):
    server.enqueue(text_reply("answer"), text_reply("answer\n"), text_reply("answer"))
    for _ in range(2):
        done = await dsh("run", "question")
        assert (done.code, done.stdout, done.stderr) == (0, b"answer\n", "")
    done = await dsh("run", "--json", "question")
    check_grammar(done.lines)
    assert (done.code, done.stderr, done.only("final")["text"]) == (0, "", "answer")
    assert len(server.requests) == 3, "one task is one request"


@pytest.mark.spec("09-C051")
async def test_reasoning_is_shown_only_on_demand_and_on_stderr(dsh, server):
    server.enqueue(*[text_reply("answer", reasoning="let me think")] * 3)
    done = await dsh("run", "question")
    assert (done.out, done.stderr) == ("answer\n", "")
    done = await dsh("run", "--show-reasoning", "question")
    assert (done.code, done.out, done.stderr) == (0, "answer\n", "let me think\n")
    done = await dsh("run", "--json", "question")
    assert done.only("thinking")["text"] == "let me think"


@pytest.mark.spec("09-C052")
async def test_only_the_last_text_is_the_answer(dsh, server, check_grammar):
    for _ in range(2):
        server.enqueue(bash("echo from the tool", text="I will look"), text_reply("done"))
    assert (await dsh("run", "do it")).out == "done\n"
    done = await dsh("run", "--json", "do it")
    check_grammar(done.lines)
    assert done.only("tool_call")["input"]["command"] == "echo from the tool"
    result = done.only("tool_result")
    assert result["status"] == "completed"
    assert result["result"].startswith("from the tool\n")
    assert [line["text"] for line in done.lines if line["type"] == "text"] == [
        "I will look",
        "done",
    ]
    final = done.only("final")
    assert (final["steps"], final["turns"], final["reason"]) == (2, 1, "completed")
    assert final["usage"]["totalTokens"] == 3 + 2 + 3 + 4


@pytest.mark.spec("09-C053")
@BOTH
async def test_a_refused_key_is_a_matter_of_credentials(dsh, server, form, check_grammar):
    server.enqueue(error_reply(401, "invalid api key"))
    done = await dsh("run", *form, "question")
    assert (done.code, done.code_line) == (4, "AUTH")
    assert "HTTP 401" in done.stderr
    assert server.base_url in done.stderr
    assert "test-key" not in done.stderr + done.out
    assert "DEEPSEEK_API_KEY" in done.stderr
    assert len(server.requests) == 1, "a wrong key is not tried again"
    if form:
        check_grammar(done.lines)
        assert done.only("error")["code"] == "AUTH"


@pytest.mark.spec("09-C054", "09-C056")
@pytest.mark.parametrize(
    ("status", "code", "exit_code"), [(429, "RATE_LIMIT", 5), (500, "SERVER", 1)]
)
async def test_a_server_elsewhere_is_asked_six_times(dsh, server, status, code, exit_code):
    """The proxy makes it a server elsewhere; it asks for short pauses, to keep the test short."""
    server.enqueue(*[error_reply(status, "not now", retry_after="1")] * 9)
    dsh.environment["DEEPSEEK_BASE_URL"] = "http://model.invalid"
    dsh.environment["HTTP_PROXY"] = server.base_url
    done = await dsh("run", "question")
    assert (done.code, done.code_line) == (exit_code, code)
    assert len(server.requests) == 6
    assert "not now" in done.stderr
    assert "after 6 attempts, 5.0 s waited" in done.stderr


async def test_a_server_on_this_machine_is_asked_three_times(dsh, server):
    server.enqueue(*[error_reply(429, "slow down", retry_after="1")] * 9)
    done = await dsh("run", "question")
    assert (done.code, done.code_line) == (5, "RATE_LIMIT")
    assert "slow down after 3 attempts, 2.0 s waited; the provider asks to wait 1 s" in done.stderr
    assert len(server.requests) == 3


@pytest.mark.spec("09-C055")
async def test_a_passing_failure_is_retried_and_told_to_programs(dsh, server, check_grammar):
    server.enqueue(error_reply(503, "busy"), error_reply(503, "busy"), text_reply("here"))
    done = await dsh("run", "--json", "question")
    check_grammar(done.lines)
    retries = [line for line in done.lines if line["type"] == "retry"]
    assert [line["attempt"] for line in retries] == [1, 2]
    assert retries[0].keys() == {"type", "attempt", "max", "delayMs", "code", "message"}
    assert (done.code, done.stderr, done.only("final")["text"]) == (0, "", "here")


async def test_a_server_that_stays_broken_is_reported(dsh, server):
    server.enqueue(*[error_reply(500, "broken")] * 9)
    done = await dsh("run", "question")
    assert (done.code, done.code_line) == (1, "SERVER")
    assert "broken" in done.stderr
    assert server.base_url in done.stderr


@pytest.mark.spec("09-C057")
@BOTH
async def test_garbage_in_the_stream_keeps_what_came_before(dsh, server, form, check_grammar):
    pieces = [chat_chunk({"content": "half an ans"}), b"data: {oops\n\n", DONE]
    server.enqueue(raw_reply(pieces))
    done = await dsh("run", *form, "question")
    assert (done.code, done.code_line) == (1, "MALFORMED_RESPONSE")
    assert len(server.requests) == 1
    if form:
        check_grammar(done.lines)
        assert done.only("final")["text"] == "half an ans"
    else:
        assert done.out == "half an ans\n"


@pytest.mark.spec("09-C058")
async def test_a_cut_stream_is_tried_again(dsh, server, check_grammar):
    cut = text_reply("cut off in the middle").ending_with("complete", after_parts=3)
    server.enqueue(cut, cut, text_reply("whole"))
    done = await dsh("run", "--json", "question")
    check_grammar(done.lines)
    assert [line["type"] for line in done.lines].count("retry") == 2
    assert [line["text"] for line in done.lines if line["type"] == "text"] == ["whole"]
    assert done.code == 0
    server.enqueue(cut, cut, cut)
    done = await dsh("run", "question")
    assert (done.code, done.code_line) == (1, "STREAM_CLOSED")
    assert done.out == "cut off in the m\n", "what came is printed before the error"
    assert "after 3 attempts" in done.stderr


@pytest.mark.spec("09-C058")
async def test_a_server_elsewhere_that_cuts_every_stream_is_asked_six_times(dsh, server, hurried):
    cut = text_reply("cut off in the middle").ending_with("complete", after_parts=3)
    server.enqueue(*[cut] * 9)
    dsh.environment["DEEPSEEK_BASE_URL"] = "http://model.invalid"
    dsh.environment["HTTP_PROXY"] = server.base_url
    done = await dsh("run", "question", command=hurried)
    assert (done.code, done.code_line) == (1, "STREAM_CLOSED")
    assert done.out == "cut off in the m\n"
    assert len(server.requests) == 6
    assert "after 6 attempts" in done.stderr


@pytest.mark.spec("09-C059")
async def test_an_empty_stream_is_tried_again(dsh, server):
    server.enqueue(*[raw_reply([DONE])] * 9)
    done = await dsh("run", "question")
    assert (done.code, done.code_line) == (1, "EMPTY_RESPONSE")
    assert len(server.requests) == 3


@pytest.mark.spec("09-C060")
@BOTH
async def test_a_cut_answer_is_printed_and_is_no_success(dsh, server, form, check_grammar):
    server.enqueue(text_reply("as far as it w", finish_reason="length"))
    done = await dsh("run", *form, "--max-tokens", "14", "question")
    assert (done.code, done.code_line) == (6, "MAX_TOKENS")
    assert "(14 tokens)" in done.stderr
    assert server.requests[0].json()["max_tokens"] == 14
    if form:
        check_grammar(done.lines)
        assert done.only("final")["reason"] == "max-tokens"
    else:
        assert done.out == "as far as it w\n"


@pytest.mark.spec("09-C061")
async def test_a_refusal_of_the_provider_is_called_so(dsh, server):
    server.enqueue(text_reply("I can", finish_reason="content_filter"))
    done = await dsh("run", "question")
    assert (done.code, done.code_line) == (1, "REFUSED")


@pytest.mark.spec("09-C062")
async def test_broken_arguments_go_back_to_the_model(dsh, server, check_grammar):
    server.enqueue(tool_call_reply("bash", '{"command": "ls'), text_reply("sorry"))
    done = await dsh("run", "--json", "question")
    check_grammar(done.lines)
    assert done.code == 0
    assert done.only("tool_call")["rawInput"] == '{"command": "ls'
    result = done.only("tool_result")
    assert result["status"] == "error"
    assert "JSON" in result["result"]


@pytest.mark.spec("09-C063")
async def test_an_unknown_tool_goes_back_to_the_model(dsh, server):
    server.enqueue(tool_call_reply("bsh", {}), text_reply("sorry"))
    done = await dsh("run", "--json", "question")
    assert (done.code, done.only("final")["text"]) == (0, "sorry")
    result = done.only("tool_result")
    assert result["status"] == "error"
    assert result["result"] == 'Error: unknown tool "bsh"; did you mean "bash"?'


async def test_a_huge_output_stays_out_of_the_log(dsh, server):
    server.enqueue(bash("head -c 20000000 /dev/zero | tr '\\0' x"), text_reply("done"))
    done = await dsh("run", "--json", "question")
    assert done.code == 0
    (log,) = dsh.session_files()
    assert log.stat().st_size < 100_000
    (spilled,) = dsh.home.glob("py/spill/*/*-bash-stdout.log")
    assert str(spilled) in done.only("tool_result")["result"]
    assert spilled.stat().st_size == 20_000_000


@pytest.mark.spec("09-C064")
async def test_a_server_that_is_down_is_reported(dsh, server):
    await server.close()
    done = await dsh("run", "question")
    assert (done.code, done.code_line) == (1, "TRANSPORT")
    assert server.base_url in done.stderr
    assert "is the server running" in done.stderr
    assert "after 3 attempts" in done.stderr


@pytest.mark.spec("09-C076")
async def test_a_loop_without_end_is_stopped_at_the_limit(dsh, server, check_grammar):
    for number in range(9):
        server.enqueue(bash("true", call_id=f"c{number}"))
    done = await dsh("run", "--json", "--max-steps", "3", "question")
    check_grammar(done.lines)
    assert (done.code, done.code_line) == (1, "MAX_STEPS")
    assert len(server.requests) == 3


async def test_every_failed_turn_ends_with_how_to_go_on(dsh, server):
    server.enqueue(error_reply(400, "no such thing"), text_reply("better"))
    done = await dsh("run", "--json", "question")
    assert (done.code, done.code_line) == (1, "INVALID_REQUEST")
    session_id = done.only("final")["sessionId"]
    last = done.stderr.rstrip("\n").split("\n")[-1]
    assert f"dsh run --resume {session_id}" in last
    again = await dsh("run", "--resume", session_id, "go on")
    assert (again.code, again.out) == (0, "better\n")


async def test_parallel_calls_have_one_result_each(dsh, server, check_grammar):
    arguments = '{"command": "echo hi", "description": "Say hi"}'
    calls = [ReplyToolCall("bash", arguments, f"c{number}") for number in range(3)]
    server.enqueue(text_reply("three", tool_calls=calls), text_reply("done"))
    done = await dsh("run", "--json", "go")
    check_grammar(done.lines)
    assert [line["type"] for line in done.lines].count("tool_result") == 3


@pytest.mark.spec("09-C091")
async def test_deltas_come_while_the_answer_streams(dsh, server, check_grammar):
    gate = asyncio.Event()
    server.enqueue(text_reply("one two three four", reasoning="hm").gated(4, gate))
    async with dsh.start("run", "--json-deltas", "question") as running:
        delta = await running.line("delta")
        assert delta["kind"] == "thinking"
        assert not gate.is_set(), "the answer is still streaming"
        gate.set()
        done = await running.end()
    check_grammar(done.lines)
    deltas = [line for line in done.lines if line["type"] == "delta"]
    text = "".join(line["text"] for line in deltas if line["kind"] == "text")
    assert text == done.only("text")["text"] == "one two three four"


async def test_tool_arguments_are_deltas_too(dsh, server, check_grammar):
    server.enqueue(bash("true"), text_reply("done"))
    done = await dsh("run", "--json-deltas", "question")
    check_grammar(done.lines)
    pieces = [line for line in done.lines if line.get("kind") == "tool_args"]
    assert {line["callId"] for line in pieces} == {"c1"}
    assert '"command":"true"' in "".join(line["text"] for line in pieces)


async def test_raw_events_are_those_that_are_stored(dsh, server):
    server.enqueue(bash("true"), text_reply("done"))
    done = await dsh("run", "--events", "question")
    assert (done.code, done.stderr) == (0, "")
    (session_id,) = {line["sessionId"] for line in done.lines}
    events = await dsh.balanced(session_id)
    assert [line["event"] for line in done.lines] == [
        loads(dumps(event_to_json(event))) for event in events
    ]
    assert (await dsh("run", "--events", "--json", "x")).code == 2


async def test_the_answer_may_hold_anything(dsh, server):
    text = "ünïcode 漢字 🙂\u2028 \x1b[31mred\x1b[0m \x00 end\n\n"
    server.enqueue(text_reply(text), text_reply(text))
    assert (await dsh("run", "question")).out == text
    assert (await dsh("run", "--json", "question")).only("final")["text"] == text


async def test_a_huge_output_of_a_tool_does_not_bloat_the_log(dsh, server):
    server.enqueue(bash("head -c 20000000 /dev/zero | tr '\\0' x"), text_reply("done"))
    done = await dsh("run", "--json", "question")
    assert done.code == 0
    (log,) = dsh.session_files()
    assert log.stat().st_size < 100_000
    shown = done.only("tool_result")["result"]
    spills = [path for path in dsh.home.glob("py/spill/*/*") if str(path) in shown]
    assert len(spills) == 1
    assert spills[0].stat().st_size == 20_000_000


async def test_the_model_knows_where_it_works(dsh, server):
    server.enqueue(text_reply("ok"))
    await dsh("run", "question")
    request = server.requests[0].json()
    assert str(dsh.cwd) in request["messages"][0]["content"]
    assert {tool["function"]["name"] for tool in request["tools"]} == {
        "bash",
        "edit",
        "read",
        "write",
    }


async def test_the_command_works_in_the_directory_that_is_given(dsh, server, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    server.enqueue(bash("pwd"), text_reply("done"))
    done = await dsh("run", "--json", "--cwd", str(other), "question")
    assert done.only("session")["cwd"] == str(other.resolve())
    assert done.only("tool_result")["result"].startswith(str(other.resolve()))


async def test_output_that_cannot_be_written_is_no_success(dsh, server):
    if not Path("/dev/full").exists():
        pytest.skip("this system has no /dev/full")
    server.enqueue(text_reply("answer"))
    full = os.open("/dev/full", os.O_WRONLY)
    done = await dsh("run", "question", stdout=full)
    os.close(full)
    assert (done.code, done.code_line) == (1, "STORAGE_FULL")
    assert "standard output" in done.stderr
    assert "dsh run --resume" in done.stderr, "the answer is in the session"


async def test_a_closed_stdout_never_becomes_a_log_file(dsh, server):
    server.enqueue(text_reply("answer"))
    done = await dsh("run", "question", preexec_fn=lambda: os.close(1))
    assert done.code == 0
    (log,) = dsh.session_files()
    assert b"answer\n" not in log.read_bytes()


async def test_a_slow_answer_is_not_cut(dsh, server):
    server.enqueue(raw_reply([Part(chat_chunk({"content": "late"}), 0.2), *_end()]))
    assert (await dsh("run", "question")).out == "late\n"


def _end() -> list[bytes]:
    return [chat_chunk({"content": ""}, finish_reason="stop"), DONE]
