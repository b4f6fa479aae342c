"""What is wrong with the surroundings is said plainly, with an exit code, and nothing is lost."""

from __future__ import annotations

import ctypes
import os
import resource
import stat

import pytest

from harness.testing import MockServer, error_reply, json_reply, text_reply, tool_call_reply

PR_CAPBSET_DROP = 24
CAP_DAC_OVERRIDE = 1


@pytest.mark.spec("09-C065")
@pytest.mark.parametrize(
    "form",
    [
        (),
        ("--json",),
        ("--provider", "deepseek"),
        ("--base-url", "https://api.deepseek.com/v1"),
    ],
)
async def test_without_a_model_automation_is_told_so(dsh, form):
    done = await dsh("run", *form, "question")
    assert (done.code, done.code_line) == (4, "MISSING_CREDENTIAL")
    assert "DEEPSEEK_API_KEY" in done.stderr
    assert "--offline" in done.stderr
    assert dsh.session_files() == []
    if form == ("--json",):
        assert len(done.lines) == 1
        assert done.only("error")["code"] == "MISSING_CREDENTIAL"


async def test_a_key_that_is_no_key_is_named_but_not_shown(dsh, server):
    dsh.use(server)
    dsh.environment["DEEPSEEK_API_KEY"] = "sk-with blank"
    done = await dsh("run", "question")
    assert (done.code, done.code_line) == (4, "INVALID_CREDENTIAL")
    assert "DEEPSEEK_API_KEY" in done.stderr
    assert "sk-with" not in done.stderr
    assert server.requests == []


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("127.0.0.1:8080", "127.0.0.1:8080"),
        ("ftp://x/v1", "ftp://x/v1"),
        ("http://", "http://"),
        ("http://user:secret@[::1", "unreadable"),
        ("http://x:0/v1", "http://x:0/v1"),
        ("http://x y/", "http://x y/"),
    ],
)
async def test_an_address_that_is_none_is_refused(dsh, url, shown):
    done = await dsh("run", "--base-url", url, "question")
    assert (done.code, done.code_line) == (2, "USAGE")
    assert shown in done.stderr
    assert "secret" not in done.stderr
    assert "http://127.0.0.1:8080/v1" in done.stderr


async def test_a_name_that_does_not_resolve_is_reported(dsh, guarded):
    arguments = ("run", "--base-url", "http://nowhere.invalid:8080/v1", "--model", "x")
    done = await dsh(*arguments, "--timeout", "5", "question", command=guarded)
    assert done.code == 124, "the default policy waits longer for servers elsewhere"
    again = await dsh("sessions", "list", "--json")
    (row,) = again.lines[0]["sessions"]
    shown = await dsh("sessions", "show", row["id"], "--raw")
    assert "nowhere.invalid" in shown.out
    assert "TRANSPORT" in shown.out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--offline", "--base-url", "http://x"), "contradict"),
        (("--offline", "--provider", "deepseek"), "contradict"),
        (("--max-steps", "0"), "--max-steps expects a whole number above 0, found '0'"),
        (("--timeout", "soon"), "--timeout expects a number of seconds above 0"),
        (("--model", ""), "--model expects a text"),
        (("--offline=yes",), "--offline takes no value"),
        (("--limit", "3"), "--limit is no option of dsh run"),
        (("--model",), "--model needs a value"),
        (("--model", "--json"), "--model needs a value"),
    ],
)
async def test_options_that_do_not_fit_are_refused(dsh, arguments, words):
    done = await dsh("run", "question", *arguments)
    assert (done.code, done.code_line) == (2, "USAGE")
    assert words in done.stderr
    assert not dsh.home.exists()


async def test_a_model_that_is_not_there_is_refused_before_a_session(dsh, server):
    done = await dsh("run", "--offline", "--model", "gpt", "question")
    assert (done.code, done.code_line) == (2, "UNKNOWN_MODEL")
    dsh.use(server)
    done = await dsh("run", "--effort", "extreme", "question")
    assert (done.code, done.code_line) == (2, "UNSUPPORTED_REASONING_EFFORT")
    assert "high" in done.stderr
    assert dsh.session_files() == []


@pytest.mark.spec("09-C034")
@pytest.mark.parametrize("mode", ["zzz", "read-only", "workspace-write"])
async def test_a_permission_mode_that_cannot_be_held_stops_the_boot(dsh, server, mode):
    dsh.use(server)
    dsh.environment["DSH_PERMISSION_MODE"] = mode
    done = await dsh("run", "question")
    assert (done.code, done.code_line) == (3, "CONFIG_INVALID")
    assert mode in done.stderr
    assert server.requests == []


