"""`dsh models` and `dsh tools` say what a session could use."""

from __future__ import annotations

import pytest

from harness.testing import MockServer, Part, Reply, error_reply
from harness.wire import dumps, loads


def models_reply(*names: str) -> Reply:
    body = dumps({"data": [{"id": name} for name in names]})
    return Reply((Part(body),), headers=(("content-type", "application/json"),), framing="length")


@pytest.fixture
async def api():
    """A server that takes every request."""
    async with MockServer(any_path=True) as running:
        yield running


async def test_models_that_can_be_used_here(dsh):
    done = await dsh("models")
    assert (done.code, done.stderr) == (0, "")
    assert done.out.startswith("offline  guide  ")
    dsh.environment["DEEPSEEK_API_KEY"] = "x"
    document = loads((await dsh("models", "--json")).stdout)
    names = {(model["provider"], model["id"]) for model in document["models"]}
    assert names >= {
        ("offline", "guide"),
        ("deepseek-official", "deepseek-v4-flash"),
        ("deepseek-official", "deepseek-v4-pro"),
    }
    only = await dsh("models", "--provider", "deepseek", "--json")
    assert {model["provider"] for model in loads(only.stdout)["models"]} == {"deepseek-official"}
    assert "deepseek" not in (await dsh("models", "--offline")).out
    assert not dsh.session_files()


async def test_models_of_a_server(dsh, api):
    api.enqueue(models_reply("a", "b"), error_reply(401, "who are you"))
    done = await dsh("models", "--base-url", api.base_url, "--json")
    assert [model["id"] for model in loads(done.stdout)["models"]] == ["a", "b"]
    done = await dsh("models", "--base-url", api.base_url)
    assert (done.code, done.code_line) == (4, "AUTH")
    done = await dsh("models", "--provider", "nobody")
    assert (done.code, done.code_line) == (2, "USAGE")
    done = await dsh("models", "--provider", "deepseek")
    assert (done.code, done.code_line) == (4, "MISSING_CREDENTIAL")


async def test_servers_on_this_machine_are_found(dsh, api):
    port = api.base_url.rpartition(":")[2].partition("/")[0]
    api.enqueue(models_reply("one", 'odd "name"'), models_reply("one"), models_reply())
    done = await dsh("models", "detect", "--port", port, "--port", "9")
    assert (done.code, done.stderr) == (0, "")
    url = f"http://127.0.0.1:{port}/v1"
    assert f'dsh run --base-url {url} --model one "what to do"' in done.out
    assert f'baseURL: "{url}"' in done.out
    assert '{id: "odd \\"name\\""}' in done.out
    assert api.requests[0].path == "/v1/models"
    done = await dsh("models", "detect", "--port", port, "--json")
    assert loads(done.stdout) == {"servers": [{"baseUrl": url, "models": ["one"]}]}
    assert "no model loaded" in (await dsh("models", "detect", "--port", port)).out


async def test_what_is_no_model_server_is_not_found(dsh, api):
    port = api.base_url.rpartition(":")[2].partition("/")[0]
    api.enqueue(
        Reply((Part(b"<html>"),), framing="length"),
        Reply((Part(b"[]"),), framing="length"),
        error_reply(404),
    )
    for _ in range(3):
        done = await dsh("models", "detect", "--port", port)
        assert (done.code, done.out) == (0, "")
        assert f"no server answers on the ports {port}" in done.stderr
    for wrong in ("0", "65536", "x"):
        done = await dsh("models", "detect", "--port", wrong)
        assert (done.code, done.code_line) == (2, "USAGE")


async def test_tools_and_what_they_cost(dsh):
    done = await dsh("tools")
    assert (done.code, done.stderr) == (0, "")
    *rows, total = done.out.rstrip("\n").split("\n")
    names = [row.split()[0] for row in rows]
    assert {"bash", "read", "write", "edit"} <= set(names)
    document = loads((await dsh("tools", "--json")).stdout)
    assert [tool["name"] for tool in document["tools"]] == names
    assert "parameters" not in document["tools"][0]
    assert total == f"{len(names)} tools, about {document['tokens']} tokens in each request"
    assert document["tokens"] == sum(tool["tokens"] for tool in document["tools"])
    schemas = loads((await dsh("tools", "--schema")).stdout)
    for tool in schemas["tools"]:
        assert tool["parameters"]["type"] == "object"
        sent = {key: tool[key] for key in ("name", "description", "parameters")}
        assert abs(tool["tokens"] - len(dumps(sent)) / 4) <= len(dumps(sent)) / 40
    assert not dsh.session_files()


async def test_a_home_that_cannot_be_used(dsh):
    dsh.home.write_text("a file")
    for command in ("tools", "models"):
        done = await dsh(command)
        assert (done.code, done.code_line) == (3, "STORAGE_DENIED")
        assert str(dsh.home) in done.stderr
