"""Tools in prompts: copies, order, known names."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from harness.llm import ToolSchema
from harness.system_prompt import (
    UNLISTED_TOOLS,
    PromptConflict,
    SystemPrompt,
    SystemPromptConfig,
    ToolContribution,
    ToolOrderError,
)
from vendor_shims.cordis import Context

Mount = Callable[..., Awaitable[SystemPrompt]]


def offer(prompt: SystemPrompt, *names: str, known: frozenset[str] | None = None) -> None:
    schemas = [ToolSchema(name, name, {"type": "object"}) for name in names]
    contribution = ToolContribution(schemas) if known is None else ToolContribution(schemas, known)
    prompt.tools(lambda _: contribution)


async def offered(prompt: SystemPrompt) -> list[str]:
    return [tool.name for tool in (await prompt.assemble()).tools]


@pytest.mark.spec("03-122")
async def test_tools_are_sorted_by_name_unless_an_order_is_configured(mount: Mount) -> None:
    prompt = await mount()
    offer(prompt, "write", "read")
    offer(prompt, "Bash", "\U0001f600", "é")
    assert await offered(prompt) == ["Bash", "read", "write", "é", "\U0001f600"]


@pytest.mark.spec("03-122")
async def test_a_configured_order_places_the_unlisted_tools_at_its_rest_entry(
    mount: Mount,
) -> None:
    prompt = await mount(toolOrder=["z", UNLISTED_TOOLS, "a"])
    offer(prompt, "c", "a", "z", "b")
    assert await offered(prompt) == ["z", "b", "c", "a"]


@pytest.mark.spec("03-123")
@pytest.mark.parametrize(
    ("order", "problem"),
    [
        (["a", "b"], UNLISTED_TOOLS),
        ([], UNLISTED_TOOLS),
        (["a", UNLISTED_TOOLS, "a"], "'a' more than once"),
        ([UNLISTED_TOOLS, UNLISTED_TOOLS], "more than once"),
    ],
)
async def test_a_malformed_order_fails_at_load(
    root: Context, order: list[str], problem: str
) -> None:
    fiber = root.plugin(SystemPrompt, SystemPromptConfig(tool_order=order))
    with pytest.raises(ToolOrderError, match=problem):
        await fiber
    assert root.get("system_prompt") is None


@pytest.mark.spec("03-123")
async def test_an_order_may_name_known_tools_that_are_not_offered_but_no_others(
    mount: Mount,
) -> None:
    prompt = await mount(toolOrder=["hidden", "b", UNLISTED_TOOLS])
    offer(prompt, "a", "b", known=frozenset({"a", "b", "hidden"}))
    assert await offered(prompt) == ["b", "a"]


@pytest.mark.spec("03-123")
async def test_an_order_with_unknown_tools_fails_the_assembly_listing_the_known_ones(
    mount: Mount,
) -> None:
    prompt = await mount(toolOrder=["ghost", UNLISTED_TOOLS])
    with pytest.raises(ToolOrderError, match="'ghost'; known tools: none"):
        await prompt.assemble()
    offer(prompt, "a", "b")
    with pytest.raises(ToolOrderError, match="'ghost'; known tools: a, b"):
        await prompt.assemble()


@pytest.mark.spec("03-124")
async def test_no_tool_may_have_the_name_of_the_rest_entry(mount: Mount) -> None:
    prompt = await mount()
    offer(prompt, UNLISTED_TOOLS)
    with pytest.raises(ToolOrderError, match="stands for the others"):
        await prompt.assemble()


@pytest.mark.spec("03-125")
async def test_schemas_are_copied_in_both_directions(mount: Mount) -> None:
    prompt = await mount()
    parameters: dict[str, Any] = {"type": "object", "properties": {"a": {"type": "string"}}}
    source = {"name": "t", "description": "d", "parameters": parameters}
    prompt.tools(lambda _: ToolContribution([source]))
    assembly = await prompt.assemble()
    parameters["properties"]["a"]["type"] = "integer"
    source["name"] = "renamed"
    assert assembly.tools[0].name == "t"
    assert assembly.tools[0].parameters["properties"]["a"]["type"] == "string"
    with pytest.raises(TypeError):
        assembly.tools[0].parameters["properties"]["a"]["type"] = "number"
    changed = (await prompt.assemble()).tools[0]
    assert changed.name == "renamed"
    assert changed.parameters["properties"]["a"]["type"] == "integer"


async def test_equal_tools_from_a_fresh_contribution_are_the_same_object(mount: Mount) -> None:
    prompt = await mount()
    prompt.tools(lambda _: ToolContribution([ToolSchema("t", "d", {"type": "object"})]))
    first = await prompt.assemble()
    assert await prompt.assemble() is first


async def test_two_providers_of_one_name_fail_the_assembly(mount: Mount) -> None:
    prompt = await mount()
    offer(prompt, "read", "write")
    offer(prompt, "read")
    with pytest.raises(PromptConflict, match="'read'"):
        await prompt.assemble()
