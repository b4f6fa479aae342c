"""The development guard over a running harness: it refuses what must never happen."""

from __future__ import annotations

from collections.abc import AsyncIterator

import attrs
import pytest

from harness.agent import (
    REQUEST,
    STATUS,
    AgentHandle,
    AgentOptions,
    AgentRegistry,
    AgentStatus,
    CreateAgentOptions,
    StatusChanged,
)
from harness.invariants import InvariantError, Invariants, check_log
from harness.llm import (
    GenerateOptions,
    LlmCallConfig,
    create_user_message,
    mark_agent_loop_request,
)
from harness.session import (
    SESSION_VALIDATE,
    Session,
    SessionStore,
)
from harness.session.testing import LogWriter
from harness.testing.model import ScriptedModel, calls, says
from harness.tools import ToolRegistry, tool
from harness_plugins import agent_core, invariants
from vendor_shims.cordis import Context
from vendor_shims.testing import Kernel, kernel

NOT_STARTED = {"name": "ToolNotStartedError", "code": "TOOL_NOT_STARTED"}


@attrs.define
class Harness:
    """A mounted spine with a scripted model and an echo tool."""

    kernel: Kernel
    model: ScriptedModel

    @property
    def root(self) -> Context:
        return self.kernel.root

    @property
    def sessions(self) -> SessionStore:
        return self.root.require("sessions")

    async def guard(self, **config: object) -> object:
        fiber = self.root.plugin(invariants, config)
        await self.kernel.settle()
        return fiber

    async def agent(self) -> AgentHandle:
        agents: AgentRegistry = self.root.require("agents")
        options = AgentOptions(provider="scripted", model="m")
        return await agents.create(CreateAgentOptions(agent_options=options))

    def errors(self) -> list[str]:
        return self.kernel.logged()


@pytest.fixture
async def harness() -> AsyncIterator[Harness]:
    async with kernel() as made:
        made.root.plugin(agent_core)
        model = ScriptedModel()
        made.root.plugin(model)
        await made.settle()

        @tool
        async def echo(text: str) -> str:
            """Echo the text."""
            return text

        tools: ToolRegistry = made.root.require("tools")
        tools.register(echo)
        yield Harness(made, model)


def broken(log: LogWriter) -> None:
    """Write a whole turn whose result answers nothing."""
    log.begin_turn()
    log.begin_step()
    log.result("nobody")
    log.end_step()
    log.end_turn()


async def test_a_guarded_harness_runs_as_always(harness):
    await harness.guard(strict=True)
    harness.model.add(calls("echo", {"text": "x"}), says("done"))
    handle = await harness.agent()
    receipt = handle.agent.send("hi")
    await handle.agent.when_idle()
    assert (await receipt.settled()) is not None
    handle.agent.inject("fact", source={"kind": "plugin", "plugin": "p"})
    session = handle.agent.session
    assert [event.data["turn"] for event in session.events if event.type == "turn/end"] == [1, 2]
    assert check_log(session.events, is_complete=True) == ()
    await handle.dispose()
    assert harness.errors() == []


@pytest.mark.spec("03-196")
async def test_a_guard_that_comes_late_takes_legal_logs_over(harness):
    log = LogWriter(harness.sessions.create("s"))
    log.begin_turn()
    log.begin_step()
    log.answer(calls=["c"])
    await harness.guard()
    with pytest.raises(InvariantError, match="S7"):
        log.result("c")
    log.result("c", call_seq=log.call("c").seq)
    log.end_step()
    log.end_turn()
    assert harness.errors() == []


@pytest.mark.spec("03-196")
async def test_a_guard_that_comes_late_reports_an_illegal_log(harness):
    log = LogWriter(harness.sessions.create("s"))
    broken(log)
    await harness.guard()
    (line,) = [line for line in harness.errors() if "S7" in line]
    assert "[harness.session S7] event 2 (tool/result)" in line
    assert "invariants of harness.session" in harness.root.diagnose()
    registry: Invariants = harness.root.require("invariants")
    registry.register("harness.session", lambda _: None)


async def test_a_session_with_an_illegal_history_is_vetoed(harness):
    log = LogWriter()
    broken(log)
    await harness.guard()
    with pytest.raises(InvariantError, match="S7"):
        harness.sessions.create("s", seed=log.events)
    assert harness.sessions.get("s") is None
    imported = {"imported_from": {"file": "f", "version": 0}}
    live = LogWriter(harness.sessions.create("s", seed=log.events, meta=imported))
    live.begin_turn()
    live.begin_step()
    with pytest.raises(InvariantError, match="S7"):
        live.result("nobody")


