"""Check how the calls of one answer overlap, and that the log reads as if none did."""

# ruff: noqa: ANN401, D102  # a name is the description; a listener decides what its case is about

from typing import Any

import anyio
import attrs
import pytest

from harness.agent.agent import Agent
from harness.agent.contract.shapes import (
    CALL,
    answering,
    note,
)
from harness.agent.contract.stage import LoopStage
from harness.agent.contract.world import (
    World,
    codes_of,
    events_of,
    reasons_of,
    texts_of,
    types_of,
)
from harness.agent.types import AgentStatus
from harness.session import SESSION_EVENT, SessionEvent
from harness.testing.model import calls, calls_all, says
from harness.tools import POST_EXECUTE, PRE_EXECUTE, RESULT, Deny, ToolExecution
from vendor_shims.cordis import Next

NOTHING: dict[str, Any] = {}


@attrs.define
class Bodies:
    """Tool bodies that end when the test says so, or when their time has come.

    `trace` holds `+id` and `-id`, `n_most` how many overlapped at most.
    """

    world: World
    trace: list[str] = attrs.field(factory=list)
    gates: dict[str, anyio.Event] = attrs.field(factory=dict)
    n_running: int = 0
    n_most: int = 0

    async def body(self, args: Any, execution: ToolExecution) -> str:
        """Wait for the gate of the call, or for `n` milliseconds when there is none."""
        self.trace.append(f"+{execution.call_id}")
        self.n_running += 1
        self.n_most = max(self.n_most, self.n_running)
        try:
            if execution.call_id in self.gates:
                await self.gates[execution.call_id].wait()
            else:
                await self.world.clock.sleep(args.get("n", 0) / 1000)
        finally:
            self.n_running -= 1
            self.trace.append(f"-{execution.call_id}")
        execution.defer_context(note(f"of {execution.call_id}").message)
        return execution.call_id

    def mount(self) -> None:
        """Register `safe` and `alone`, which differ in whether they may overlap."""
        self.world.tool("safe", self.body, is_concurrency_safe=answering(answer=True))
        self.world.tool("alone", self.body)

    async def run(self, *batch: tuple[str, str, int]) -> Agent:
        """Run one answer with calls of (id, tool, milliseconds), and let all time pass."""
        wanted = [(call_id, tool, {"n": n}) for call_id, tool, n in batch]
        agent = await self.world.agent(calls_all(wanted), says("Done."))
        self.world.send(agent)
        await self.world.clock.advance(60)
        await agent.when_idle()
        return agent


