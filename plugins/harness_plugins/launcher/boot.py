"""Bring a composition up, and refuse to go on unless every part of it works."""

import os
import time
import traceback
from collections.abc import Callable

from harness.launch import Home
from harness_plugins.launcher.complaint import Complaint
from harness_plugins.launcher.errors import CommandError
from vendor_shims.cordis import Context, Fiber, FiberState

_SETTLE_S = 20.0
_MAX_ROWS = 12


async def boot(root: Context, home: Home, mount: Callable[[], None]) -> None:
    """Mount and wait until everything is active.

    Raises:
        CommandError: `BOOT`, with a table of what failed and what waits for it; the tracebacks are
            in a report under the home's `logs`.
    """
    mount()
    try:
        await root.settle(_SETTLE_S)
    except TimeoutError as error:
        raise CommandError(Complaint("BOOT", str(error))) from error
    idle = [fiber for fiber in _fibers(root.fiber) if fiber.state is not FiberState.ACTIVE]
    if idle:
        raise CommandError(_complaint(idle, home))


def _fibers(fiber: Fiber) -> list[Fiber]:
    found = [fiber]
    for child in fiber.children():
        found.extend(_fibers(child))
    return found


def _complaint(idle: list[Fiber], home: Home) -> Complaint:
    """Return the table, with the causes of a failure first."""
    failed = [fiber for fiber in idle if fiber.error is not None]
    waiting = [fiber for fiber in idle if fiber.error is None]
    width = max(len(fiber.name) for fiber in idle)
    table = [f"{fiber.name:<{width}}  failed   {fiber.error}" for fiber in failed]
    table += [
        f"{fiber.name:<{width}}  waiting  {', '.join(fiber.unsatisfied)}" for fiber in waiting
    ]
    count = f"{len(failed)} plugin{'s' * (len(failed) != 1)} failed, {len(waiting)} wait"
    report = _write_report(failed, table, home)
    hint = "run again with --debug for the details" if report is None else f"full report: {report}"
    shown = table[:_MAX_ROWS] + ["…"] * (len(table) > _MAX_ROWS)
    return Complaint("BOOT", count, (hint,), details=tuple(shown))


def _write_report(failed: list[Fiber], table: list[str], home: Home) -> str | None:
    """Write table and tracebacks to a file that only the user can read; return its path."""
    parts = ["This report may hold values of the configuration.", *table]
    parts += ["".join(traceback.format_exception(fiber.error)) for fiber in failed]
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