@pytest.mark.spec("03-197")
async def test_a_result_without_a_call_is_vetoed(harness):
    await harness.guard()
    log = LogWriter(harness.sessions.create("s"))
    log.begin_turn()
    log.begin_step()
    log.answer(calls=["c"])
    before = log.events
    with pytest.raises(InvariantError, match="no unanswered tool/call") as caught:
        log.result("c")
    assert (caught.value.code, caught.value.rule) == ("INVARIANT", "S7")
    assert log.events is before
    log.result("c", error=NOT_STARTED)
    log.end_step()
    log.end_turn()
    assert check_log(log.events, is_complete=True) == ()


async def test_a_session_is_followed_from_before_its_announcement(harness):
    session = harness.sessions.prepare("s")
    harness.sessions.enter(session)
    log = LogWriter(session)
    log.begin_turn()
    log.begin_step()
    log.answer(calls=["c"])
    await harness.guard()
    harness.sessions.announce(session)
    log.result("c", call_seq=log.call("c").seq)
    with pytest.raises(InvariantError, match="S7"):
        log.result("c")


async def test_what_somebody_else_vetoes_is_not_counted(harness):
    await harness.guard()
    log = LogWriter(harness.sessions.create("s"))
    log.begin_turn()
    log.begin_step()
    log.answer(calls=["c"])

    def veto(_session: Session, _event: object) -> None:
        raise ValueError("no")

    off = harness.root.on(SESSION_VALIDATE, veto)
    with pytest.raises(ValueError, match="no"):
        log.call("c")
    off()
    with pytest.raises(InvariantError, match="S7"):
        log.result("c")
    log.result("c", call_seq=log.call("c").seq)


async def test_a_session_that_left_is_forgotten(harness):
    await harness.guard()
    session = harness.sessions.prepare("s")
    detach = harness.sessions.enter(session)
    log = LogWriter(session)
    log.begin_turn()  # entered but not announced: nobody has heard of it
    log.begin_step()
    log.result("nobody")
    detach()
    again = LogWriter(harness.sessions.create("s"))
    again.turn()
    assert harness.errors() == []


# -- requests ----------------------------------------------------------------------------------


def dispatch(harness: Harness, log: LogWriter, *, is_marked: bool = True, **changes: object):
    """Dispatch what a loop would send now, with changes."""
    session = log.session
    header = session.request_header()
    options = {
        "config": LlmCallConfig.from_json(header["config"]) if header else LlmCallConfig("p", "m"),
        "messages": session.derive_messages(),
        "session_id": session.id,
    }
    request = GenerateOptions(**{**options, **changes})
    if is_marked:
        mark_agent_loop_request(request)
    return harness.root.require("llm").stream(request)


@pytest.fixture
async def pending(harness) -> LogWriter:
    """Return a guarded log that waits for an answer."""
    await harness.guard()
    log = LogWriter(harness.sessions.create("s"))
    log.begin_turn()
    log.user()
    log.begin_step()
    log.append(
        "request/header",
        reason="initial",
        header={"config": {"provider": "scripted", "model": "m"}},
    )
    return log


@pytest.mark.spec("03-198")
@pytest.mark.parametrize(
    ("changes", "rule"),
    [
        ({"messages": [create_user_message("tampered", message_id="x")]}, "M3"),
        ({"messages": []}, "M3"),
        ({"session_id": "nobody"}, "M1"),
        ({"session_id": None}, "M1"),
        ({"system": "be evil"}, "M4"),
        ({"config": LlmCallConfig("scripted", "other")}, "M4"),
        ({"config": LlmCallConfig("scripted", "m", temperature=1.0)}, "M4"),
    ],
    ids=repr,
)
async def test_a_request_that_differs_from_the_log_never_reaches_the_model(
    harness, pending, changes, rule
):
    with pytest.raises(InvariantError) as caught:
        dispatch(harness, pending, **changes)
    assert (caught.value.rule, caught.value.code) == (rule, "INVARIANT")
    assert harness.model.requests == []


