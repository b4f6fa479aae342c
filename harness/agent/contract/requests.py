"""Check what listeners may change about a request, and that the log says so."""

# ruff: noqa: ANN401, D102  # a name is the description; a listener decides what its case is about

from collections.abc import Mapping, Sequence
from typing import Any

import attrs
import pytest

from harness.agent.contract.shapes import (
    ONE_STEP,
)
from harness.agent.contract.stage import LoopStage
from harness.agent.contract.world import World, events_of, reasons_of, types_of
from harness.agent.decisions import Retry
from harness.agent.events import (
    ASSISTANT_STREAM,
    INBOX_CLAIMED,
    INBOX_INSERTED,
    REQUEST,
    REQUEST_ERROR,
    STATUS,
    STEERING,
    RequestPending,
)
from harness.llm import ToolSchema, create_user_message
from harness.session import Session, SessionEvent
from harness.testing.model import Reply, calls, fails, says
from vendor_shims.cordis import Next


class RequestCases(LoopStage):
    """Hold what `agent/request` may change, and that the log says so."""

    @pytest.mark.spec("04-I12", "03-75")
    async def test_the_model_may_be_changed(self, world: World):
        async def choose(pending: RequestPending, following: Next[Any]) -> Any:
            draft = await following()
            if pending.turn == 2:
                draft.config = attrs.evolve(draft.config, model="other")
                draft.system = "Be brief."
            return draft

        world.root.on(REQUEST, choose)
        agent = await world.agent(says("One."), says("Two."), says("Three."))
        for _ in range(3):
            await world.turn(agent)
        assert [request.model for request in world.model.requests] == ["test", "other", "other"]
        assert world.model.requests[1].system == "Be brief."
        headers = [event.data for event in events_of(agent, "request/header")]
        assert [header["reason"] for header in headers] == ["initial", "change", "change"]
        assert headers[1]["header"]["config"]["model"] == "other"
        assert headers[1]["header"]["system"] == "Be brief."
        contexts = [event.data["model"] for event in events_of(agent, "request/context")]
        assert contexts == ["test", "other"]

    @pytest.mark.spec("04-I13")
    async def test_a_tool_may_be_left_out(self, world: World):
        async def drop(_pending: RequestPending, following: Next[Any]) -> Any:
            draft = await following()
            draft.tools = tuple(tool for tool in draft.tools if tool.name != "bash")
            return draft

        world.tool("bash")
        world.tool("echo")
        world.root.on(REQUEST, drop)
        agent = await world.agent(says("Hello."))
        await world.turn(agent)
        assert [tool.name for tool in world.model.requests[0].tools] == ["echo"]
        header = events_of(agent, "request/header")[0].data["header"]
        assert [tool["name"] for tool in header["tools"]] == ["echo"]

    @pytest.mark.spec("04-I14", "04-T19", "03-75")
    async def test_changed_messages_are_sent_and_logged_for_that_attempt(self, world: World):
        async def edit(pending: RequestPending, following: Next[Any]) -> Any:
            draft = await following()
            if pending.attempt == 1:
                draft.messages = (*draft.messages, create_user_message("and be quick"))
            return draft

        world.root.on(REQUEST, edit)
        world.root.on(REQUEST_ERROR, _retrying)
        agent = await world.agent(fails("SERVER"), says("Hello."))
        await world.turn(agent)
        first, second = world.model.requests
        assert [message.text for message in first.messages] == ["hi", "and be quick"]
        assert [message.text for message in second.messages] == ["hi"]
        (override,) = events_of(agent, "request/override")
        assert override.data["messages"] == tuple(m.to_json() for m in first.messages)
        assert (override.data["attempt"], override.ignorable) == (1, True)
        chunks = events_of(agent, "assistant/chunk")
        assert override.seq < chunks[0].seq

    async def test_equal_messages_in_another_container_are_no_override(self, world: World):
        async def copy(_pending: RequestPending, following: Next[Any]) -> Any:
            draft = await following()
            draft.messages = list(draft.messages)
            return draft

        world.root.on(REQUEST, copy)
        agent = await world.agent(says("Hello."))
        await world.turn(agent)
        assert types_of(agent) == ONE_STEP

    async def test_a_choice_that_fails_is_not_kept(self, world: World):
        async def choose(pending: RequestPending, following: Next[Any]) -> Any:
            draft = await following()
            if pending.turn == 1:
                draft.config = attrs.evolve(draft.config, reasoning_effort="absurd")
            return draft

        world.root.on(REQUEST, choose)
        agent = await world.agent(says("Hello."))
        await world.turn(agent)
        assert reasons_of(agent)[0]["code"] == "UNSUPPORTED_REASONING_EFFORT"
        assert types_of(agent) == [*ONE_STEP[:3], "step/end", "turn/end"]
        await world.turn(agent)
        assert reasons_of(agent)[1] == {"kind": "completed"}

    async def test_an_error_while_a_request_is_made_closes_the_step(self, world: World):
        async def fail(_pending: RequestPending, _following: Next[Any]) -> Any:
            raise ValueError("no request")

        world.root.on(REQUEST, fail)
        agent = await world.agent()
        await world.turn(agent)
        assert types_of(agent) == [*ONE_STEP[:3], "step/end", "turn/end"]
        assert reasons_of(agent)[0]["step"] == 1

    @pytest.mark.spec("03-P7")
    async def test_every_request_can_be_rebuilt_from_the_log(self, world: World):
        async def shape(pending: RequestPending, following: Next[Any]) -> Any:
            draft = await following()
            draft.system = f"Turn {pending.turn}."
            if pending.turn == 2:
                draft.messages = draft.messages[-1:]
            return draft

        world.tool("echo")
        world.root.on(REQUEST, shape)
        agent = await world.agent(calls("echo", {}), says("One."), fails("SERVER"), says("Two."))
        world.root.on(REQUEST_ERROR, _retrying)
        await world.turn(agent)
        await world.turn(agent)
        rebuilt = list(_rebuild(agent.session))
        assert len(rebuilt) == len(world.model.requests) == 4
        for request, (header, messages) in zip(world.model.requests, rebuilt, strict=True):
            assert header["config"] == request.config.to_json()
            assert header["system"] == request.system
            tools = [ToolSchema.from_json(tool) for tool in header["tools"]]
            assert tools == list(request.tools)
            assert messages == [message.to_json() for message in request.messages]


