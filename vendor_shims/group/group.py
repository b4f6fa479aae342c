"""Rows inside a row."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, ClassVar, cast

from vendor_shims.cordis import Context, Fiber
from vendor_shims.loader import Entry, EntryGroup, InvalidEntry


class Group:
    """Mounts the rows of its config below itself; a new list is applied without a restart.

    Only a row can run it. Services that it isolates or intercepts reach every row in it.
    """

    name = "group"
    inject: ClassVar[list[str]] = ["loader"]
    is_config_literal = True  # rows evaluate their own expressions

    def __init__(self, ctx: Context, config: object = None) -> None:
        entry = ctx.fiber.entry
        if not isinstance(entry, Entry):
            raise InvalidEntry("a group runs in a row of a loader's tree")
        self._entry = entry
        self._rows = _rows(config)
        self._group = EntryGroup(ctx, entry.tree, entry=entry)
        ctx.effect(lambda: self._forget, "rows")  # undone last: after the fibers of all rows
        ctx.on("internal/update", self._update)

    async def start(self) -> None:
        """Mount the rows and wait until they rest."""
        self._entry.subgroup = self._group
        await self._group.load(self._rows)

    async def _update(
        self,
        _: Fiber,
        config: object,
        __: bool,  # noqa: FBT001 - the form of the event
        ___: Callable[[], Awaitable[Any]],
    ) -> None:
        await self._group.update(_rows(config))

    def _forget(self) -> None:
        if self._entry.subgroup is self._group:
            self._entry.options = self._entry.row
            self._entry.subgroup = None
        self._group.clear()


def _rows(config: object) -> Sequence[object]:
    if config is None:
        return ()
    if not isinstance(config, list | tuple):
        raise InvalidEntry(f"the config of a group is a list of rows, not {type(config).__name__}")
    return cast("Sequence[object]", config)
