"""`dsh auth` keeps keys to itself, and `dsh run` uses them."""

from __future__ import annotations

import stat

import attrs
import pytest

from harness.testing import MockServer, Part, Reply, error_reply, text_reply
from harness.wire import dumps, loads

KEY = "sk-0123456789abcdef-wxyz"


def everything_written(dsh) -> bytes:
    """The bytes of every file below the home but the credentials file."""
    files = [path for path in dsh.home.rglob("*") if path.is_file()]
    return b"".join(path.read_bytes() for path in files if path.name != ".credentials.yaml")


@pytest.mark.spec("09-C128")
async def test_a_stored_key_is_used_and_never_shown(dsh, server):
    done = await dsh("auth", "set", "DEEPSEEK_API_KEY", stdin=f"{KEY}\n".encode())
    assert (done.code, done.stderr) == (0, "")
    assert done.out == "stored DEEPSEEK_API_KEY (…wxyz) in $DSH_HOME/.credentials.yaml\n"
    file = dsh.home / ".credentials.yaml"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(dsh.home.stat().st_mode) == 0o700
    listed = await dsh("auth", "list")
    assert listed.out == "DEEPSEEK_API_KEY  stored  …wxyz\n"
    document = loads((await dsh("auth", "list", "--json")).stdout)
    assert document == {
        "keys": [
            {"name": "DEEPSEEK_API_KEY", "source": "store", "lastFour": "wxyz", "stored": True}
        ],
        "records": [],
    }
    dsh.environment["DEEPSEEK_BASE_URL"] = server.base_url
    server.enqueue(text_reply("hello"))
    answer = await dsh("run", "--debug", "hi")
    assert (answer.code, answer.out) == (0, "hello\n")
    assert server.requests[0].headers["authorization"] == f"Bearer {KEY}"
    shown = [done, listed, answer, await dsh("doctor"), await dsh("config", "show")]
    assert all(KEY not in each.out + each.stderr for each in shown)
    assert KEY.encode() not in everything_written(dsh)


@pytest.mark.spec("09-C039")
async def test_the_key_of_a_run_comes_from_the_strongest_place(dsh, server):
    dsh.environment["DEEPSEEK_BASE_URL"] = server.base_url
    dsh.home.mkdir(mode=0o700)
    (dsh.home / ".env").write_text("DEEPSEEK_API_KEY=from-home\n")
    (dsh.cwd / ".env").write_text("DEEPSEEK_API_KEY=from-project\n")
    await dsh("auth", "set", "DEEPSEEK_API_KEY", stdin=b"from-store")
    dsh.environment["DEEPSEEK_API_KEY"] = "from-process"

    async def key_of_a_run() -> str:
        server.enqueue(text_reply("ok"))
        assert (await dsh("run", "hi")).code == 0
        return server.requests[-1].headers["authorization"].removeprefix("Bearer ")

    seen = [await key_of_a_run()]
    del dsh.environment["DEEPSEEK_API_KEY"]
    seen.append(await key_of_a_run())
    assert (await dsh("auth", "rm", "DEEPSEEK_API_KEY")).out == "removed DEEPSEEK_API_KEY\n"
    seen.append(await key_of_a_run())
    (dsh.cwd / ".env").unlink()
    seen.append(await key_of_a_run())
    (dsh.home / ".env").unlink()
    assert seen == ["from-process", "from-store", "from-project", "from-home"]
    assert (await dsh("run", "hi")).code == 4


async def test_other_servers_get_the_stored_key_of_their_own(dsh, server):
    await dsh("auth", "set", "OPENAI_API_KEY", stdin=b"for-openai")
    await dsh("auth", "set", "DEEPSEEK_API_KEY", stdin=b"for-deepseek")
    server.enqueue(text_reply("ok"))
    done = await dsh("run", "--base-url", server.base_url, "--model", "m", "hi")
    assert done.code == 0
    assert server.requests[0].headers["authorization"] == "Bearer for-openai"


