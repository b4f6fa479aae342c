"""Bring the harness up without a session, for commands that ask its services."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from harness_plugins.launcher.boot import boot
from harness_plugins.launcher.commands.auth_keys import launch_keys
from harness_plugins.launcher.commands.command import Surroundings
from harness_plugins.launcher.composition import composition, run_patches
from harness_plugins.launcher.options import Options
from harness_plugins.launcher.target import choose_target
from vendor_shims.cordis import Context


@asynccontextmanager
async def mounted_harness(
    surroundings: Surroundings, options: Options | None = None
) -> AsyncGenerator[Context]:
    """Mount what a run in this directory would mount, and unmount it at the end.

    Nothing is sent by mounting it. Without a usable key there is only the offline guide.

    Args:
        surroundings: of the command.
        options: which provider is wanted; any that can be used without it.

    Raises:
        CommandError: the provider is unknown or lacks its key, or a part does not come up.
    """
    home = surroundings.home()
    is_offline = surroundings.options.is_offline
    chosen = options or Options(offline=is_offline)
    keys = launch_keys(surroundings)
    target = choose_target(chosen, keys, has_audience=options is None)
    patches = tuple(run_patches(route=target.route))
    launch = surroundings.options._replace(dump="--dump-config")  # looking at a profile makes none
    rows = composition(launch, home, keys.environment, patches=patches, saves=False)
    async with Context() as root:
        await boot(root, home, rows.composed, env=rows.env)
        yield root