@pytest.mark.parametrize("mode", ["zzz", "ptc", "code", "both"])
async def test_a_tools_mode_that_cannot_be_held_stops_the_boot(dsh, server, mode):
    dsh.use(server)
    dsh.environment["DSH_TOOLS_MODE"] = mode
    done = await dsh("run", "question")
    assert (done.code, done.code_line) == (3, "CONFIG_INVALID")
    assert mode in done.stderr
    assert "native" in done.stderr
    assert server.requests == []
    assert mode in (await dsh("config", "check")).out
    dsh.environment |= {"DSH_TOOLS_MODE": "native", "DSH_PERMISSION_MODE": "danger-full-access"}
    assert (await dsh("config", "check")).code == 0


@pytest.mark.spec("09-C038")
async def test_an_env_file_may_not_decide_about_the_harness(dsh):
    (dsh.cwd / ".env").write_text("A=1\nDSH_HOME=/tmp/x\n")
    done = await dsh("run", "--offline", "question")
    assert (done.code, done.code_line) == (3, "CONFIG_INVALID")
    assert f"{dsh.cwd}/.env:2" in done.stderr


async def test_keys_come_from_the_nearest_place(dsh):
    async with MockServer(*[text_reply("ok")] * 9) as server:

        async def key_sent() -> str:
            done = await dsh("run", "question")
            assert done.code == 0, done.stderr
            return server.requests[-1].headers["authorization"].removeprefix("Bearer ")

        dsh.use(server)
        dsh.environment["DEEPSEEK_API_KEY"] = "from-environment"
        (dsh.cwd / ".env").write_text("DEEPSEEK_API_KEY=from-project\n")
        dsh.home.mkdir()
        (dsh.home / ".env").write_text("DEEPSEEK_API_KEY='from-home'\n")
        assert await key_sent() == "from-environment"
        del dsh.environment["DEEPSEEK_API_KEY"]
        assert await key_sent() == "from-project"
        (dsh.cwd / ".env").unlink()
        assert await key_sent() == "from-home"
        (dsh.home / ".env").unlink()
        assert (await dsh("run", "question")).code == 4


async def test_a_project_cannot_send_the_users_key_elsewhere(dsh, server):
    server.enqueue(text_reply("ok"))
    dsh.environment["DEEPSEEK_API_KEY"] = "precious"
    (dsh.cwd / ".env").write_text(f"DEEPSEEK_BASE_URL={server.base_url}\n")
    done = await dsh("run", "question")
    assert (done.code, done.code_line) == (3, "CONFIG_INVALID")
    assert server.requests == []
    del dsh.environment["DEEPSEEK_API_KEY"]
    (dsh.cwd / ".env").write_text(
        f"DEEPSEEK_BASE_URL={server.base_url}\nDEEPSEEK_API_KEY=its-own\n"
    )
    assert (await dsh("run", "question")).code == 0


async def test_deepseeks_key_is_not_sent_to_other_servers(dsh, server):
    server.enqueue(text_reply("one"), text_reply("two"), text_reply("three"))
    dsh.environment["DEEPSEEK_API_KEY"] = "precious"
    done = await dsh("run", "--base-url", server.base_url + "/v1/", "question")
    assert (done.code, done.out, done.stderr) == (0, "one\n", "")
    assert "authorization" not in server.requests[0].headers
    assert server.requests[0].path == "/v1/chat/completions"
    dsh.environment["OPENAI_API_KEY"] = "other"
    await dsh("run", "--base-url", server.base_url + "/v1/chat/completions", "question")
    assert server.requests[1].headers["authorization"] == "Bearer other"
    await dsh("run", "--base-url", server.base_url, "--provider", "deepseek", "question")
    assert server.requests[2].headers["authorization"] == "Bearer precious"


async def test_a_server_that_wants_a_key_says_how_to_give_it(dsh):
    async with MockServer(api_key="right") as server:
        done = await dsh("run", "--base-url", server.base_url, "--model", "m", "question")
    assert (done.code, done.code_line) == (4, "AUTH")
    assert "OPENAI_API_KEY" in done.stderr


