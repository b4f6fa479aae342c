"""Set the stage for one test of a loop."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest

from harness.agent.contract.world import MountLoop, World
from vendor_shims.cordis import Context
from vendor_shims.timer import VirtualClock


class LoopStage:
    """Give tests a world with the loop that the fixture `mount_loop` of a subclass mounts."""

    @pytest.fixture
    async def world(self, mount_loop: MountLoop) -> AsyncGenerator[World]:
        """Run a process whose log, receipts and tasks are checked at its end."""
        async with another_world(mount_loop) as world:
            yield world


@asynccontextmanager
async def another_world(mount_loop: MountLoop) -> AsyncGenerator[World]:
    """Run one more process, for tests of what outlives one."""
    clock = VirtualClock()
    async with Context(clock=clock) as root:
        world = World(root, clock, mount_loop)
        await world.prepare()
        yield world
        await world.finish()
