"""Open the session of a run: a new one, or a stored one that goes on."""

import os
from typing import NamedTuple

from harness.agent import (
    Agent,
    AgentOptions,
    AgentRegistry,
    CreateAgentOptions,
    ResumeAgentOptions,
    SessionMeta,
)
from harness.llm import LlmService
from harness.session import TURN_END, Session, SessionHeader
from harness.session_persistence import SessionPersistence
from harness_plugins.launcher.complaint import Complaint
from harness_plugins.launcher.errors import CommandError
from harness_plugins.launcher.model_choice import check_choice, keep_choice, settle_model
from harness_plugins.launcher.run_plan import RunPlan
from harness_plugins.launcher.stored import find_session
from harness_plugins.launcher.surface import Opened
from harness_plugins.launcher.target import Choice
from vendor_shims.cordis import Context


class Started(NamedTuple):
    """An agent that waits for the task, what to tell of its session, and who answers."""

    agent: Agent
    opened: Opened


async def create_session(root: Context, plan: RunPlan) -> Started:
    """Make a new session; nothing is stored before its first event.

    Raises:
        CommandError: the model cannot be used as asked.
    """
    choice = plan.target.choice
    assert choice is not None, "a new session always has somebody to answer it"
    choice = await _settle(root, plan, choice)
    options = AgentOptions(
        provider=choice.provider,
        model=choice.model,
        reasoning_effort=plan.effort,
        max_tokens=plan.max_tokens,
    )
    handle = await root[AgentRegistry].create(
        CreateAgentOptions(meta=SessionMeta(cwd=plan.cwd), agent_options=options)
    )
    return _started(handle.agent, plan, choice, is_resumed=False)


async def resume_session(root: Context, plan: RunPlan, wanted: str) -> Started:
    """Take a stored session up; an interrupted turn of it is closed first.

    Raises:
        CommandError: it is unknown, belongs to another directory, or nobody can answer it.
        SessionPersistenceError: it is damaged, or another process has it.
    """
    header = await find_session(root[SessionPersistence], wanted)
    _check_directory(header, plan)
    options = AgentOptions(reasoning_effort=plan.effort, max_tokens=plan.max_tokens)
    handle = await root[AgentRegistry].resume(
        ResumeAgentOptions(resume_session_id=header.id, agent_options=options)
    )
    agent = handle.agent
    served = {provider.id for provider in root[LlmService].list_providers()}
    last = _last_choice(agent.session)
    choice = plan.target.for_session(last, plan.options.model, served=served)
    choice = await _settle(root, plan, choice)
    keep_choice(root, choice, effort=plan.effort)
    return _started(agent, plan, choice, is_resumed=True)


def was_interrupted(session: Session) -> bool:
    """Return whether taking the session up had to close its last turn."""
    last = session.first_live_seq - 1
    if last < 0:
        return False
    event = session.event(last)
    return event.type == TURN_END and event.data["reason"]["kind"] == "interrupted"


async def _settle(root: Context, plan: RunPlan, choice: Choice) -> Choice:
    llm = root[LlmService]
    choice = await settle_model(llm, choice)
    await check_choice(llm, choice, effort=plan.effort, max_tokens=plan.max_tokens)
    return choice


def _started(agent: Agent, plan: RunPlan, choice: Choice, *, is_resumed: bool) -> Started:
    opened = Opened(
        session_id=agent.id,
        cwd=agent.session.header.cwd or plan.cwd,
        provider=choice.provider,
        model=choice.model,
        effort=plan.effort,
        is_resumed=is_resumed,
    )
    return Started(agent, opened)


def _last_choice(session: Session) -> Choice | None:
    header = session.request_header()
    return (
        None if header is None else Choice(header["config"]["provider"], header["config"]["model"])
    )


def _check_directory(header: SessionHeader, plan: RunPlan) -> None:
    """Refuse a session of another directory: its paths would mean other files."""
    recorded = header.cwd
    if recorded is None:
        raise CommandError(Complaint("SESSION_CWD", f"session {header.id} belongs to no directory"))
    if recorded == plan.cwd or _is_same(recorded, plan.cwd):
        return
    hint = f"run it there: --cwd {recorded}"
    if not os.path.isdir(recorded):
        hint = f"{recorded} does not exist any more"
    raise CommandError(
        Complaint(
            "SESSION_CWD",
            f"session {header.id} belongs to {recorded}, this is {plan.cwd}",
            (hint,),
        )
    )


def _is_same(one: str, other: str) -> bool:
    try:
        return os.path.samefile(one, other)
    except OSError:
        return False