async def test_a_wrong_path_is_pointed_out(dsh):
    async with MockServer(any_path=True, respond=lambda _: _not_found()) as server:
        done = await dsh("run", "--base-url", server.base_url, "--model", "m", "question")
    assert (done.code, done.code_line) == (1, "HTTP_404")
    assert "/v1" in done.stderr


@pytest.mark.parametrize("names", [[], ["only"], ["one", "two"]])
async def test_the_model_of_a_server_is_found_out(dsh, names):
    async with MockServer(any_path=True, respond=lambda request: _lists(request, names)) as server:
        done = await dsh("run", "--base-url", server.base_url, "question")
        asked = [request.json()["model"] for request in server.requests if request.body]
    if len(names) == 2:
        assert (done.code, done.code_line) == (2, "UNKNOWN_MODEL")
        assert "one, two" in done.stderr
        assert asked == dsh.session_files() == []
    else:
        assert (done.code, done.out) == (0, "ok\n")
        assert asked == [names[0] if names else "default"]


async def test_a_directory_that_takes_no_sessions_is_named(dsh):
    sessions = dsh.home / "py" / "sessions"
    sessions.mkdir(parents=True)
    sessions.chmod(0o500)
    done = await dsh("run", "--json", "--offline", "hello", preexec_fn=_obey_permissions)
    assert (done.code, done.code_line) == (3, "STORAGE_DENIED")
    assert "py/sessions" in done.stderr
    assert "Permission denied" in done.stderr
    assert [line["type"] for line in done.lines] == ["error"], "no id is shown that is not stored"


async def test_a_home_that_cannot_be_made_is_named(dsh, tmp_path):
    (tmp_path / "home").write_text("a file")
    done = await dsh("run", "--offline", "hello")
    assert (done.code, done.code_line) == (3, "CONFIG_INVALID")
    assert str(dsh.home) in done.stderr
    assert "DSH_HOME" in done.stderr


@pytest.mark.spec("09-C035")
async def test_storage_that_does_not_come_up_stops_the_boot(dsh):
    (dsh.home / "py").mkdir(parents=True)
    (dsh.home / "py" / "sessions").write_text("a file")
    done = await dsh("run", "--offline", "hello")
    assert (done.code, done.code_line) == (3, "BOOT")
    assert "1 plugin failed" in done.stderr
    assert "session-persistence-jsonl" in done.stderr
    (report,) = (dsh.home / "py" / "logs").iterdir()
    assert report.name in done.stderr
    assert stat.S_IMODE(report.stat().st_mode) == 0o600
    assert "Traceback" in report.read_text()
    listed = await dsh("sessions", "list")
    assert (listed.code, listed.code_line) == (3, "BOOT")


async def test_a_full_disk_before_the_first_event_is_reported(dsh):
    dsh.forget_coverage()
    assert (await dsh("profile", "new", "own")).code == 0  # the disk had room for the profile
    words = ("--profile", "own", "run", "--json", "--offline", "hello")
    done = await dsh(*words, preexec_fn=lambda: _limit(100))
    assert (done.code, done.code_line) == (3, "STORAGE_FULL")
    assert ".jsonl" in done.stderr
    assert [line["type"] for line in done.lines] == ["error"]


async def test_a_disk_that_fills_up_meanwhile_does_not_cost_the_answer(dsh, server, check_grammar):
    dsh.use(server)
    dsh.forget_coverage()
    command = {"command": "head -c 30000 /dev/zero | tr '\\0' x", "description": "Fill the log"}
    for _ in range(2):
        server.enqueue(tool_call_reply("bash", command), text_reply("the answer"))
    done = await dsh("run", "question", preexec_fn=lambda: _limit(20_000))
    assert (done.code, done.code_line) == (1, "STORAGE_FULL")
    assert done.out == "the answer\n"
    done = await dsh("run", "--json", "question", preexec_fn=lambda: _limit(20_000))
    check_grammar(done.lines)
    assert done.code == 1
    assert done.only("notice")["code"] == "STORAGE_FULL"
    assert done.only("error")["code"] == "STORAGE_FULL"
    stored = await dsh.stored(done.only("final")["sessionId"])
    assert stored.closers, "what was stored is a log that can be taken up again"
    server.enqueue(text_reply("better"))
    again = await dsh("run", "--resume", done.only("final")["sessionId"], "go on")
    assert (again.code, again.out) == (0, "better\n")


