"""What the records of requests say about what adapters fill in, and what is kept of them."""

import attrs
import pytest

from harness.agent import REQUEST, AgentOptions
from harness.agent.contract import another_world, events_of, reasons_of
from harness.llm import ReasoningEffort, ReasoningInfo
from harness.session_persistence import MemoryStorage
from harness.testing.model import ScriptedModel, says
from harness_plugins import invariants
from harness_plugins.agent_loop import AgentLoop

EFFORTS = ReasoningInfo([ReasoningEffort("low", "Low"), ReasoningEffort("high", "High")], "high")


@pytest.fixture
async def rich(mount_loop):
    """Return a world whose model has a window, a ceiling and a default effort."""
    async with another_world(mount_loop) as world:
        rich = ScriptedModel(
            provider="rich", context_window=1000, default_max_tokens=50, reasoning=EFFORTS
        )
        world.model = rich
        world.root.plugin(rich)
        await world.rest()
        yield world


RICH = AgentOptions(provider="rich", model="test")


async def test_what_an_adapter_fills_in_is_marked_and_not_chosen(rich) -> None:
    agent = await rich.agent(says("One."), says("Two."), agent_options=RICH)
    await rich.turn(agent)
    await rich.turn(agent)
    (event,) = events_of(agent, "request/header")
    header = event.data["header"]
    assert header["config"]["maxTokens"] == 50
    assert header["config"]["reasoningEffort"] == "high"
    assert header["adapterDefaults"] == {"reasoningEffort": True, "maxTokens": True}
    (context,) = events_of(agent, "request/context")
    assert context.data["contextWindow"] == 1000


@pytest.mark.parametrize(
    ("chosen", "options", "effort"),
    [
        ("low", RICH, "low"),  # restored: the same model, and somebody chose it
        ("low", attrs.evolve(RICH, model="other"), "high"),  # of another model
        (None, RICH, "high"),  # filled in then, and filled in again
        (None, attrs.evolve(RICH, reasoning_effort="low"), "low"),
    ],
)
async def test_a_resumed_agent_keeps_the_effort_that_was_chosen_for_its_model(
    rich, mount_loop, chosen, options, effort
) -> None:
    storage = MemoryStorage()
    await rich.persist(storage)
    chosen_options = attrs.evolve(RICH, reasoning_effort=chosen)
    handle = await rich.handle(says("One."), agent_options=chosen_options)
    await rich.turn(handle.agent)
    await handle.dispose()
    again = await rich.resume(handle.id, says("Two."), agent_options=options)
    await rich.turn(again.agent)
    assert rich.model.requests[1].config.reasoning_effort == effort


async def test_an_equal_choice_made_anew_is_no_change(rich) -> None:
    async def choose(pending, following):
        draft = await following()
        if pending.turn == 3:
            draft.tools = list(draft.tools)
        elif pending.turn == 2:
            draft.config = attrs.evolve(draft.config, max_tokens=50)
        return draft

    rich.root.on(REQUEST, choose)
    rich.tool("echo")
    agent = await rich.agent(says("One."), says("Two."), says("Three."), agent_options=RICH)
    await rich.turn(agent)
    await rich.turn(agent)
    await rich.turn(agent)
    reasons = [event.data["reason"] for event in events_of(agent, "request/header")]
    # The ceiling is chosen from the second turn on, so it is no default any more.
    assert reasons == ["initial", "change"]


@pytest.mark.spec("04-I14", "03-75")
async def test_a_strict_guard_refuses_changed_messages(world) -> None:
    async def edit(_pending, following):
        draft = await following()
        draft.messages = ()
        return draft

    world.root.on(REQUEST, edit)
    world.mount_loop = _strict
    agent = await world.agent()
    await world.turn(agent)
    assert reasons_of(agent)[0]["code"] == "INVARIANT"
    assert world.model.requests == []


def _strict(ctx, options):
    ctx.plugin(invariants, {"strict": True})
    return ctx.plugin(AgentLoop, options)
