"""Unload everything within a time limit, and say what keeps it from ending."""

from harness.cmdline.limits import SHUTDOWN_S
from vendor_shims.cordis import Context, Effect, Fiber


async def shut_down(root: Context, *, limit_s: float = SHUTDOWN_S) -> tuple[str, ...]:
    """Close a tree for good; return what hangs, nothing when all of it has ended.

    Each text names a plugin and the disposer that it waits for. What hangs is left as it is, so
    the process has to be ended without waiting for it.
    """
    try:
        await root.close(limit_s)
    except TimeoutError as error:
        return tuple(filter(None, map(_straggler, root.kernel.busy))) or (str(error),)
    return ()


def _straggler(fiber: Fiber) -> str | None:
    """Return what a fiber waits for; None when that is another fiber, which speaks for itself."""
    if any(drain.pending for drain in fiber.drains):
        return None
    item = None if fiber.unwinding is None else fiber.unwinding.waiting_for
    while isinstance(item, Effect) and item.unwinding is not None:
        inner = item.unwinding.waiting_for
        if inner is None:
            break
        item = inner
    if item is None:
        return f"{fiber.name} is {fiber.state.name}"
    return None if item.is_fiber else f"{fiber.name}: {item.title}"
