"""Stored sessions go on where they ended, for whoever may take them up."""

from __future__ import annotations

import asyncio
import os
import signal
import socket

import pytest

from harness.testing import MockServer, text_reply, tool_call_reply


async def first_run(dsh, *arguments: str) -> str:
    """Run something; return the id of its session."""
    done = await dsh("run", "--json", *arguments, "first question")
    assert done.code == 0, done.stderr
    return done.only("session")["sessionId"]


@pytest.fixture
def dsh(dsh, server):
    dsh.use(server)
    server.enqueue(*[text_reply(f"answer {number}") for number in range(1, 6)])
    return dsh


async def test_a_session_goes_on_with_its_history(dsh, server):
    session_id = await first_run(dsh)
    done = await dsh("run", "--resume", session_id, "second question")
    assert (done.code, done.out, done.stderr) == (0, "answer 2\n", "")
    sent = [message["content"] for message in server.requests[1].json()["messages"][1:]]
    assert sent == ["first question", "answer 1", "second question"]
    done = await dsh("run", "--session-id", session_id.removeprefix("session-")[:13], "third")
    assert (done.code, done.out) == (0, "answer 3\n")
    assert [event.data["turn"] for event in await dsh.balanced(session_id) if
            event.type == "turn/end"] == [1, 2, 3]  # fmt: skip


async def test_an_unknown_session_names_the_nearest(dsh):
    session_id = await first_run(dsh)
    wrong = session_id[:-1] + ("0" if session_id[-1] != "0" else "1")
    del dsh.environment["DEEPSEEK_BASE_URL"]
    done = await dsh("run", "--resume", wrong, "more")
    assert (done.code, done.code_line) == (7, "SESSION_NOT_FOUND")
    assert wrong in done.stderr
    assert f"nearest: {session_id}" in done.stderr
    done = await dsh("sessions", "show", "nothing-like-it")
    assert (done.code, done.code_line) == (7, "SESSION_NOT_FOUND")
    assert session_id in done.stderr
    assert len(dsh.session_files()) == 1


async def test_without_any_session_none_is_near(dsh):
    done = await dsh("run", "--resume", "session-1", "more")
    assert (done.code, done.code_line) == (7, "SESSION_NOT_FOUND")
    assert "nothing is stored" in done.stderr


async def test_a_beginning_of_an_id_must_be_unique(dsh):
    await first_run(dsh)
    await first_run(dsh)
    done = await dsh("sessions", "show", "session-0")
    assert done.code == 7
    assert "2 sessions begin with" in done.stderr


async def test_another_directory_is_refused(dsh, tmp_path, server):
    session_id = await first_run(dsh)
    other = (tmp_path / "other").resolve()
    other.mkdir()
    done = await dsh("run", "--resume", session_id, "more", cwd=other)
    assert (done.code, done.code_line) == (7, "SESSION_CWD")
    assert str(other) in done.stderr
    assert str(dsh.cwd) in done.stderr
    assert len(server.requests) == 1
    there = await dsh("run", "--resume", session_id, "--cwd", str(dsh.cwd), "more", cwd=other)
    assert (there.code, there.out) == (0, "answer 2\n")


async def test_a_directory_that_is_gone_is_said_to_be(dsh, tmp_path):
    session_id = await first_run(dsh)
    dsh.cwd.rename(tmp_path / "moved")
    done = await dsh("run", "--resume", session_id, "more", cwd=tmp_path)
    assert (done.code, done.code_line) == (7, "SESSION_CWD")
    assert "does not exist any more" in done.stderr
    (tmp_path / "moved").rename(dsh.cwd)