async def test_a_file_in_the_place_of_a_directory_is_named(dsh, server):
    assert (await dsh("run", "--offline", "hello")).code == 0
    (folder,) = (dsh.home / "py" / "sessions").iterdir()
    folder.rename(dsh.home / "moved")
    folder.write_text("a file")
    done = await dsh("run", "--offline", "hello")
    assert (done.code, done.code_line, done.out) == (3, "STORAGE_DENIED", "")
    assert str(folder) in done.stderr


@pytest.mark.parametrize("form", [(), ("--json",)])
async def test_a_log_that_vanishes_meanwhile_does_not_cost_the_answer(dsh, server, form):
    dsh.use(server)
    command = {"command": "rm -r $DSH_HOME/py/sessions", "description": "Remove the log"}
    server.enqueue(tool_call_reply("bash", command), text_reply("the answer"))
    done = await dsh("run", *form, "question")
    assert (done.code, done.code_line) == (1, "SESSION_OWNERSHIP_LOST")
    assert "the answer" in done.out
    if form:
        assert done.only("notice")["code"] == "SESSION_OWNERSHIP_LOST"
    else:
        assert "dsh: note: the session is not stored for now" in done.stderr


async def test_a_session_that_was_repaired_is_noted(dsh, server):
    dsh.use(server)
    server.enqueue(text_reply("one"), text_reply("two"), text_reply("three"))
    session_id = (await dsh("run", "--json", "question")).only("session")["sessionId"]
    (log,) = dsh.session_files()
    log.write_bytes(b"\n".join(log.read_bytes().split(b"\n")[:-2]) + b"\n")
    done = await dsh("run", "--resume", session_id, "more")
    assert (done.code, done.out) == (0, "two\n")
    assert done.stderr == "dsh: note: the last turn was interrupted; it has been closed\n"
    done = await dsh("run", "--events", "--resume", session_id, "more")
    assert (done.code, done.stderr) == (0, "")


@pytest.mark.parametrize(
    ("status", "message", "code", "exit_code"),
    [
        (402, "Insufficient Balance", "QUOTA", 5),
        (400, "maximum context length is 10 tokens", "CONTEXT_WINDOW_EXCEEDED", 1),
        (403, "forbidden", "AUTH", 4),
        (418, "teapot", "HTTP_418", 1),
    ],
)
async def test_what_a_provider_refuses_has_its_code(
    dsh, server, *, status, message, code, exit_code
):
    dsh.use(server)
    server.enqueue(error_reply(status, message))
    done = await dsh("run", "question")
    assert (done.code, done.code_line) == (exit_code, code)
    assert message in done.stderr
    assert len(server.requests) == 1


async def test_a_proxy_in_the_way_is_pointed_out(dsh, server):
    await server.close()
    dsh.use(server)
    dsh.environment |= {"HTTP_PROXY": server.base_url}
    done = await dsh("run", "question")
    assert (done.code, done.code_line) == (1, "TRANSPORT")
    assert "HTTP_PROXY is set; NO_PROXY" in done.stderr


async def test_defaults_come_from_the_environment(dsh, server):
    dsh.use(server)
    server.enqueue(text_reply("ok"))
    dsh.environment |= {"DSH_MODEL": "mine", "DSH_MAX_TOKENS": "77", "DSH_EFFORT": "low"}
    dsh.environment |= {"DSH_PROVIDER": "deepseek-official"}
    assert (await dsh("run", "question")).code == 0
    request = server.requests[0].json()
    assert (request["model"], request["max_tokens"]) == ("mine", 77)
    assert request["reasoning_effort"] == "low"
    dsh.environment["DSH_MAX_TOKENS"] = "many"
    done = await dsh("run", "question")
    assert (done.code, done.code_line) == (3, "CONFIG_INVALID")
    assert "'many'" in done.stderr


async def test_a_directory_whose_name_is_no_text_is_refused(dsh):
    odd = dsh.cwd / os.fsdecode(b"caf\xe9")
    odd.mkdir()
    done = await dsh("run", "--offline", "hello", cwd=odd)
    assert (done.code, done.code_line) == (2, "USAGE")
    assert "not valid UTF-8" in done.stderr


async def test_a_shutdown_that_hangs_is_named_and_ends(dsh):
    dsh.environment["DSH_SHUTDOWN_TIMEOUT"] = "0"
    done = await dsh("run", "--offline", "hello")
    assert (done.code, done.code_line) == (1, "INTERNAL")
    assert "the shutdown hangs" in done.stderr
    assert "offline guide" in done.out, "the answer was there before"


