"""Registration, visibility, restrictions, classification."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import attrs
import pytest

from harness.system_prompt import UNLISTED_TOOLS, AssembleContext, SystemPrompt
from harness.tools import (
    CHANGE,
    JsonSchemaError,
    ToolDefinition,
    ToolExecutionInput,
    ToolOutput,
    ToolRegistrationError,
    ToolRegistry,
    ToolRestrictionError,
)
from vendor_shims.cordis import Context

if TYPE_CHECKING:
    from .conftest import Kit

Make = Callable[..., ToolDefinition]


def names(kit: Kit, scope: object | None = None) -> list[str]:
    return sorted(schema.name for schema in kit.tools.schemas(scope))


@pytest.mark.spec("03-129")
@pytest.mark.parametrize(
    ("members", "error", "problem"),
    [
        ({"output": None}, TypeError, "needs an output"),
        ({"output": {"schema": {}}}, TypeError, "needs an output"),
        ({"output": ToolOutput({}, "text")}, TypeError, "needs an output"),  # pyright: ignore[reportArgumentType]
        ({"timeout_s": 0}, TypeError, "above 0"),
        ({"timeout_s": -1.0}, TypeError, "above 0"),
        ({"timeout_s": math.nan}, TypeError, "above 0"),
        ({"timeout_s": math.inf}, TypeError, "above 0"),
        ({"timeout_s": True}, TypeError, "above 0"),
        ({"timeout_s": "5"}, TypeError, "above 0"),
        ({"name": ""}, TypeError, "non-empty name"),
        ({"name": 5}, TypeError, "non-empty name"),
        ({"description": None}, TypeError, "must be text"),
        ({"parameters": None}, TypeError, "JSON schema object"),
        ({"parameters": {"default": {1}}}, JsonSchemaError, "parameters is no lossless JSON"),
        ({"name": "run_code"}, ToolRegistrationError, "'run_code' is reserved"),
        (
            {"output": ToolOutput({"type": "string", "pattern": "x"}, lambda _a, v: v)},
            JsonSchemaError,
            r"output\.schema\.pattern",
        ),
    ],
)
async def test_malformed_definitions_are_refused(
    kit: Kit, make: Make, members: dict[str, Any], error: type[Exception], problem: str
) -> None:
    with pytest.raises(error, match=problem):
        kit.tools.register(attrs.evolve(make(), **members))
    assert names(kit) == []


async def test_only_definitions_can_be_registered(kit: Kit) -> None:
    with pytest.raises(TypeError, match="expected a ToolDefinition, got dict"):
        kit.tools.register({"name": "x"})  # pyright: ignore[reportArgumentType]


@pytest.mark.spec("03-130")
async def test_a_name_is_unique_in_its_layer_and_shadows_outer_ones(kit: Kit, make: Make) -> None:
    outer = make("read")
    effect = kit.tools.register(outer)
    with pytest.raises(ToolRegistrationError, match=r"agent\.ctx"):
        kit.tools.register(make("read"))
    agent = kit.agent()
    inner = make("read")
    kit.of(agent).register(inner)
    assert kit.tools.get("read", agent) is inner
    assert kit.tools.get("read") is outer
    await agent.scope.dispose()
    assert kit.tools.get("read", agent) is outer
    effect()
    assert kit.tools.get("read") is None


async def test_a_tool_goes_with_the_plugin_that_registered_it(kit: Kit, make: Make) -> None:
    owners: list[Context] = []

    def apply(ctx: Context) -> None:
        owners.append(ctx)
        ctx[ToolRegistry].register(make("read"))

    fiber = kit.root.inject(["tools"], apply)
    await fiber
    registration = kit.tools.registration("read")
    assert registration is not None
    assert registration.owner is owners[0]
    assert registration.name == "read"
    await fiber.dispose()
    assert kit.tools.registration("read") is None


async def test_schemas_are_frozen_copies_with_the_model_facing_members(
    kit: Kit, make: Make
) -> None:
    parameters: dict[str, Any] = {"type": "object", "properties": {"a": {"pattern": "^x$"}}}
    kit.tools.register(attrs.evolve(make("raw"), parameters=parameters, timeout_s=3.0))
    parameters["properties"]["a"]["pattern"] = "changed"
    (schema,) = kit.tools.schemas()
    assert schema.to_json() == {
        "name": "raw",
        "description": "The tool raw.",
        "parameters": {"type": "object", "properties": {"a": {"pattern": "^x$"}}},
    }
    assert kit.tools.schemas()[0] is schema


@pytest.mark.spec("03-142")
async def test_raw_tools_may_carry_any_schema_and_validate_themselves(kit: Kit) -> None:
    seen: list[Any] = []

    async def execute(args: Any, _execution: object) -> str:
        seen.append(args)
        return "ok"

    kit.tools.register(
        ToolDefinition(
            name="mcp",
            description="",
            parameters={"type": "object", "$ref": "#/$defs/x", "minProperties": 3},
            output=ToolOutput({}, lambda _args, value: value),
            execute=execute,
        )
    )
    result = await kit.call("mcp", {"anything": 1})
    assert not result.is_error
    assert seen == [{"anything": 1}]


@pytest.mark.spec("03-167")
async def test_a_restriction_hides_inherited_tools_everywhere_but_not_own_ones(
    kit: Kit, make: Make
) -> None:
    for name in ("a", "b", "c"):
        kit.tools.register(make(name))
    agent = kit.agent()
    tools = kit.of(agent)
    tools.register(make("own"))
    effect = tools.restrict(allow=["a", "b"])
    assert names(kit, agent) == ["a", "b", "own"]
    assert names(kit) == ["a", "b", "c"]
    second = tools.restrict(deny=["b"])
    assert names(kit, agent) == ["a", "own"]
    assert kit.tools.get("b", agent) is None
    hidden = await kit.call("b", agent=agent)
    assert hidden.code == "UNKNOWN_TOOL"
    assert not (await kit.call("own", agent=agent)).is_error
    offered = await kit.prompt.assemble(AssembleContext(scope=agent))
    assert [tool.name for tool in offered.tools] == ["a", "own"]
    second()
    effect()
    assert names(kit, agent) == ["a", "b", "c", "own"]


@pytest.mark.spec("03-167")
async def test_restrictions_of_ancestors_apply_below_except_to_their_own_registrations(
    kit: Kit, make: Make
) -> None:
    for name in ("a", "b", "c"):
        kit.tools.register(make(name))
    preset = kit.agent()
    agent = kit.agent(preset)
    kit.of(preset).register(make("preset"))
    kit.of(preset).restrict(allow=["a", "b"])
    kit.of(agent).restrict(deny=["b"])
    assert names(kit, preset) == ["a", "b", "preset"]
    assert names(kit, agent) == ["a", "preset"]


@pytest.mark.spec("03-167")
async def test_meaningless_restrictions_are_refused(kit: Kit, make: Make) -> None:
    kit.tools.register(make("a"))
    with pytest.raises(ToolRestrictionError, match=r"agent\.ctx"):
        kit.tools.restrict(allow=["a"])
    tools = kit.of(kit.agent())
    with pytest.raises(ToolRestrictionError, match="to allow or to deny"):
        tools.restrict()
    with pytest.raises(ToolRestrictionError, match="no tool named 'x', 'y'; it inherits a"):
        tools.restrict(allow=["a", "y"], deny=["x"])
    with pytest.raises(ToolRestrictionError, match="'run_code' cannot be restricted"):
        tools.restrict(deny=["run_code"])
    tools.restrict(allow=[])
    with pytest.raises(ToolRestrictionError, match="it inherits a"):
        tools.restrict(deny=["z"])


@pytest.mark.spec("03-167")
async def test_own_registrations_cannot_be_restricted_by_name(kit: Kit, make: Make) -> None:
    tools = kit.of(kit.agent())
    tools.register(make("own"))
    with pytest.raises(ToolRestrictionError, match="it inherits none"):
        tools.restrict(deny=["own"])


@pytest.mark.spec("03-123")
async def test_a_restricted_tool_is_still_known_to_the_tool_order(kit: Kit, make: Make) -> None:
    async with Context() as root:
        await root.plugin(SystemPrompt, {"toolOrder": ["b", UNLISTED_TOOLS, "a"]})
        await root.plugin(ToolRegistry)
        tools, prompt = root.get(ToolRegistry), root.get(SystemPrompt)
        assert tools is not None
        assert prompt is not None
        for name in ("a", "b", "c"):
            tools.register(make(name))
        agent = type(kit.agent())(root)
        tools.as_caller(agent.ctx).restrict(deny=["b"])
        offered = await prompt.assemble(AssembleContext(scope=agent))
        assert [tool.name for tool in offered.tools] == ["c", "a"]


@pytest.mark.spec("03-168")
async def test_only_a_true_answer_of_the_classifier_allows_overlap(kit: Kit, make: Make) -> None:
    def raising(_args: object) -> bool:
        raise RuntimeError

    answers: dict[str, Any] = {
        "yes": lambda _args: True,
        "no": lambda _args: False,
        "one": lambda _args: 1,
        "raising": raising,
        "silent": None,
    }
    for name, classifier in answers.items():
        kit.tools.register(make(name, is_concurrency_safe=classifier))

    def mode(name: str, arguments: Any = None) -> str:
        return kit.tools.execution_mode(
            ToolExecutionInput(call_id="c", name=name, arguments=arguments or {})
        )

    assert mode("yes") == "parallel"
    assert {mode(name) for name in ("no", "one", "raising", "silent", "unknown")} == {"exclusive"}
    assert mode("yes", {"text": 5}) == "exclusive"
    assert mode("yes", "{bad") == "exclusive"


@pytest.mark.spec("03-168", "03-172")
async def test_classification_follows_what_the_agent_sees_now(kit: Kit, make: Make) -> None:
    kit.tools.register(make("a", is_concurrency_safe=lambda _args: True))
    agent = kit.agent()
    call: Any = ToolExecutionInput(call_id="c", name="a", arguments={}, agent=agent)  # pyright: ignore[reportArgumentType]
    assert kit.tools.execution_mode(call) == "parallel"
    effect = kit.of(agent).restrict(deny=["a"])
    assert kit.tools.execution_mode(call) == "exclusive"
    effect()
    kit.of(agent).register(make("a"))
    assert kit.tools.execution_mode(call) == "exclusive"


@pytest.mark.spec("03-169")
async def test_changes_of_visibility_are_announced_and_guards_are_not(kit: Kit, make: Make) -> None:
    changes: list[None] = []
    kit.root.on(CHANGE, lambda: changes.append(None))
    effect = kit.tools.register(make("a"))
    assert len(changes) == 1
    tools = kit.of(kit.agent())
    restriction = tools.restrict(deny=["a"])
    assert len(changes) == 2
    restriction()
    guard = tools.guard(lambda _execution: None)
    guard()
    assert len(changes) == 3
    effect()
    assert len(changes) == 4


@pytest.mark.spec("03-110")
async def test_a_change_listener_can_veto_a_registration(kit: Kit, make: Make) -> None:
    def veto() -> None:
        raise PermissionError("frozen")

    kit.root.on(CHANGE, veto)
    with pytest.raises(PermissionError, match="frozen"):
        kit.tools.register(make("a"))
    assert names(kit) == []


async def test_unchanged_tools_cost_the_prompt_nothing(kit: Kit, make: Make) -> None:
    kit.tools.register(make("a"))
    first = await kit.prompt.assemble()
    assert await kit.prompt.assemble() is first
    kit.tools.register(make("b"))
    assert [tool.name for tool in (await kit.prompt.assemble()).tools] == ["a", "b"]


async def test_the_registry_takes_its_tools_out_of_the_prompt_when_it_goes(
    kit: Kit, make: Make
) -> None:
    kit.tools.register(make("a"))
    assert (await kit.prompt.assemble()).tools
    await kit.tools.ctx.fiber.dispose()
    assert (await kit.prompt.assemble()).tools == ()
