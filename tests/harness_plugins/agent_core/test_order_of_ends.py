"""Who mounts storage before the spine keeps the end of a turn that the end of everything cuts."""

from collections.abc import Callable
from pathlib import Path

import pytest
from anyio import sleep_forever

from harness.agent import (
    PRE_STEP,
    PROMPT_SUBMIT,
    TURN_STOPPING,
    AgentOptions,
    AgentRegistry,
    CreateAgentOptions,
    SessionMeta,
)
from harness.session import Session, SessionStore
from harness.session_persistence import SessionPersistence, StoredSession
from harness.testing.model import ScriptedModel, calls, says
from harness.tools import PRE_EXECUTE
from harness_plugins import agent_core, invariants
from harness_plugins.session_persistence_jsonl import JsonlPersistence
from vendor_shims.cordis import Context, Latch


async def stored(root_dir: Path, session_id: str) -> StoredSession:
    async with Context() as root:
        root.plugin(SessionStore)
        root.plugin(JsonlPersistence, {"root": str(root_dir)})
        await root.settle()
        return await root[SessionPersistence].inspect(session_id)


async def cut(root_dir: Path, until: str, *, owner: str) -> Session:
    """Close everything in the middle of a turn, which waits there; return the session."""
    root = Context()
    owners = [root]
    if owner == "a plugin":
        root.plugin(_first(owners))
    root.plugin(JsonlPersistence, {"root": str(root_dir)})
    root.plugin(agent_core)
    root.plugin(invariants)
    root.plugin(ScriptedModel(calls("missing", {}), says("Done.")))
    await root.settle()
    options = AgentOptions(provider="scripted", model="test")
    handle = await owners[-1][AgentRegistry].create(
        CreateAgentOptions(meta=SessionMeta(cwd="/"), agent_options=options)
    )
    reached = Latch()

    async def hold(*_: object) -> None:
        reached.open()
        await sleep_forever()

    root.on(until, hold)
    handle.agent.send("go")
    await reached
    await root.close()
    return handle.agent.session


def _first(owners: list[Context]) -> Callable[[Context], None]:
    """Return a plugin that is mounted before the composition and waits for agents."""

    def owner(ctx: Context) -> None:
        owners.append(ctx)

    owner.inject = ["agents"]
    return owner


@pytest.mark.parametrize("owner", ["the root", "a plugin"])
@pytest.mark.parametrize("until", [PROMPT_SUBMIT, PRE_STEP, PRE_EXECUTE, TURN_STOPPING])
async def test_the_end_of_a_turn_that_the_end_of_everything_cuts_is_stored(
    tmp_path: Path, until: str, owner: str
) -> None:
    session = await cut(tmp_path, until, owner=owner)
    assert session.events[-1].type == "turn/end"
    assert session.events[-1].data["reason"] == {"kind": "disposed"}
    found = await stored(tmp_path, session.id)
    assert found.closers == 0
    assert found.events == session.events