@pytest.mark.spec("09-C075")
async def test_a_session_has_one_writer(dsh):
    async with MockServer(text_reply("slow").ending_with("stall", after_parts=2)) as slow:
        session_id = await first_run(dsh)
        dsh.use(slow)
        async with dsh.start("run", "--json", "--resume", session_id, "more") as first:
            await first.line("session")
            done = await dsh("run", "--resume", session_id, "more")
            assert (done.code, done.code_line) == (7, "SESSION_LOCKED")
            assert f"pid {first.pid}" in done.stderr
            assert socket.gethostname() in done.stderr
            (row,) = (await dsh("sessions", "list", "--json")).lines[0]["sessions"]
            assert row["state"] == "open"
            first.signal(signal.SIGTERM)
            assert (await first.end()).code == 143
    await dsh.balanced(session_id)


async def test_a_damaged_log_is_named_and_left_alone(dsh):
    session_id = await first_run(dsh)
    (log,) = dsh.session_files()
    lines = log.read_bytes().split(b"\n")
    lines[3] = b'{"type": oops'
    log.write_bytes(b"\n".join(lines))
    before = log.read_bytes()
    offset = len(b"\n".join(lines[:3])) + 1
    for arguments in (("run", "--resume", session_id, "more"), ("sessions", "show", session_id)):
        done = await dsh(*arguments)
        assert (done.code, done.code_line) == (7, "SESSION_CORRUPT")
        assert str(log) in done.stderr
        assert f"line 4 (byte {offset})" in done.stderr
    assert log.read_bytes() == before
    raw = await dsh("sessions", "show", "--raw", session_id)
    assert raw.stdout == before
    (row,) = (await dsh("sessions", "list", "--json")).lines[0]["sessions"]
    assert row["state"] == "unreadable"
    assert "line 4" in row["problem"]


async def test_a_newer_format_is_refused(dsh):
    session_id = await first_run(dsh)
    (log,) = dsh.session_files()
    newer = log.with_name(log.name.replace("v1000", "v2000"))
    newer.write_bytes(log.read_bytes().replace(b'"version":1000', b'"version":2000', 1))
    log.unlink()
    done = await dsh("run", "--resume", session_id, "more")
    assert (done.code, done.code_line) == (7, "SESSION_FORMAT_UNSUPPORTED")
    assert "upgrade" in done.stderr
    listed = await dsh("sessions", "list", "--all")
    assert "unreadable" in listed.out
    assert "upgrade" in listed.out


async def test_a_log_without_any_event_is_listed_and_goes_on(dsh):
    session_id = await first_run(dsh)
    (log,) = dsh.session_files()
    log.write_bytes(log.read_bytes().split(b"\n")[0] + b"\n")
    (row,) = (await dsh("sessions", "list", "--json")).lines[0]["sessions"]
    assert (row["title"], row["turns"], row["model"], row["state"]) == (None, 0, None, "idle")
    done = await dsh("run", "--resume", session_id, "more")
    assert (done.code, done.out) == (0, "answer 2\n")


async def test_a_log_of_any_size_is_listed(dsh):
    session_id = await first_run(dsh)
    (log,) = dsh.session_files()
    lines = log.read_bytes().split(b"\n")
    with log.open("wb") as file:
        file.write(lines[0] + b"\n")
        file.truncate(20 * 2**20)
    listed = await dsh("sessions", "list")
    assert listed.out.startswith(f"{session_id}  ")
    assert "? turns" in listed.out


async def test_a_session_without_a_directory_is_not_taken_up(dsh):
    session_id = await first_run(dsh)
    (log,) = dsh.session_files()
    text = log.read_text().replace(f'"cwd":"{dsh.cwd}",', "", 1)
    log.unlink()
    moved = log.parents[2] / "_no-cwd" / log.parent.name / log.name
    moved.parent.mkdir(parents=True)
    moved.write_text(text)
    done = await dsh("run", "--resume", session_id, "more")
    assert (done.code, done.code_line) == (7, "SESSION_CWD")


async def test_a_torn_end_is_dropped_and_the_session_goes_on(dsh):
    session_id = await first_run(dsh)
    (log,) = dsh.session_files()
    with log.open("ab") as file:
        file.write(b'{"type":"turn/sta')
    done = await dsh("run", "--resume", session_id, "more")
    assert (done.code, done.out) == (0, "answer 2\n")
    await dsh.balanced(session_id)