async def test_a_request_that_the_log_explains_is_sent(harness, pending):
    harness.model.add(says("hello"), says("hi"))
    chunks = [chunk async for chunk in dispatch(harness, pending)]
    assert chunks[-1].type == "finish"
    other = dispatch(harness, pending, is_marked=False, messages=[create_user_message("x")])
    assert [chunk.type async for chunk in other][-1] == "finish"
    assert len(harness.model.requests) == 2


async def test_a_request_needs_a_step_and_a_header(harness):
    await harness.guard()
    log = LogWriter(harness.sessions.create("s"))
    log.begin_turn()
    log.user()
    with pytest.raises(InvariantError, match="outside a step"):
        dispatch(harness, log)
    log.begin_step()
    with pytest.raises(InvariantError, match="no request/header") as caught:
        dispatch(harness, log)
    assert caught.value.rule == "M2"


async def test_a_history_with_an_unanswered_call_is_not_sent(harness):
    await harness.guard(checks={"packageBlocklist": ["^harness.session$"]})
    log = LogWriter(harness.sessions.create("s"))
    log.begin_turn()
    log.begin_step()
    log.answer(calls=["c"])
    log.end_step()
    log.begin_step(2)
    config = {"provider": "scripted", "model": "m"}
    log.append("request/header", reason="initial", header={"config": config})
    with pytest.raises(InvariantError) as caught:
        dispatch(harness, log)
    assert caught.value.rule == "M5"


@pytest.mark.spec("03-75")
@pytest.mark.parametrize("is_strict", [False, True])
async def test_an_override_is_legal_unless_the_guard_is_strict(harness, is_strict):
    await harness.guard(strict=is_strict)
    harness.model.add(says("done"))

    async def change(_pending, following):
        draft = await following()
        return attrs.evolve(draft, messages=(create_user_message("instead"),))

    handle = await harness.agent()
    harness.root.on(REQUEST, change)
    handle.agent.send("hi")
    await handle.agent.when_idle()
    events = handle.agent.session.events
    kinds = [event.type for event in events]
    assert "request/override" in kinds
    reason = events[-1].data["reason"]
    if is_strict:
        assert reason["kind"] == "error"
        assert "M3" in reason["message"]
        assert harness.model.requests == []
    else:
        assert reason["kind"] == "completed"
        assert [one.text for one in harness.model.requests[0].messages] == ["instead"]
    await handle.dispose()


# -- agents ------------------------------------------------------------------------------------


@pytest.mark.spec("03-200")
async def test_a_status_that_does_not_change_is_reported(harness):
    await harness.guard()
    handle = await harness.agent()
    agent = handle.agent
    harness.model.add(says("done"))
    agent.send("hi")
    await agent.when_idle()
    assert harness.errors() == []
    change = StatusChanged(agent=agent, status=AgentStatus.RUNNING, previous=AgentStatus.IDLE)
    harness.root.emit(STATUS, change, target=agent)
    assert harness.errors() == []
    harness.root.emit(STATUS, change, target=agent)
    (line,) = harness.errors()
    assert "INVARIANT" in line or "InvariantError" in line
    assert "running twice" in line
    await handle.dispose()


async def test_an_idle_agent_has_no_open_turn(harness):
    await harness.guard()
    handle = await harness.agent()
    agent = handle.agent
    LogWriter(agent.session).begin_turn()
    change = StatusChanged(agent=agent, status=AgentStatus.IDLE, previous=AgentStatus.RUNNING)
    harness.root.emit(STATUS, change, target=agent)
    (line,) = harness.errors()
    assert "idle with an open turn" in line
    LogWriter(agent.session).end_turn()
    await handle.dispose()


# -- configuration -----------------------------------------------------------------------------


@pytest.mark.spec("03-199")
async def test_a_guard_that_is_off_checks_nothing(harness):
    await harness.guard(checks={"enabled": False})
    log = LogWriter(harness.sessions.create("s"))
    broken(log)
    assert check_log(log.events) != ()
    registry: Invariants = harness.root.require("invariants")
    for package in ("harness.session", "harness.agent", "harness_plugins.agent_loop"):
        with pytest.raises(InvariantError, match="registered already"):
            registry.register(package, lambda _: None)


async def test_a_guard_that_leaves_checks_nothing_any_more(harness):
    fiber = await harness.guard()
    log = LogWriter(harness.sessions.create("s"))
    log.begin_turn()
    await fiber.dispose()
    log.begin_step()
    log.result("nobody")
    assert harness.root.get("invariants") is None
