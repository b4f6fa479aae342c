"""The tools, in an agent that a scripted model drives."""

from pathlib import Path

from dsh_glossary import Glossary, GlossaryTools
from harness.agent import AgentOptions, CreateAgentOptions
from harness.invariants import check_log
from harness.system_prompt import SystemPrompt
from harness.testing.model import ScriptedModel, calls, says
from harness.tools import ToolRegistry
from harness_plugins import agent_core
from vendor_shims.cordis import Context
from vendor_shims.testing import fake_service, plugin_probe


async def tell(root: Context, text: str) -> str:
    """Let the agent work on a message, check its log, and return all that the model was shown."""
    options = CreateAgentOptions(agent_options=AgentOptions(provider="scripted", model="scripted"))
    async with await root.require("agents").create(options) as handle:
        await handle.agent.send(text)
        await handle.agent.when_idle()
        log = handle.agent.session
        assert check_log(log.events, is_complete=True) == ()
        return str([message.content for message in log.derive_messages()])


async def test_nothing_is_left_of_them() -> None:
    """Probe the plugin with a service that only pretends: it needs no file."""
    services = {
        "system_prompt": SystemPrompt,
        "tools": ToolRegistry,
        "glossary": fake_service("glossary", terms={}),
    }
    report = await plugin_probe(GlossaryTools, services=services)
    assert report.errors == []


async def test_model_defines_and_looks_up(tmp_path: Path) -> None:
    """What one turn defines, the next one is told of and finds."""
    model = ScriptedModel(
        calls("define_term", {"term": "golden lot", "meaning": "what others are compared with"}),
        says("Noted."),
        calls("look_up_term", {"term": "Golden Lot"}),
        calls("look_up_term", {"term": "golden lots"}),
        says("Found."),
    )
    async with Context() as root:
        root.plugin(agent_core)
        root.plugin(model)
        root.plugin(Glossary, {"path": str(tmp_path / "glossary.json")})
        root.plugin(GlossaryTools)
        await root.settle()
        assert "Terms in the glossary: 1." in await tell(
            root, "A golden lot is what others are compared to."
        )
        shown = await tell(root, "What is a golden lot?")
    assert "Words with a meaning of their own here: golden lot" in shown
    assert "what others are compared with" in shown
    assert "did you mean golden lot?" in shown


async def test_definitions_can_be_switched_off(tmp_path: Path) -> None:
    """With `mayDefine: false` the model reads only."""
    async with Context() as root:
        root.plugin(agent_core)
        root.plugin(Glossary, {"path": str(tmp_path / "glossary.json")})
        root.plugin(GlossaryTools, {"mayDefine": False})
        await root.settle()
        assert [schema.name for schema in root[ToolRegistry].schemas()] == ["look_up_term"]