@pytest.mark.spec("07-277")
async def test_a_key_that_the_environment_hides_is_not_stored(dsh):
    dsh.environment["DEEPSEEK_API_KEY"] = "here-already"
    done = await dsh("auth", "set", "DEEPSEEK_API_KEY", stdin=b"other")
    assert (done.code, done.code_line) == (4, "INVALID_CREDENTIAL")
    assert "no effect" in done.stderr
    assert not dsh.home.exists()
    listed = await dsh("auth", "list")
    assert listed.out == "DEEPSEEK_API_KEY  environment  …eady\n"


@pytest.mark.parametrize(
    ("name", "value", "code", "words"),
    [
        ("a b", b"x", "USAGE", "no name for a secret"),
        ("A_KEY", b" \n", "INVALID_CREDENTIAL", "is empty"),
        ("A_KEY", b"", "INVALID_CREDENTIAL", "is empty"),
        ("A_KEY", b"two\nlines", "INVALID_CREDENTIAL", "line ends"),
        ("A_KEY", b"\xff\xfe", "INVALID_CREDENTIAL", "not UTF-8"),
        ("A_KEY", b"x" * 70_000, "INVALID_CREDENTIAL", "longer than"),
    ],
)
async def test_what_is_no_key_is_refused(dsh, name, value, code, words):
    done = await dsh("auth", "set", name, stdin=value)
    assert done.code_line == code
    assert words in done.stderr
    assert not dsh.home.exists()


async def test_a_key_is_typed_without_echo(dsh, on_terminal):
    async with on_terminal("auth", "set", "A_KEY") as screen:
        await screen.until("A_KEY (not shown): ")
        screen.type("short\n")
        assert await screen.end() == 0
        assert "short" not in screen.screen
        assert "stored A_KEY (…)" in screen.screen
    assert "A_KEY: short" in (dsh.home / ".credentials.yaml").read_text()
    async with on_terminal("auth", "set", "B_KEY") as screen:
        await screen.until("B_KEY (not shown): ")
        screen.type("\x04")
        assert await screen.end() == 4


async def test_removing_what_is_not_there_removes_nothing(dsh):
    await dsh("auth", "set", "A_KEY", stdin=b"value-a")
    done = await dsh("auth", "rm", "A_KEY", "B_KEY")
    assert (done.code, done.code_line) == (4, "MISSING_CREDENTIAL")
    assert "stored are: A_KEY" in done.stderr
    assert "A_KEY" in (await dsh("auth", "list")).out
    assert (await dsh("auth", "rm", "A_KEY")).code == 0
    done = await dsh("auth", "list")
    assert (done.code, done.out) == (0, "")
    assert "dsh auth set" in done.stderr
    assert "stored are: none" in (await dsh("auth", "rm", "A_KEY")).stderr


@pytest.mark.parametrize("command", [("auth", "list"), ("auth", "set", "X"), ("run", "hi")])
async def test_a_file_that_others_may_read_is_refused(dsh, command):
    dsh.home.mkdir(mode=0o700)
    file = dsh.home / ".credentials.yaml"
    file.write_text(f"version: 1\nrefs: {{DEEPSEEK_API_KEY: {KEY}}}\n")
    file.chmod(0o644)
    done = await dsh(*command, stdin=b"value")
    assert (done.code, done.code_line) == (3, "CONFIG_INVALID")
    assert f"chmod 600 {file}" in done.stderr
    assert KEY not in done.stderr
    assert not dsh.session_files()


async def test_records_are_listed_without_their_secrets(dsh):
    dsh.home.mkdir(mode=0o700)
    file = dsh.home / ".credentials.yaml"
    file.write_text(f"version: 1\nrecords:\n  mcp/github: {{type: api-key, key: {KEY}}}\n")
    file.chmod(0o600)
    done = await dsh("auth", "list")
    assert done.out == "mcp/github  record, api-key\n"
    document = loads((await dsh("auth", "list", "--json")).stdout)
    assert document["records"] == [{"key": "mcp/github", "type": "api-key"}]


async def test_a_home_that_cannot_be_written(dsh):
    dsh.home.write_text("a file")
    done = await dsh("auth", "set", "A_KEY", stdin=b"x")
    assert done.code == 3
    assert str(dsh.home) in done.stderr
    assert "Traceback" not in done.stderr


