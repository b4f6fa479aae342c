"""Check who decides whether another step follows."""

# ruff: noqa: ANN401, D102  # a name is the description; a listener decides what its case is about

from typing import Any

import attrs
import pytest

from harness.agent.contract.shapes import (
    CALL,
    NEXT_STEP,
    ONE_STEP,
    note,
)
from harness.agent.contract.stage import LoopStage
from harness.agent.contract.world import (
    World,
    events_of,
    reasons_of,
    types_of,
)
from harness.agent.decisions import Continue, Stop
from harness.agent.events import (
    TURN_CONTINUATION,
    TURN_STOPPING,
    StepEnded,
    TurnStopping,
)
from harness.session import SESSION_EVENT
from harness.testing.model import calls, calls_all, fails, partly, says
from harness.tools import EXECUTE, ToolExecution
from vendor_shims.cordis import Next


class ContinuationCases(LoopStage):
    """Hold who decides whether another step follows."""

    @pytest.mark.spec("04-I19")
    async def test_a_listener_may_ask_for_another_step(self, world: World):
        async def go_on(ended: StepEnded, following: Next[Any]) -> Any:
            assert not ended.had_tool_calls
            return Continue("go on") if ended.step == 1 else await following()

        world.root.on(TURN_CONTINUATION, go_on)
        agent = await world.agent(says("One."), says("Two."))
        await world.turn(agent)
        event = events_of(agent, "steering/message")[0]
        assert event.data["source"] == {"kind": "continuation"}
        assert types_of(agent).count("step/start") == 2
        kinds = types_of(agent)
        assert kinds.index("steering/message") == kinds.index("step/start", 3) - 1

    async def test_a_listener_may_go_on_without_a_word(self, world: World):
        async def go_on(ended: StepEnded, following: Next[Any]) -> Any:
            return Continue() if ended.step == 1 else await following()

        world.root.on(TURN_CONTINUATION, go_on)
        agent = await world.agent(says("One."), says("Two."))
        await world.turn(agent)
        assert types_of(agent) == [*ONE_STEP[:-1], *NEXT_STEP, "turn/end"]

    @pytest.mark.spec("04-I20")
    async def test_a_listener_may_stop_after_calls(self, world: World):
        world.tool("echo")
        world.root.on(TURN_CONTINUATION, _stopping)
        agent = await world.agent(calls("echo", {}))
        await world.turn(agent)
        assert types_of(agent) == [*ONE_STEP[:6], *CALL, "step/end", "turn/end"]
        assert reasons_of(agent) == [{"kind": "completed"}]

    @pytest.mark.spec("04-I21", "03-P22")
    @pytest.mark.parametrize("kind", ["assistant/message", "step/end"])
    async def test_steering_is_never_stranded_by_a_stop(self, world: World, kind: str):
        world.root.on(SESSION_EVENT, _steering_at(kind, world))
        world.root.on(TURN_CONTINUATION, _stopping)
        agent = await world.agent(says("One."), says("Two."))
        await world.turn(agent)
        assert types_of(agent).count("step/start") == 2
        assert len(events_of(agent, "steering/message")) == 1

    @pytest.mark.spec("04-I22")
    async def test_an_error_about_the_continuation_ends_the_turn(self, world: World):
        async def fail(_ended: StepEnded, _following: Next[Any]) -> Any:
            raise ValueError("undecided")

        world.root.on(TURN_CONTINUATION, fail)
        agent = await world.agent(says("One."))
        await world.turn(agent)
        assert types_of(agent) == ONE_STEP
        assert reasons_of(agent)[0]["message"] == "undecided"

    @pytest.mark.spec("04-I23")
    async def test_steering_a_stopping_turn_takes_one_more_step(self, world: World):
        stops: list[int] = []

        async def steer(stopping: TurnStopping) -> None:
            stops.append(stopping.turn)
            if len(stops) == 1:
                world.receipts.append(stopping.agent.steer("check again"))

        world.root.on(TURN_STOPPING, steer)
        agent = await world.agent(says("One."), says("Two."))
        await world.turn(agent)
        assert stops == [1, 1]
        assert types_of(agent).count("step/start") == 2

    @pytest.mark.spec("04-I24")
    async def test_an_error_of_a_stop_hook_ends_the_turn(self, world: World):
        async def fail(_stopping: TurnStopping) -> None:
            raise ValueError("cannot stop")

        world.root.on(TURN_STOPPING, fail)
        agent = await world.agent(says("One."))
        await world.turn(agent)
        assert reasons_of(agent)[0]["message"] == "cannot stop"

    @pytest.mark.spec("04-I25")
    async def test_stop_hooks_hear_only_of_turns_that_stop_by_themselves(self, world: World):
        stops: list[int] = []
        world.root.on(TURN_STOPPING, lambda stopping: stops.append(stopping.turn))
        agent = await world.agent(fails("SERVER"), partly("On my ", _cancelling(world)))
        await world.turn(agent)
        await world.turn(agent)
        agent.inject("note", source={"kind": "plugin", "plugin": "p"})
        agent.annotate("todo/write", {"todos": []})
        assert [reason["kind"] for reason in reasons_of(agent)][:2] == ["error", "aborted"]
        assert stops == []

    @pytest.mark.spec("04-I26", "04-I28", "03-178")
    async def test_a_call_may_conclude_the_turn_after_its_step(self, world: World):
        asked: list[object] = []
        stops: list[object] = []
        ran: list[str] = []

        async def last(_args: object, _execution: ToolExecution) -> str:
            ran.append("last")
            return "after"

        world.tool("final", _concluding)
        world.tool("last", last)
        world.root.on(TURN_CONTINUATION, lambda _, following: asked.append(1) or following())
        world.root.on(TURN_STOPPING, lambda stopping: stops.append(stopping) and None)
        agent = await world.agent(calls_all([("a", "final", {}), ("b", "last", {})]))
        await world.turn(agent)
        assert ran == ["last"]
        assert (asked, len(stops)) == ([], 1)
        assert types_of(agent).count("step/start") == 1
        assert reasons_of(agent) == [{"kind": "completed"}]

    @pytest.mark.spec("04-I26")
    async def test_a_result_may_conclude_the_turn_too(self, world: World):
        async def conclude(_execution: ToolExecution, following: Next[Any]) -> Any:
            return attrs.evolve(await following(), concludes_turn=True)

        world.tool("echo")
        world.root.on(EXECUTE, conclude)
        agent = await world.agent(calls("echo", {}))
        await world.turn(agent)
        assert types_of(agent).count("step/start") == 1

    @pytest.mark.spec("04-I27")
    async def test_a_failed_call_concludes_nothing(self, world: World):
        async def fail(args: object, execution: ToolExecution) -> str:
            await _concluding(args, execution)
            raise ValueError("but it failed")

        world.tool("final", fail)
        agent = await world.agent(calls("final", {}), says("On."))
        await world.turn(agent)
        assert types_of(agent).count("step/start") == 2

    @pytest.mark.spec("04-I28")
    async def test_a_stop_hook_may_steer_a_concluded_turn(self, world: World):
        def steer(stopping: TurnStopping) -> None:
            if not done:
                done.append(stopping.agent.steer("one more thing"))

        done: list[object] = []
        world.tool("final", _concluding)
        world.root.on(TURN_STOPPING, steer)
        agent = await world.agent(calls("final", {}), says("Here."))
        await world.turn(agent)
        assert types_of(agent).count("step/start") == 2

    @pytest.mark.spec("04-I29")
    async def test_pending_steering_continues_a_concluded_turn(self, world: World):
        async def conclude(args: object, execution: ToolExecution) -> str:
            world.receipts.append(agent.steer("not yet"))
            return await _concluding(args, execution)

        world.tool("final", conclude)
        agent = await world.agent(calls("final", {}), says("On."))
        await world.turn(agent)
        assert types_of(agent).count("step/start") == 2


async def _stopping(_ended: StepEnded, _following: Next[Any]) -> Any:
    return Stop()


async def _concluding(_args: object, execution: ToolExecution) -> str:
    execution.defer_context(note("concluded").message)
    execution.conclude_turn()
    return "concluded"


def _steering_at(kind: str, world: World) -> Any:
    done: list[object] = []

    def steer(_session: object, event: Any) -> None:
        if event.type == kind and not done:
            done.append(event)
            world.receipts.append(world.agents_made[0].steer("on"))

    return steer


def _cancelling(world: World) -> Any:
    async def cancel() -> None:
        world.agents_made[0].cancel()

    return cancel
