"""Bring a composition up, and refuse to go on unless everything that matters works."""

from collections.abc import Mapping, Sequence
from typing import Any

from anyio import move_on_after

from harness.cmdline import BOOT_S, boot_limit_s
from harness.launch import Home
from harness.session import SessionStore
from harness_plugins.launcher.boot_report import BootReport
from harness_plugins.launcher.complaint import Complaint
from harness_plugins.launcher.errors import CommandError
from harness_plugins.launcher.version import VERSION
from harness_plugins.session_persistence_jsonl import JsonlPersistence
from vendor_shims.cordis import Context
from vendor_shims.include import Composed
from vendor_shims.loader import Loader, LoaderConfig, RowReport, audit, required

SURFACE_ROW = "surface"
"""The id of the row that names what the surface of a profile needs."""


async def boot(
    root: Context,
    home: Home,
    composed: Composed,
    *,
    env: Mapping[str, str],
    write_to: str | None = None,
    is_strict: bool = False,
) -> tuple[str, ...]:
    """Mount the rows of a composition and wait until they rest; return what to say of them.

    A row that does not come to rest in time counts as one that does not run; it goes on trying.

    Args:
        root: a fresh root.
        home: where the report of a failed boot is written.
        composed: the rows, with the layers that they come from.
        env: what expressions read; `DSH_BOOT_TIMEOUT` in it is the time to wait, in seconds.
        write_to: the patch file that keeps changes made while it runs.
        is_strict: whether a row that does not run ends the boot, whoever needs it.

    Raises:
        CommandError: a required row does not run; the table names it, what waits for it, and the
            file that says so. Tracebacks are in a report under the home's `logs`.
    """
    root.plugin(Loader, LoaderConfig(env=env, home=str(home.root), version=VERSION))
    await root.settle()
    loader = root.require("loader")
    config: dict[str, Any] = {"patches": list(composed.patches)}
    if write_to is not None:
        config["writeTo"] = write_to
    limit_s = boot_limit_s(env)
    with move_on_after(limit_s):
        await loader.load_rows([{"id": "include", "name": "cordis:include", "config": config}])
        await root.settle()
    found = audit(loader)
    if not found or (found[0].condition == "waiting" and len(found) == 1):
        hint = "to give them more time: DSH_BOOT_TIMEOUT=SECONDS"
        raise CommandError(Complaint("BOOT", f"no row has started within {limit_s:g} s", (hint,)))
    include, *reports = found
    report = BootReport(composed, home)
    if include.error is not None:
        raise CommandError(report.invalid(include.error)) from include.error
    idle = [one for one in reports if one.condition in ("failed", "waiting")]
    needed = idle if is_strict else required(reports, [SURFACE_ROW])
    broken = [one for one in needed if one in idle]
    if broken:
        raise CommandError(report.complaint(broken, idle)) from _first_error(broken)
    return tuple(report.notes(reports, idle))


async def boot_storage(root: Context, home: Home) -> None:
    """Mount only what reads and writes stored sessions.

    Raises:
        CommandError: `BOOT`, it cannot be used.
    """
    fibers = [
        root.plugin(SessionStore),
        root.plugin(JsonlPersistence, {"root": str(home.sessions)}),
    ]
    for fiber in fibers:
        try:
            await fiber.active(BOOT_S)
        except Exception as error:
            raise CommandError(Complaint("BOOT", f"{fiber.name}: {error}")) from error


def _first_error(broken: Sequence[RowReport]) -> BaseException | None:
    return next((one.error for one in broken if one.error is not None), None)
