"""Check that an agent loop keeps the contract of `harness.agent`.

Subclass `AgentLoopContract` in a test module and say how the loop is mounted:

    class TestMyLoop(AgentLoopContract):
        @pytest.fixture
        def mount_loop(self):
            return lambda ctx, options: ctx.plugin(MyLoop, options)

Options are those of the loop that comes with the harness, by their configuration names. Tests are
coroutines; run them with the anyio plugin in its automatic mode, and register the marker `spec`,
which names the items of the specification that a test shows. `harness.agent` itself does not import
this package.
"""

from harness.agent.contract.stage import LoopStage, another_world
from harness.agent.contract.suite import AgentLoopContract
from harness.agent.contract.world import (
    OPTIONS,
    MountLoop,
    World,
    codes_of,
    events_of,
    reasons_of,
    texts_of,
    types_of,
)

__all__ = [
    "OPTIONS",
    "AgentLoopContract",
    "LoopStage",
    "MountLoop",
    "World",
    "another_world",
    "codes_of",
    "events_of",
    "reasons_of",
    "texts_of",
    "types_of",
]
