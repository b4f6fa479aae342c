"""Giving a row other options: in place where possible, and back to the old ones on failure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vendor_shims.loader.errors import EntryError
from vendor_shims.loader.events import PARTIAL_DISPOSE, PATCH_CONTEXT
from vendor_shims.loader.options import Options, changed_keys
from vendor_shims.loader.volatile import apply_in_place

if TYPE_CHECKING:
    from vendor_shims.loader.entry import Entry
    from vendor_shims.loader.entry_group import EntryGroup

_OTHER_PLUGIN = frozenset(("name", "inject", "group"))
_OTHER_PLACE = frozenset(("isolate", "intercept"))


async def change_or_restore(
    entry: Entry, options: Options, *, group: EntryGroup | None = None
) -> None:
    """Let a row have these options, in another group if one is given, or everything as before.

    Raises:
        EntryError: a stage failed, and the row runs as before; at stage `rollback` it does not.
    """
    before, home = entry.row, entry.group
    failed_before = {str(failure) for failure in entry.failures()}
    try:
        await change(entry, options, group=group)
    except EntryError as failure:
        try:
            with entry.tree.restoring():
                await change(entry, before, group=home)
            for left in entry.failures():
                if str(left) not in failed_before:
                    raise left
        except EntryError as again:
            both = ExceptionGroup("a change and its rollback failed", [failure, again])
            raise entry.failed("rollback", both, keep=False) from both
        raise


async def change(entry: Entry, options: Options, *, group: EntryGroup | None = None) -> None:
    """Let a row have these options, in another group if one is given.

    A row that is switched on or off is started or ended; another plugin replaces the running one
    after it was imported; a new config goes to the running one.

    Raises:
        EntryError: a stage failed. After an import or a move that failed the row has its old
            options, after any other failure the new ones; it may not run.
    """
    changed = changed_keys(entry.row, options)
    destination = None if group is entry.group else group
    try:
        if changed or destination is not None or _is_out_of_step(entry):
            await _take(entry, options, changed, destination)
            return
        entry.options = options  # the same, perhaps written in another way
        if entry.subgroup is not None:
            await entry.subgroup.update(entry.subgroup.rows)
    except EntryError:
        raise
    except Exception as error:
        raise entry.failed("apply", error, keep=False) from error


def _is_out_of_step(entry: Entry) -> bool:
    """Return whether the row should start or end because of the rows around it."""
    return entry.failure is None and entry.disabled is (entry.fiber is not None)


async def _take(
    entry: Entry, options: Options, changed: set[str], destination: EntryGroup | None
) -> None:
    previous, home = entry.options, entry.group
    entry.options = options
    _move_in_lists(entry, destination)
    try:
        is_disabled = entry.disabled
        plugin = None if is_disabled else _replacement(entry, changed)
        if is_disabled or plugin is not None:
            await entry.end()
        if destination is not None or changed & _OTHER_PLACE:
            entry.standing.move(None if destination is None else destination.ctx)
    except Exception:
        entry.options = previous
        _move_in_lists(entry, None if destination is None else home)
        raise
    entry.tree.loader.ctx.emit(PARTIAL_DISPOSE, entry, previous, entry.fiber is not None)

    async def bring_in_line(_: Entry) -> None:
        if is_disabled:
            return
        if plugin is not None:
            entry.mount(*plugin)
            await entry.settled()
        elif entry.fiber is None:
            entry.begin()
            await entry.settled()
        else:
            await _configure(entry, changed)

    await entry.tree.loader.ctx.waterfall(PATCH_CONTEXT, entry, inner=bring_in_line)


def _move_in_lists(entry: Entry, destination: EntryGroup | None) -> None:
    if destination is not None:
        entry.group.entries.remove(entry)
        entry.group = destination
        destination.entries.append(entry)


def _replacement(entry: Entry, changed: set[str]) -> tuple[object, str | None] | None:
    """Import the plugin that takes the place of the running one, if one does."""
    if entry.fiber is None or not changed & _OTHER_PLUGIN:
        return None
    if "name" not in changed:
        return entry.plugin, entry.module
    try:
        return entry.tree.resolve_plugin(entry.name)
    except Exception as error:
        raise entry.failed("import", error, keep=False) from error


async def _configure(entry: Entry, changed: set[str]) -> None:
    """Hand the config to the running fiber; a group always looks at its rows again."""
    fiber = entry.fiber
    assert fiber is not None  # the caller has looked
    config = entry.options.get("config")
    if "config" not in changed and entry.subgroup is None:
        await entry.settled()
    elif not apply_in_place(fiber, config):
        entry.tree.say("reload", entry)
        await fiber.update(config, save=False)
