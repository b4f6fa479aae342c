"""A provider that a plugin of the user serves: chosen, listed, resumed, and told when gone."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.wire import loads

PARROT = """
from harness.llm import BlockEnd, BlockStart, Finish, FinishReason, LlmAdapter
from harness.llm import LlmModelInfo, TextBlock

inject = ["llm", "http"]


class Parrot(LlmAdapter):
    async def stream(self, options):
        yield BlockStart(0, "text")
        yield BlockEnd(0, TextBlock(f"{options.config.model}: {options.messages[-1].text}"))
        yield Finish(FinishReason.STOP)

    async def list_models(self, provider):
        return [LlmModelInfo(provider, name, name) for name in MODELS]


def apply(ctx):
    ctx.llm.register_adapter(["parrot"], Parrot())
"""


@pytest.fixture
def parrot(dsh):
    """Let a row of the home serve the provider `parrot` with some models."""

    def write(*models: str) -> Path:
        folder = dsh.home / "py"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "parrot.py").write_text(f"MODELS = {models!r}\n{PARROT}")
        path = folder / "cordis.patch.yml"
        path.write_text("- insert: [{id: parrot, name: ./parrot.py}]\n")
        return path

    return write


async def test_provider_of_a_plugin_answers_and_goes_on(dsh, parrot):
    parrot("grey")
    done = await dsh("run", "--provider", "parrot", "hello")
    assert (done.code, done.out, done.stderr) == (0, "grey: hello\n", "")
    done = await dsh("run", "--provider", "parrot", "--model", "green", "--json", "hello")
    session = done.only("session")
    assert (session["provider"], session["model"]) == ("parrot", "green")
    done = await dsh("run", "--resume", session["sessionId"], "--provider", "parrot", "again")
    assert (done.code, done.out) == (0, "green: again\n"), done.stderr
    dsh.environment["DSH_PROVIDER"] = "parrot"
    assert (await dsh("run", "once more")).out == "grey: once more\n"


async def test_stored_provider_of_a_plugin_is_kept_beside_a_key(dsh, parrot):
    parrot("grey")
    done = await dsh("run", "--provider", "parrot", "--json", "hello")
    session = done.only("session")["sessionId"]
    dsh.environment["DEEPSEEK_API_KEY"] = "x"
    done = await dsh("run", "--resume", session, "again")
    assert (done.code, done.out) == (0, "grey: again\n"), done.stderr
    done = await dsh("run", "--resume", session, "--no-user-config", "again")
    assert (done.code, done.code_line) == (2, "USAGE")
    assert "'parrot', which nothing serves here" in done.stderr


async def test_models_of_a_plugin_are_listed(dsh, parrot):
    parrot("grey", "green")
    done = await dsh("models", "--provider", "parrot", "--json")
    assert [model["id"] for model in loads(done.stdout)["models"]] == ["grey", "green"]
    dsh.environment["DEEPSEEK_API_KEY"] = "x"
    done = await dsh("models", "--json")
    providers = {model["provider"] for model in loads(done.stdout)["models"]}
    assert providers == {"offline", "deepseek-official", "parrot"}
    done = await dsh("run", "--provider", "parrot", "hello")
    assert (done.code, done.code_line) == (2, "UNKNOWN_MODEL")
    assert "grey, green" in done.stderr


@pytest.mark.parametrize("command", [("run", "hello"), ("models",)])
async def test_provider_that_nothing_serves(dsh, command):
    done = await dsh(*command, "--provider", "ollama")
    assert (done.code, done.code_line) == (2, "USAGE")
    assert "no adapter serves the provider 'ollama'" in done.stderr
    assert "--base-url" in done.stderr
    assert dsh.session_files() == []


async def test_provider_of_a_plugin_is_not_offered_offline(dsh, parrot):
    parrot("grey")
    done = await dsh("run", "--offline", "--provider", "parrot", "hello")
    assert (done.code, done.code_line) == (2, "USAGE")
    assert "contradict" in done.stderr
