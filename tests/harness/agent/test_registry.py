"""The registry of live agents, with agents made by hand."""

import pytest

from harness.agent import CREATED, DISPOSED, AgentExistsError, NoAgentFactoryError


async def test_a_registered_agent_is_found_until_it_is_detached(root, agents, make_agent) -> None:
    told = []
    root.on(CREATED, lambda agent: told.append(("created", agent.id)))
    root.on(DISPOSED, lambda agent: told.append(("disposed", agent.id)))
    agent = make_agent("session-a")
    detach = agents.register(agent)
    assert agents.get("session-a") is agent
    assert agents.list() == agents.roots() == [agent]
    detach()
    detach()
    assert agents.get("session-a") is None
    assert told == [("created", "session-a"), ("disposed", "session-a")]


async def test_an_id_is_entered_once(agents, make_agent) -> None:
    agent = make_agent("session-a")
    agents.register(agent)
    with pytest.raises(AgentExistsError, match="session-a"):
        agents.enter(make_agent("session-a"))
    assert agents.list() == [agent]


@pytest.mark.spec("04-L7")
async def test_an_entry_detached_while_it_is_announced_stays_until_all_have_heard(
    root, agents, make_agent
) -> None:
    seen = []
    agent = make_agent("session-a")
    detach = agents.enter(agent)
    root.on(CREATED, lambda _: detach())
    root.on(CREATED, lambda agent: seen.append(agents.get(agent.id)))
    root.on(DISPOSED, lambda _: seen.append("disposed"))
    agents.announce(agent)
    assert seen == [agent, "disposed"]
    assert agents.list() == []


async def test_a_detach_removes_only_its_own_entry(agents, make_agent) -> None:
    first = make_agent("session-a")
    detach = agents.register(first)
    detach()
    second = make_agent("session-a")
    agents.register(second)
    detach()
    assert agents.get("session-a") is second


async def test_a_resume_needs_a_factory_too(agents) -> None:
    with pytest.raises(NoAgentFactoryError, match="agent_loop"):
        await agents.resume(None)


async def test_an_agent_shows_its_id_and_status(make_agent) -> None:
    assert repr(make_agent("session-a")) == "<HandMadeAgent session-a idle>"


async def test_a_followup_is_a_send(make_agent) -> None:
    assert make_agent("session-a").followup("more") == ("more", None)
