"""What became of the rows of a tree: which run, which failed, and what the others wait for."""

from __future__ import annotations

import linecache
import re
import traceback
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from vendor_shims.cordis import FiberState

if TYPE_CHECKING:
    from vendor_shims.loader.entry import Entry
    from vendor_shims.loader.entry_tree import EntryTree

_GUARD = re.compile(r"\s*guard\b[^=]*=\s*True\b")

Condition: TypeAlias = Literal["active", "failed", "waiting", "disabled"]


class RowReport(NamedTuple):
    """How one row stands.

    Attributes:
        entry: the row.
        condition: `waiting` also covers a row that has not come to rest.
        error: why it failed.
        missing: the services it waits for, each with the reason.
    """

    entry: Entry
    condition: Condition
    error: BaseException | None = None
    missing: tuple[tuple[str, str], ...] = ()

    @property
    def is_guard(self) -> bool:
        """Whether the plugin protects something and must never be left out silently.

        Of a module that raised while it was imported its source says it.
        """
        if self.entry.plugin is None and self.error is not None:
            return any(map(_says_guard, _modules_of(self.error)))
        return bool(getattr(self.entry.plugin, "guard", False))

    @property
    def reason(self) -> str:
        """One line: the error, the missing services, or that it has not come to rest."""
        if self.error is not None:
            return str(self.error)
        if self.condition == "waiting" and not self.missing:
            return "its own start, which has not ended"
        return ", ".join(f"{name} ({why})" for name, why in self.missing)


def audit(tree: EntryTree) -> list[RowReport]:
    """Return a report of every row of a tree and of the trees in it, in their order."""
    return [_report(entry) for entry in tree.entries()]


def required(reports: list[RowReport], seeds: list[str]) -> list[RowReport]:
    """Return the rows that must run: the seeds, guards, and what any of these injects.

    Args:
        reports: all rows.
        seeds: ids of rows, as `Entry.id` has them.
    """
    by_service = {name: report for report in reports for name in _provided(report.entry)}
    todo = [report for report in reports if report.entry.id in seeds or report.is_guard]
    found: dict[str, RowReport] = {}
    while todo:
        report = todo.pop()
        if report.entry.path in found or report.condition == "disabled":
            continue
        found[report.entry.path] = report
        fiber = report.entry.fiber
        needs = [] if fiber is None else [n for n, spec in fiber.inject.items() if spec.required]
        todo.extend(by_service[name] for name in needs if name in by_service)
    return [report for report in reports if report.entry.path in found]


def _report(entry: Entry) -> RowReport:
    fiber = entry.fiber
    if entry.failure is not None:
        return RowReport(entry, "failed", entry.failure.__cause__ or entry.failure)
    if fiber is None:
        return RowReport(entry, "disabled")
    if fiber.error is not None:
        return RowReport(entry, "failed", fiber.error)
    if fiber.state is FiberState.ACTIVE:
        return RowReport(entry, "active")
    return RowReport(entry, "waiting", missing=tuple(fiber.unsatisfied.items()))


def _modules_of(error: BaseException) -> list[str]:
    """Return the files whose import ended in an error."""
    frames = traceback.extract_tb(error.__traceback__)
    files = [frame.filename for frame in frames if frame.name == "<module>"]
    if isinstance(error, SyntaxError) and error.filename is not None:
        files.append(error.filename)
    return files


def _says_guard(file: str) -> bool:
    return any(map(_GUARD.match, linecache.getlines(file)))


def _provided(entry: Entry) -> tuple[str, ...]:
    """Return the services of a row: what it provides now, else what its plugin declares."""
    fiber = entry.fiber
    if fiber is None:
        return ()
    return (
        *(realm.name for realm in fiber.bindings),
        *(() if fiber.runtime is None else fiber.runtime.provides),
    )
