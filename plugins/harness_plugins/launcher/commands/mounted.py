"""Bring the harness up without a session, for commands that ask its services."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from harness_plugins.launcher.boot import boot
from harness_plugins.launcher.commands.auth_keys import launch_keys
from harness_plugins.launcher.commands.command import Surroundings
from harness_plugins.launcher.composition import composition, run_patches
from harness_plugins.launcher.log_output import write_log
from harness_plugins.launcher.target import Target
from vendor_shims.cordis import Context


@asynccontextmanager
async def mounted_harness(surroundings: Surroundings, target: Target) -> AsyncGenerator[Context]:
    """Mount what a run in this directory would mount, and unmount it at the end.

    Nothing is sent by mounting it.

    Raises:
        CommandError: a layer cannot be taken, or a part does not come up.
    """
    home = surroundings.home()
    environment = launch_keys(surroundings).environment
    patches = tuple(run_patches(target))
    launch = surroundings.options._replace(dump="--dump-config")  # looking at a profile makes none
    rows = composition(launch, home, environment, patches=patches, saves=False)
    async with Context() as root:
        write_log(root, surroundings.options, surroundings.environ)
        await boot(root, home, rows.composed, env=rows.env)
        yield root
