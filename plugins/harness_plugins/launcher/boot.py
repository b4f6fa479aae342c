"""Bring a composition up, and refuse to go on unless everything that matters works."""

import os
import time
import traceback
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from harness.launch import Home
from harness.session import SessionStore
from harness_plugins.launcher.complaint import Complaint
from harness_plugins.launcher.errors import CommandError
from harness_plugins.launcher.version import VERSION
from harness_plugins.session_persistence_jsonl import JsonlPersistence
from vendor_shims.cordis import Context, ValidationError
from vendor_shims.include import Composed, Supplier
from vendor_shims.loader import (
    DuplicateEntry,
    Loader,
    LoaderConfig,
    PluginNotFound,
    RowReport,
    audit,
    required,
    unknown,
)

SURFACE_ROW = "surface"
"""The id of the row that names what the surface of a profile needs."""

_SETTLE_S = 20.0
_MAX_ROWS = 12


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

    Args:
        root: a fresh root.
        home: where the report of a failed boot is written.
        composed: the rows, with the layers that they come from.
        env: what expressions read.
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
    try:
        await loader.load_rows([{"id": "include", "name": "cordis:include", "config": config}])
        await root.settle(_SETTLE_S)
    except TimeoutError as error:
        raise CommandError(Complaint("BOOT", str(error))) from error
    include, *reports = audit(loader)
    if include.error is not None:
        raise CommandError(_invalid(include.error, composed, home)) from include.error
    idle = [one for one in reports if one.condition in ("failed", "waiting")]
    needed = idle if is_strict else required(reports, [SURFACE_ROW])
    broken = [one for one in needed if one in idle]
    if broken:
        raise CommandError(_complaint(broken, idle, composed, home)) from _first_error(broken)
    odd = [
        f"{r.entry.id}: the option {k} means nothing"
        for r in reports
        for k in unknown(r.entry.options)
    ]
    return (*odd, *(f"{one.entry.id} does not run: {one.reason}" for one in idle))


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
            await fiber.active(_SETTLE_S)
        except Exception as error:
            raise CommandError(Complaint("BOOT", f"{fiber.name}: {error}")) from error


def _invalid(error: BaseException, composed: Composed, home: Home) -> Complaint:
    """Return the complaint about rows of which none could be mounted."""
    supplier = composed.supplier(error.entry_id) if isinstance(error, DuplicateEntry) else None
    return Complaint("CONFIG_INVALID", _located(str(error), supplier, home))


def _first_error(broken: Sequence[RowReport]) -> BaseException | None:
    return next((one.error for one in broken if one.error is not None), None)


def _complaint(
    broken: Sequence[RowReport], idle: Sequence[RowReport], composed: Composed, home: Home
) -> Complaint:
    """Return the table, with the causes of a failure first."""
    failed = [one for one in idle if one.condition == "failed"]
    waiting = [one for one in idle if one.condition == "waiting"]
    width = max(len(one.entry.id) for one in idle)
    table = [f"{one.entry.id:<{width}}  failed   {_reason(one, composed, home)}" for one in failed]
    table += [
        f"{one.entry.id:<{width}}  waiting  {', '.join(n for n, _ in one.missing)}"
        for one in waiting
    ]
    count = f"{len(failed)} plugin{'s' * (len(failed) != 1)} failed, {len(waiting)} wait"
    report = _write_report(failed, table, home)
    hint = "run again with --debug for the details" if report is None else f"full report: {report}"
    shown = table[:_MAX_ROWS] + ["…"] * (len(table) > _MAX_ROWS)
    if len(broken) == len(failed) == 1 and isinstance(broken[0].error, PluginNotFound):
        hints = ("to install it: dsh plugin add DISTRIBUTION", hint)
        return Complaint("PLUGIN_NOT_FOUND", f"row {broken[0].entry.id}: {broken[0].error}", hints)
    return Complaint("BOOT", count, (hint,), details=tuple(shown))


def _reason(report: RowReport, composed: Composed, home: Home) -> str:
    """Return what failed and, for a config, the file and line or the option that say so."""
    error, entry_id = report.error, report.entry.id
    if not isinstance(error, ValidationError):
        is_name = isinstance(error, PluginNotFound)
        supplier = composed.supplier(entry_id, "name") if is_name else None
        return _located(str(error).partition("\n")[0], supplier, home)
    issue = error.issues[0]
    path = ".".join(map(str, ("config", *issue.path)))
    supplier = composed.supplier(entry_id, "config", *issue.path)
    more = f" and {len(error.issues) - 1} more" if len(error.issues) > 1 else ""
    return _located(f"{path}: {issue.message}{more}", supplier, home)


def _located(text: str, supplier: Supplier | None, home: Home) -> str:
    if supplier is None:
        return text
    place = supplier.place
    if place is None or place.file is None:
        return f"{text}   ({supplier.layer})"
    return f"{text}   ({home.display(Path(place.file))}:{place.line})"


def _write_report(failed: Sequence[RowReport], table: Sequence[str], home: Home) -> str | None:
    """Write table and tracebacks to a file that only the user can read; return its path."""
    parts = ["This report may hold values of the configuration.", *table]
    parts += ["".join(traceback.format_exception(one.error)) for one in failed]
    now = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
    path = home.logs / f"boot-{now}-{os.getpid()}.log"
    try:
        home.logs.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with open(descriptor, "w", encoding="utf-8", errors="replace") as file:
            file.write("\n\n".join(parts) + "\n")
    except OSError:
        return None  # the table on stderr says the same in short
    return home.display(path)
