"""Set the stage for one test of a loop."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest

from harness.agent.contract.world import MountLoop, World
from vendor_shims.cordis import Context
from vendor_shims.timer import VirtualClock


class LoopStage:
    """Say how the loop under test is mounted; a subclass overrides the fixture."""

    @pytest.fixture
    def mount_loop(self) -> MountLoop:
        """Return a function that mounts the loop on a context, with options."""
        raise NotImplementedError

    @pytest.fixture
    async def world(self, mount_loop: MountLoop) -> AsyncGenerator[World]:
        """Run a process whose log, receipts and tasks are checked at its end."""
        async with another_world(mount_loop) as world:
            yield world


@asynccontextmanager
async def another_world(mount_loop: MountLoop) -> AsyncGenerator[World]:
    """Run one more process, for tests of what outlives one."""
    clock = VirtualClock()
    world = World(Context(clock=clock), clock, mount_loop)
    await world.prepare()
    try:
        yield world
    except BaseException:
        await world.root.close()
        raise
    await world.finish()