async def test_a_session_keeps_its_model_until_another_is_chosen(dsh, server):
    session_id = await first_run(dsh, "--model", "deepseek-v4-pro")
    await dsh("run", "--resume", session_id, "more")
    await dsh("run", "--resume", session_id, "--model", "special", "more")
    offline = await dsh("run", "--resume", session_id, "--offline", "hello")
    assert "Try one of these" in offline.out
    kept = await dsh("run", "--json", "--resume", session_id, "hello")
    assert kept.only("session")["provider"] == "offline"
    back = await dsh("run", "--json", "--resume", session_id, "--provider", "deepseek", "more")
    assert back.only("session")["provider"] == "deepseek-official"
    models = [request.json()["model"] for request in server.requests]
    assert models == ["deepseek-v4-pro", "deepseek-v4-pro", "special", "deepseek-v4-flash"]
    await dsh.balanced(session_id)


async def test_a_session_of_a_custom_server_needs_its_address(dsh, server):
    session_id = await first_run(dsh, "--base-url", server.base_url, "--model", "llama")
    done = await dsh("run", "--resume", session_id, "more")
    assert (done.code, done.code_line) == (2, "USAGE")
    assert "--base-url" in done.stderr
    done = await dsh("run", "--resume", session_id, "--base-url", server.base_url, "more")
    assert (done.code, done.out) == (0, "answer 2\n")
    assert server.requests[1].json()["model"] == "llama"


async def test_a_session_without_its_key_is_a_matter_of_credentials(dsh):
    session_id = await first_run(dsh)
    del dsh.environment["DEEPSEEK_API_KEY"]
    before = dsh.session_files()[0].read_bytes()
    done = await dsh("run", "--resume", session_id, "more")
    assert (done.code, done.code_line) == (4, "MISSING_CREDENTIAL")
    assert dsh.session_files()[0].read_bytes().startswith(before)
    await dsh.balanced(session_id)


async def test_a_session_that_never_asked_goes_to_whoever_is_there(dsh, server):
    """A run that was killed before its first request has no model in its log."""
    async with dsh.start("run", "--json", "first question") as running:
        session_id = (await running.line("session"))["sessionId"]
        running.signal(signal.SIGKILL)
        await running.end()
    (log,) = dsh.session_files()
    head = log.read_bytes().split(b"\n")[:3]
    log.write_bytes(b"\n".join(head) + b"\n")
    done = await dsh("run", "--resume", session_id, "more")
    assert (done.code, done.out.startswith("answer")) == (0, True)
    del dsh.environment["DEEPSEEK_API_KEY"]
    log.write_bytes(b"\n".join(head) + b"\n")
    done = await dsh("run", "--resume", session_id, "more")
    assert (done.code, done.code_line) == (4, "MISSING_CREDENTIAL")


async def test_the_list_shows_this_directory_newest_first(dsh, tmp_path):
    first = await first_run(dsh)
    second = await first_run(dsh, "--model", "deepseek-v4-pro")
    other = (tmp_path / "other").resolve()
    other.mkdir()
    third = (await dsh("run", "--json", "elsewhere", cwd=other)).only("session")["sessionId"]
    listed = await dsh("sessions", "list")
    assert [row.split()[0] for row in listed.out.split("\n") if row] == [second, first]
    assert "first question" in listed.out
    assert "1 turn  idle" in listed.out
    everywhere = await dsh("sessions", "list", "--all")
    assert [row.split()[0] for row in everywhere.out.split("\n") if row] == [third, second, first]
    assert str(other) in everywhere.out
    rows = (await dsh("sessions", "list", "--json", "--limit", "1")).lines[0]["sessions"]
    assert [row["id"] for row in rows] == [second]
    assert rows[0]["model"] == "deepseek-official/deepseek-v4-pro"
    assert rows[0]["turns"] == 1
    assert rows[0]["cwd"] == str(dsh.cwd)
    at = await dsh("sessions", "list", "--cwd", str(other))
    assert at.out.startswith(third)