class ObserverCases(LoopStage):
    """Hold that an observer cannot change what happens by failing."""

    @pytest.mark.spec("04-I30", "03-P9")
    async def test_failing_observers_change_nothing(self, world: World):
        def fail(_: object) -> None:
            raise ValueError("observer")

        async def script(agent_replies: list[Reply]) -> list[str]:
            agent = await world.agent(*agent_replies)
            world.root.on("session/event", _steer_once(agent))
            await world.turn(agent)
            return types_of(agent)

        replies: list[Reply] = [says("One."), says("Two.")]
        quiet = await script(replies)
        n_lines = len(world.lines)
        n_calls = [0]
        for event in (STATUS, STEERING, ASSISTANT_STREAM, INBOX_INSERTED, INBOX_CLAIMED):
            world.root.on(event, fail)
            world.root.on(event, lambda _: n_calls.append(1))
        assert await script(replies) == quiet
        assert len(world.lines) - n_lines == len(n_calls) - 1


async def _retrying(_failed: object, _following: Next[Any]) -> Any:
    return Retry()


def _steer_once(agent: Any) -> Any:
    done: list[object] = []

    def steer(session: Session, event: Any) -> None:
        if session is agent.session and event.type == "step/end" and not done:
            done.append(agent.steer("on"))

    return steer


def _rebuild(session: Session) -> Any:
    """Yield header and messages of every attempt, from the log prefix before its first chunk."""
    header: Mapping[str, Any] = {}
    override: Any = None
    attempts = 0
    for event in session.events:
        if event.type == "request/header":
            header = event.data["header"]
        elif event.type == "request/override":
            override = list(event.data["messages"])
        elif event.type == "assistant/chunk" and not attempts:
            attempts += 1
            yield header, override or _history(session.events[: event.seq])
        elif event.type in ("assistant/attempt", "assistant/message"):
            attempts, override = 0, None


def _history(events: Sequence[SessionEvent]) -> list[Any]:
    prefix = Session.create("prefix", events, allow_open_turn=True)
    return [message.to_json() for message in prefix.derive_messages()]
