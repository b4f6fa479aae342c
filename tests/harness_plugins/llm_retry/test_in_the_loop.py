"""Retries in the real loop: one step, several attempts, one answer."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from attrs import define

from harness.agent import Agent, AgentOptions, AgentRegistry, CreateAgentOptions
from harness.llm import LlmService, RetryPolicy
from harness.session import SessionStore
from harness.system_prompt import SystemPrompt
from harness.testing.model import ScriptedModel, fails, partly, says
from harness.tools import ToolRegistry
from harness_plugins.agent_loop import AgentLoop
from harness_plugins.llm_retry import RetryPlugin
from vendor_shims.cordis import Context
from vendor_shims.timer import VirtualClock, come_to_rest

SPINE = (SessionStore, LlmService, SystemPrompt, ToolRegistry, AgentRegistry, AgentLoop)


@define
class Bench:
    clock: VirtualClock
    model: ScriptedModel
    agent: Agent

    async def turn(self, *replies: Any) -> None:
        self.model.add(*replies)
        self.agent.send("hi")
        done = asyncio.create_task(self.agent.when_idle())
        await self.clock.advance(300)
        assert done.done()

    def types(self) -> list[str]:
        return [event.type for event in self.agent.session.events]

    @property
    def end(self) -> dict[str, Any]:
        return self.agent.session.events[-1].data["reason"]


@pytest.fixture
async def bench() -> AsyncIterator[Bench]:
    clock = VirtualClock()
    async with Context(clock=clock) as root:
        for plugin in (*SPINE, RetryPlugin):
            root.plugin(plugin)
        model = ScriptedModel(retry_policy=RetryPolicy())
        root.plugin(model)
        await come_to_rest()
        options = CreateAgentOptions(agent_options=AgentOptions(provider="scripted", model="test"))
        handle = await root.require("agents").create(options)
        yield Bench(clock, model, handle.agent)


@pytest.mark.spec("02-173")
async def test_two_transient_failures_then_an_answer_are_one_step(bench) -> None:
    await bench.turn(fails("RATE_LIMIT"), partly("half", *fails("SERVER")), says("done"))
    types = bench.types()
    assert types.count("llm/retry") == types.count("llm/retry-started") == 2
    assert types.count("step/start") == types.count("assistant/message") == 1
    assert types.count("assistant/attempt") == 2
    retries = [e.data for e in bench.agent.session.events if e.type == "llm/retry"]
    assert [data["retry"] for data in retries] == [1, 2]
    assert len({data["retryId"] for data in retries}) == 1
    assert bench.agent.session.derive_messages()[-1].text == "done"
    assert bench.end == {"kind": "completed"}


@pytest.mark.spec("02-174")
async def test_a_provider_that_never_recovers_ends_the_turn_with_its_failure(bench) -> None:
    await bench.turn(*[fails("SERVER", "still down", status=500)] * 6)
    assert bench.types().count("llm/retry") == 5
    assert bench.end["kind"] == "error"
    assert bench.end["code"] == "SERVER"
    assert bench.end["failure"]["status"] == 500


@pytest.mark.spec("02-175")
async def test_a_failure_that_no_retry_can_mend_is_not_retried(bench) -> None:
    await bench.turn(fails("AUTH"))
    assert "llm/retry" not in bench.types()
    assert bench.end["code"] == "AUTH"


@pytest.mark.spec("02-178")
async def test_cancelling_during_the_wait_ends_the_turn(bench) -> None:
    bench.model.add(fails("SERVER"))
    bench.agent.send("hi")
    await bench.clock.advance(0.1)
    bench.agent.cancel()
    await come_to_rest()
    assert bench.types().count("llm/retry") == 1
    assert "llm/retry-started" not in bench.types()
    assert bench.end["kind"] == "aborted"
    assert len(bench.model.requests) == 1