def _limit(n_bytes: int) -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, n_bytes))


def _obey_permissions() -> None:
    """Give up root's right to write everywhere; anybody else does not have it."""
    if os.geteuid() == 0:
        ctypes.CDLL(None).prctl(PR_CAPBSET_DROP, CAP_DAC_OVERRIDE, 0, 0, 0)


def _not_found():
    return error_reply(404, "no such route")


def _lists(request, names):
    if request.method == "GET":
        return json_reply({"object": "list", "data": [{"id": name} for name in names]})
    return text_reply("ok")


async def test_a_home_that_cannot_be_written_says_what_to_do(dsh):
    (dsh.home / "py").mkdir(parents=True)
    (dsh.home / "py" / "profiles").write_text("in the way")
    for command in (("run", "--offline", "hello"), ("profile", "new", "x")):
        done = await dsh(*command)
        assert (done.code, done.code_line) == (3, "STORAGE_DENIED")
        assert f"{dsh.home}/py/profiles" in done.stderr
        assert done.stderr.endswith("to use another one: --home DIR\n")


@pytest.mark.parametrize(
    "name", ["settings.yaml", "py/cordis.patch.yml", "py/profiles/headless/profile.yml"]
)
async def test_a_pipe_in_the_place_of_a_file_is_named_instead_of_waited_for(dsh, name):
    path = dsh.home / name
    path.parent.mkdir(parents=True, exist_ok=True)
    os.mkfifo(path)
    for command in (("run", "--offline", "hello"), ("config", "check")):
        done = await dsh(*command)
        assert done.code == 3
        assert "is a named pipe, no file" in done.out + done.stderr
        assert name in done.out + done.stderr


async def test_a_directory_in_the_place_of_the_keys_is_named(dsh):
    (dsh.home / ".credentials.yaml").mkdir(parents=True)
    done = await dsh("auth", "list")
    assert done.code != 0
    assert f"{dsh.home}/.credentials.yaml is no regular file" in done.stderr


async def test_what_plugins_print_does_not_reach_the_output(dsh):
    path = dsh.home / "py" / "cordis.patch.yml"
    path.parent.mkdir(parents=True)
    path.write_text("- insert: [{id: loud, name: ./loud.py}]\n")
    path.with_name("loud.py").write_text("print('imported')\ndef apply(ctx): print('applied')\n")
    for command in (("run", "--json", "--offline", "run true"), ("tools", "--json")):
        done = await dsh(*command)
        assert done.code == 0
        assert all(isinstance(line, dict) for line in done.lines)
        assert done.stderr.startswith("imported\napplied\n")


async def test_a_row_option_that_cannot_be_taken_is_named_with_its_place(dsh):
    path = dsh.home / "py" / "cordis.patch.yml"
    path.parent.mkdir(parents=True)
    for option, said in (
        ("disabled: no", "disabled must be true, false or an expression, got 'no'"),
        ("inject: gate", "inject must be a list or mapping of service names: "),
        ("intercept: 4", "intercept must be a mapping of service names"),
    ):
        path.write_text(f"- id: tool-bash\n  {option}\n")
        done = await dsh("run", "--offline", "run true")
        assert (done.code, done.code_line) == (3, "CONFIG_INVALID")
        assert f"row 'tool-bash': {said}" in done.stderr
        assert "cordis.patch.yml:2" in done.stderr
        check = await dsh("config", "check")
        assert f"CONFIG_INVALID: {path}:2:" in check.out
        assert said in check.out
    path.write_text("- insert:\n  - id: z\n    name: cordis:group\n    config: 3\n")
    check = await dsh("config", "check")
    assert f"{path}:4:13: row 'z': a group's config is a list of rows" in check.out


async def test_an_error_without_text_is_left_out_like_any_other(dsh):
    path = dsh.home / "py" / "cordis.patch.yml"
    path.parent.mkdir(parents=True)
    path.write_text("- insert: [{id: odd, name: ./odd.py}]\n")
    path.with_name("odd.py").write_text(
        "class Odd(Exception):\n    def __str__(self): raise RuntimeError('no text')\n"
        "def apply(ctx): raise Odd\n"
    )
    done = await dsh("run", "--offline", "run true")
    assert done.code == 0
    assert "odd does not run: Odd: [unprintable Odd], raised at" in done.stderr
