"""Follow the patch files of profile and home, and the settings, while their rows run."""

from collections.abc import Callable, Sequence

from vendor_shims.cordis import Context
from vendor_shims.hmr import CONFIG_UPDATE_FAILED, Hmr
from vendor_shims.include import Composed
from vendor_shims.loader import Loader


async def follow_layers(
    compose_again: Callable[[], Composed],
    files: Sequence[str],
    tell: Callable[[str], object],
    ctx: Context,
) -> None:
    """Compose anew when a file comes, changes or goes, and bring the running rows in line.

    An edit that cannot be taken, or whose rows do not start, leaves everything as it was and is
    told once.

    Args:
        compose_again: reads all layers.
        files: of the layers; none of them need exist.
        tell: takes one line about an edit that was not taken.
        ctx: where `hmr` and `loader` are injected.
    """

    async def refresh() -> None:
        entry = ctx[Loader].resolve("include")
        config = {**entry.options["config"], "patches": list(compose_again().patches)}
        await ctx[Loader].update("include", {"config": config})

    def failed(path: str, error: Exception) -> None:
        tell(f"{path} was not taken, the last good configuration stays: {error}")

    ctx.on(CONFIG_UPDATE_FAILED, failed)
    for file in files:
        await ctx[Hmr].register_config(file, refresh)