async def test_an_empty_list_makes_no_home(dsh):
    done = await dsh("sessions", "list", "--json")
    assert (done.code, done.lines) == (0, [{"sessions": []}])
    done = await dsh("sessions", "list")
    assert (done.code, done.out) == (0, "")
    assert "no sessions in" in done.stderr
    assert "no sessions anywhere" in (await dsh("sessions", "list", "--all")).stderr
    assert not dsh.home.exists()


async def test_a_session_is_shown_as_it_went(dsh, server):
    server.enqueue()
    session_id = await first_run(dsh)
    await dsh("run", "--resume", session_id, "second\nquestion")
    shown = await dsh("sessions", "show", session_id)
    assert shown.out.startswith(f"{session_id}  idle  {dsh.cwd}\n")
    assert "> first question\n\nanswer 1\n\n> second\n> question\n\nanswer 2\n" in shown.out
    document = (await dsh("sessions", "show", session_id, "--json")).lines[0]
    assert document["header"]["id"] == session_id
    assert document["state"] == "idle"
    assert document["events"][0]["type"] == "turn/start"
    tail = (await dsh("sessions", "show", session_id, "--json", "--tail", "2")).lines[0]
    assert tail["events"] == document["events"][-2:]
    raw = await dsh("sessions", "show", session_id, "--raw")
    assert raw.stdout == dsh.session_files()[0].read_bytes()
    last = await dsh("sessions", "show", session_id, "--raw", "--tail", "1")
    assert raw.stdout.endswith(b"\n" + last.stdout)


async def test_tools_and_failures_are_shown_in_one_line_each(dsh):
    async with MockServer(
        tool_call_reply("bash", {"command": "echo a\necho b", "description": "Try"}),
        tool_call_reply("read", {"file_path": "missing"}, call_id="c2"),
        text_reply("cut", finish_reason="length"),
    ) as server:
        dsh.use(server)
        done = await dsh("run", "--json", "do it")
    shown = await dsh("sessions", "show", done.only("session")["sessionId"])
    rows = shown.out.split("\n")
    assert any(row.startswith("→ bash {") for row in rows)
    assert any(row.startswith("  failed: Error: ") for row in rows)
    assert "(the turn ended: max-tokens)" in rows


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        ((), "list or show"),
        (("lst",), "did you mean list?"),
        (("xyzzy",), "did you mean list or show?"),
        (("show",), "one session id"),
        (("show", "a", "b"), "one session id"),
        (("list", "a"), "'a'"),
        (("list", "--raw"), "--raw"),
        (("show", "--model", "x", "y"), "--model"),
    ],
)
async def test_words_that_do_not_fit_are_refused(dsh, arguments, word):
    done = await dsh("sessions", *arguments)
    assert (done.code, done.code_line) == (2, "USAGE")
    assert word in done.stderr


async def test_two_runs_at_once_have_two_sessions(dsh):
    one, other = await asyncio.gather(dsh("run", "--json", "first"), dsh("run", "--json", "second"))
    assert one.code == other.code == 0
    ids = {done.only("session")["sessionId"] for done in (one, other)}
    assert len(ids) == len(dsh.session_files()) == 2
    for session_id in ids:
        await dsh.balanced(session_id)


async def test_a_home_of_its_own_can_be_given(dsh, tmp_path):
    home = tmp_path / "elsewhere"
    done = await dsh("run", "--json", "--home", str(home), "question")
    assert done.code == 0
    assert home.stat().st_mode & 0o777 == 0o700
    assert len(list(home.glob("py/sessions/*/*/*.jsonl"))) == 1
    assert not dsh.home.exists()
    assert os.listdir(home) == ["py"]
