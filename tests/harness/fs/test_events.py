"""The events name their routing subject and their mode."""

from typing import Any

import pytest

from harness.fs import EDIT_INTENT, OBSERVED, WRITE_INTENT, Absent, FsActor, FsTarget

TARGET = FsTarget("/a", "/a")


@pytest.mark.parametrize("event", [WRITE_INTENT, EDIT_INTENT])
def test_intents_are_asked_for_the_agent_that_acts(event) -> None:
    agent: Any = object()
    assert event.mode == "waterfall"
    assert event.scoped(TARGET, FsActor(agent=agent)) is agent
    assert event.scoped(TARGET, FsActor()) is None


def test_observations_are_told_to_the_agent_that_made_them() -> None:
    agent: Any = object()
    assert OBSERVED.contain
    assert OBSERVED.scoped(TARGET, Absent(), FsActor(agent=agent)) is agent
    assert Absent().kind == "absent"