class ParallelToolCases(LoopStage):
    """Hold groups, order, the cap, and that every call has one result."""

    @pytest.fixture
    def bodies(self, world: World) -> Bodies:
        bodies = Bodies(world)
        bodies.mount()
        return bodies

    @pytest.mark.spec("04-P1", "03-171")
    async def test_a_cap_of_one_is_strictly_sequential(self, world: World, bodies: Bodies):
        await world.mount(max_parallel_tool_calls=1)
        agent = await bodies.run(("a", "safe", 30), ("b", "safe", 20), ("c", "alone", 10))
        assert bodies.trace == ["+a", "-a", "+b", "-b", "+c", "-c"]
        assert types_of(agent)[6:12] == CALL * 3

    @pytest.mark.spec("04-P2", "03-170")
    async def test_safe_calls_overlap_and_their_results_keep_the_order(self, bodies: Bodies):
        agent = await bodies.run(("a", "safe", 30), ("b", "safe", 20), ("c", "safe", 10))
        assert bodies.trace == ["+a", "+b", "+c", "-c", "-b", "-a"]
        assert _answered(agent) == ["a", "b", "c"]
        assert _called(agent) == ["a", "b", "c"]
        assert codes_of(agent) == [None] * 3

    @pytest.mark.spec("04-P3", "03-171")
    async def test_an_exclusive_call_is_a_barrier(self, bodies: Bodies):
        await bodies.run(
            ("a", "safe", 20),
            ("b", "safe", 30),
            ("c", "alone", 10),
            ("d", "safe", 1),
            ("e", "safe", 1),
        )
        assert bodies.trace == ["+a", "+b", "-a", "-b", "+c", "-c", "+d", "+e", "-d", "-e"]

    @pytest.mark.spec("04-P4")
    async def test_the_cap_is_kept_and_free_slots_are_refilled(self, world: World, bodies: Bodies):
        for number in range(25):
            bodies.gates[str(number)] = anyio.Event()
        batch = [(str(number), "safe", NOTHING) for number in range(25)]
        agent = await world.agent(calls_all(batch), says("Done."))
        world.send(agent)
        await world.rest()
        assert bodies.n_running == 10
        for number in (9, 3):
            bodies.gates[str(number)].set()
            await world.rest()
            assert bodies.n_running == 10
        assert _answered(agent) == []
        for number in range(25):
            bodies.gates[str(number)].set()
        await agent.when_idle()
        assert bodies.n_most == 10
        assert _answered(agent) == [str(number) for number in range(25)]

    async def test_a_slow_listener_behind_a_body_does_not_keep_a_slot(
        self, world: World, bodies: Bodies
    ):
        async def wait(execution: ToolExecution, _result: object, following: Next[Any]) -> Any:
            if execution.call_id == "a":
                await gate.wait()
            return await following()

        gate = anyio.Event()
        await world.mount(max_parallel_tool_calls=2)
        world.root.on(POST_EXECUTE, wait)
        batch = [(key, "safe", NOTHING) for key in "abcd"]
        agent = await world.agent(calls_all(batch), says("Done."))
        world.send(agent)
        await world.clock.advance(1)
        assert bodies.trace[-1] == "-d"
        assert _answered(agent) == []
        gate.set()
        await agent.when_idle()
        assert _answered(agent) == list("abcd")

    @pytest.mark.spec("04-P5")
    @pytest.mark.parametrize("answer", [1, "yes", None, ValueError("unsure")])
    async def test_only_a_plain_yes_lets_a_call_overlap(
        self, world: World, bodies: Bodies, answer: Any
    ):
        def classify(_args: object) -> Any:
            if isinstance(answer, Exception):
                raise answer
            return answer

        world.tool("unsure", bodies.body, is_concurrency_safe=classify)
        await bodies.run(("a", "unsure", 1), ("b", "unsure", 1), ("c", "missing", 1))
        assert bodies.trace == ["+a", "-a", "+b", "-b"]

    @pytest.mark.spec("04-P6", "03-172")
    async def test_a_call_that_turned_exclusive_waits_for_the_others(
        self, world: World, bodies: Bodies
    ):
        asked: list[str] = []

        async def change(execution: ToolExecution, following: Next[Any]) -> Any:
            asked.append(execution.call_id)
            return await following()

        def classify(_args: object) -> bool:
            return "a" not in asked

        world.tool("moody", bodies.body, is_concurrency_safe=classify)
        world.root.on(PRE_EXECUTE, change)
        await bodies.run(("a", "safe", 10), ("b", "safe", 5), ("c", "moody", 5), ("d", "safe", 5))
        assert bodies.trace == ["+a", "+b", "-b", "-a", "+c", "-c", "+d", "-d"]

    @pytest.mark.spec("04-P7")
    async def test_a_denied_call_is_answered_in_its_place(self, world: World, bodies: Bodies):
        async def deny(execution: ToolExecution, following: Next[Any]) -> Any:
            return Deny("not b") if execution.call_id == "b" else await following()

        world.root.on(PRE_EXECUTE, deny)
        agent = await bodies.run(("a", "safe", 10), ("b", "safe", 10), ("c", "safe", 10))
        assert bodies.trace == ["+a", "+c", "-a", "-c"]
        blocks = [e.data["message"]["content"][0] for e in events_of(agent, "tool/result")]
        assert [block.get("isError", False) for block in blocks] == [False, True, False]
        assert _answered(agent) == ["a", "b", "c"]

    @pytest.mark.spec("04-P8")
    async def test_decisions_are_taken_in_order(self, world: World, bodies: Bodies):
        decided: list[str] = []

        async def decide(execution: ToolExecution, following: Next[Any]) -> Any:
            await world.clock.sleep(0.01 if execution.call_id == "a" else 0)
            decided.append(execution.call_id)
            return await following()

        world.root.on(PRE_EXECUTE, decide)
        world.root.on(RESULT, lambda execution, _: decided.append(f"={execution.call_id}"))
        await bodies.run(("a", "safe", 9), ("b", "safe", 5), ("c", "safe", 1))
        assert decided == ["a", "b", "c", "=a", "=b", "=c"]

    @pytest.mark.spec("04-P9", "03-177")
    async def test_what_tools_add_stands_behind_all_results_in_order(self, bodies: Bodies):
        agent = await bodies.run(("a", "safe", 3), ("b", "safe", 2), ("c", "alone", 1))
        kinds = types_of(agent)
        last = len(kinds) - 1 - kinds[::-1].index("tool/result")
        assert kinds[last + 1 : last + 5] == ["context/message"] * 3 + ["step/end"]
        assert [text[-11] for text in texts_of(agent, "context/message")] == ["a", "b", "c"]

    @pytest.mark.spec("04-P10")
    async def test_a_smaller_cap_counts_at_once(self, world: World, bodies: Bodies):
        loop = await world.mount(max_parallel_tool_calls=3)
        for key in "abcde":
            bodies.gates[key] = anyio.Event()
        agent = await world.agent(calls_all([(key, "safe", {}) for key in "abcde"]), says("Done."))
        world.send(agent)
        await world.rest()
        assert bodies.n_running == 3
        await loop.update({"maxParallelToolCalls": 2})
        assert agent.status is AgentStatus.RUNNING
        bodies.gates["b"].set()
        await world.rest()
        assert bodies.n_running == 2
        bodies.gates["c"].set()
        await world.rest()
        assert (bodies.n_running, bodies.trace[-1]) == (2, "+d")
        for key in "ade":
            bodies.gates[key].set()
        await agent.when_idle()
        assert _answered(agent) == list("abcde")

    @pytest.mark.spec("04-P13", "03-175")
    @pytest.mark.parametrize("tool", ["safe", "alone"])
    async def test_the_second_call_of_an_id_is_not_run(self, bodies: Bodies, tool: str):
        agent = await bodies.run(("a", tool, 1), ("a", tool, 1), ("b", tool, 1))
        assert bodies.trace.count("+a") == 1
        assert codes_of(agent) == [None, "DUPLICATE_CALL_ID", None]
        assert _called(agent) == ["a", "a", "b"]
        assert reasons_of(agent) == [{"kind": "completed"}]

    @pytest.mark.spec("03-174")
    async def test_arguments_that_are_no_object_are_the_models_affair(self, world: World):
        seen: list[object] = []

        async def body(args: Any, _execution: ToolExecution) -> str:
            seen.append(dict(args))
            return "ran"

        world.tool("echo", body)
        agent = await world.agent(calls("echo", ""), calls("echo", "{bad"), says("Done."))
        await world.turn(agent)
        assert seen == [{}]
        assert codes_of(agent) == [None, "INVALID_ARGS"]
        assert [event.data["arguments"] for event in events_of(agent, "tool/call")] == ["", "{bad"]
        assert reasons_of(agent) == [{"kind": "completed"}]

    async def test_arguments_are_read_once(self, world: World):
        """The object that classified the call is the one that its body gets."""
        seen: list[object] = []

        async def body(args: Any, _execution: ToolExecution) -> str:
            seen.append(args)
            return "ran"

        def classify(args: object) -> bool:
            seen.append(args)
            return True

        world.tool("echo", body, is_concurrency_safe=classify)
        agent = await world.agent(
            calls_all([("a", "echo", '{"n":1}'), ("b", "echo", '{"n":2}')]), says("Done.")
        )
        await world.turn(agent)
        assert {str(args) for args in seen} == {"{'n': 1}", "{'n': 2}"}
        assert codes_of(agent) == [None, None]

    async def test_a_cancel_between_starts_starts_nothing_more(self, world: World, bodies: Bodies):
        def cancel(_session: object, event: SessionEvent) -> None:
            if event.type == "tool/call" and event.data["callId"] == "b":
                agent.cancel()

        world.root.on(SESSION_EVENT, cancel)
        agent = await world.agent(calls_all([(key, "safe", {"n": 5}) for key in "abc"]))
        world.send(agent)
        await world.clock.advance(1)
        await agent.when_idle()
        assert codes_of(agent) == ["ABORTED_BEFORE_DISPATCH"] * 3
        assert _answered(agent) == ["a", "b", "c"]
        assert bodies.trace == []


def _called(agent: Agent) -> list[str]:
    return [event.data["callId"] for event in events_of(agent, "tool/call")]


def _answered(agent: Agent) -> list[str]:
    results = events_of(agent, "tool/result")
    return [event.data["message"]["source"]["callId"] for event in results]
