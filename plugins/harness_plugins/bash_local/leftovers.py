"""Keep track of processes that commands left running, and end them with their owner."""

from __future__ import annotations

from harness.subprocess import ProcessHandle
from vendor_shims.cordis import Context, Effect, InactiveEffect


class LeftBehind:
    """Tie each left-behind tree to a context; without one it lives as long as the runtime.

    Invariants: `_tied` holds the disposers of trees that were alive when last looked at.
    """

    def __init__(self) -> None:
        self._tied: dict[ProcessHandle, Effect] = {}

    def keep(self, handle: ProcessHandle, owner: Context | None) -> None:
        """End the tree when `owner` is disposed, or now when that has happened."""
        self._forget_ended()
        if owner is None:
            return
        try:
            self._tied[handle] = owner.effect(
                lambda: lambda: end_tree(handle), label="bash.leftovers"
            )
        except InactiveEffect:  # the session went away while its command ran
            handle.terminate()

    def _forget_ended(self) -> None:
        for handle in [handle for handle in self._tied if not handle.is_alive()]:
            self._tied.pop(handle)()


async def end_tree(handle: ProcessHandle) -> None:
    """End a tree and wait until nothing of it lives."""
    handle.terminate()
    await handle.wait_for_exit()