def models_reply(*names: str) -> Reply:
    """What a server says when it is asked for its models."""
    body = dumps({"data": [{"id": name} for name in names]})
    return Reply((Part(body),), headers=(("content-type", "application/json"),), framing="length")


def plain_reply(text: str) -> Reply:
    return Reply((Part(text.encode()),), headers=(), framing="length")


@pytest.fixture
async def api():
    """A server that takes every request."""
    async with MockServer(any_path=True) as running:
        yield running


async def test_check_asks_for_the_models(dsh, api):
    dsh.use(api)
    api.enqueue(models_reply("one", "two"), models_reply("one"))
    done = await dsh("auth", "check")
    assert (done.code, done.stderr) == (0, "")
    assert "accepts DEEPSEEK_API_KEY (environment): 2 models" in done.out
    request = api.requests[0]
    assert (request.method, request.path) == ("GET", "/models")
    assert request.headers["authorization"] == "Bearer test-key"
    document = loads((await dsh("auth", "check", "deepseek", "--json")).stdout)
    assert document["provider"] == "deepseek-official"
    assert (document["source"], document["lastFour"]) == ("process", "-key")
    assert document["models"] == ["one"]


async def test_check_of_another_server_needs_no_key(dsh, api):
    api.enqueue(models_reply(), plain_reply("I am no API"), plain_reply('{"data": 5}'))
    done = await dsh("auth", "check", "--base-url", api.base_url)
    assert (done.code, done.stderr) == (0, "")
    assert "accepts no key: 0 models" in done.out
    assert "authorization" not in api.requests[0].headers
    for _ in range(2):
        done = await dsh("auth", "check", "mine", "--base-url", api.base_url)
        assert "an answer, but no list of models" in done.out


@pytest.mark.parametrize(
    ("reply", "outcome", "words"),
    [
        (error_reply(401, "bad key"), (4, "AUTH"), "HTTP 401"),
        (error_reply(403, "not yours"), (4, "AUTH"), "not yours"),
        (error_reply(402, "pay"), (5, "QUOTA"), "pay"),
        (error_reply(429, "slow down"), (5, "RATE_LIMIT"), "slow down"),
        (error_reply(500, "broken"), (1, "HTTP_500"), "broken"),
        (attrs.evolve(plain_reply("<html>"), status=404), (1, "HTTP_404"), "no reason"),
        (attrs.evolve(plain_reply('["x"]'), status=404), (1, "HTTP_404"), "no reason"),
        (attrs.evolve(plain_reply('{"error": "text"}'), status=404), (1, "HTTP_404"), "text"),
        (attrs.evolve(plain_reply(""), ending="reset", has_head=False), (1, "TRANSPORT"), "doctor"),
    ],
)
async def test_check_says_what_the_provider_says(dsh, api, reply, outcome, words):
    dsh.use(api)
    dsh.environment["DEEPSEEK_API_KEY"] = KEY
    api.enqueue(reply)
    done = await dsh("auth", "check")
    assert (done.code, done.code_line) == outcome
    assert words in done.stderr
    assert KEY not in done.stderr


async def test_check_without_key_or_server(dsh):
    done = await dsh("auth", "check")
    assert (done.code, done.code_line) == (4, "MISSING_CREDENTIAL")
    done = await dsh("auth", "check", "offline")
    assert (done.code, done.code_line) == (2, "USAGE")
    assert "needs no key" in done.stderr
    done = await dsh("auth", "check", "nobody")
    assert done.code == 2
    dsh.environment |= {"DEEPSEEK_API_KEY": "schlüssel", "DEEPSEEK_BASE_URL": "http://127.0.0.1:9"}
    done = await dsh("auth", "check")
    assert (done.code, done.code_line) == (4, "INVALID_CREDENTIAL")
    dsh.environment["DEEPSEEK_API_KEY"] = KEY
    done = await dsh("auth", "check")
    assert (done.code, done.code_line) == (1, "TRANSPORT")
    assert "http://127.0.0.1:9" in done.stderr
    assert "dsh doctor --net" in done.stderr
