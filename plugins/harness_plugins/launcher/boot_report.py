"""Say which rows do not run, why, where that is written, and what to do about it."""

import os
import time
import traceback
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from harness.errors import HarnessError
from harness.launch import Home
from harness_plugins.launcher.complaint import Complaint
from harness_plugins.launcher.raised import place_raised
from vendor_shims.cordis import CordisError, ValidationError, error_text
from vendor_shims.include import Composed, Supplier
from vendor_shims.loader import (
    Entry,
    InvalidEntry,
    PluginNotFound,
    RowReport,
    unknown,
)

_MAX_ROWS: Final = 12
_CHECK: Final = "every problem with its place: dsh config check"


class BootReport:
    """Knows the rows of a boot and the layers that they come from."""

    def __init__(self, composed: Composed, home: Home) -> None:
        self._composed = composed
        self._home = home

    def invalid(self, error: BaseException) -> Complaint:
        """Return the complaint about rows of which none could be mounted."""
        supplier = None
        if isinstance(error, InvalidEntry) and error.entry_id is not None:
            supplier = self._composed.supplier(error.entry_id, *error.keys)
        return Complaint("CONFIG_INVALID", self._located(str(error), supplier), (_CHECK,))

    def complaint(self, broken: Sequence[RowReport], idle: Sequence[RowReport]) -> Complaint:
        """Return the table of a boot that ends, with the causes of a failure first.

        Args:
            broken: the rows that must run and do not.
            idle: all rows that should run and do not.
        """
        failed = [one for one in idle if one.condition == "failed"]
        waiting = [one for one in idle if one.condition == "waiting"]
        width = max(len(_id(one.entry)) for one in idle)
        table = [f"{_id(one.entry):<{width}}  failed   {self._reason(one)}" for one in failed]
        for one in waiting:
            names = ", ".join(name for name, _ in one.missing) or one.reason
            table.append(f"{_id(one.entry):<{width}}  waiting  {names}")
        count = f"{len(failed)} plugin{'s' * (len(failed) != 1)} failed, {len(waiting)} wait"
        report = self._written(failed, table)
        hint = "run again with --debug for the details"
        if report is not None:
            hint = f"full report: {report}"
        if len(broken) == len(failed) == 1 and isinstance(broken[0].error, PluginNotFound):
            sentence = f"row {_id(broken[0].entry)}: {self._reason(broken[0])}"
            hints = ("to install it: dsh plugin add DISTRIBUTION", hint)
            return Complaint("PLUGIN_NOT_FOUND", sentence, hints)
        shown = table[:_MAX_ROWS] + ["…"] * (len(table) > _MAX_ROWS)
        return Complaint("BOOT", count, (_CHECK, hint), details=tuple(shown))

    def notes(self, reports: Sequence[RowReport], idle: Sequence[RowReport]) -> Iterator[str]:
        """Return a line for each row option without meaning and each row that does not run."""
        for report in reports:
            for key in unknown(report.entry.options):
                text = f"{_id(report.entry)}: the option {key} means nothing"
                yield self._located(text, self._supplier(report.entry, key))
            if report.entry.ignores_config:
                text = f"{_id(report.entry)}: its plugin takes no config"
                yield self._located(text, self._supplier(report.entry, "config"))
        for report in idle:
            if report.condition == "failed":
                yield f"{_id(report.entry)} does not run: {self._reason(report)}"
            else:
                text = f"{_id(report.entry)} does not run: it waits for {report.reason}"
                yield self._located(text, self._supplier(report.entry))
        if any(":" not in _id(one.entry) for one in idle):
            yield "to leave such a row out: --disable ID, or `disabled: true` in a patch of yours"
        elif idle:
            yield "to leave such a row out: `disabled: true` in its file"

    def _reason(self, report: RowReport) -> str:
        """Return what failed, and the file and line or the option that say so."""
        error, entry = report.error, report.entry
        assert error is not None  # it failed
        if isinstance(error, ValidationError):
            issue = error.issues[0]
            path = ".".join(map(str, ("config", *issue.path)))
            more = f" and {len(error.issues) - 1} more" if len(error.issues) > 1 else ""
            supplier = self._supplier(entry, "config", *issue.path)
            return self._located(f"{path}: {issue.message}{more}", supplier)
        return self._located(self._said(error), self._supplier(entry, "name"))

    def _supplier(self, entry: Entry, *keys: str | int) -> Supplier | None:
        """Return who wrote a row or a value in it; if no file did, who wrote the include of it."""
        around = entry.tree.entry
        if around is None or around.tree.entry is None:
            return self._composed.supplier(entry.id, *keys)
        place = entry.tree.place(entry.id, *keys)
        return self._supplier(around) if place is None else Supplier("", place)

    def _said(self, error: BaseException) -> str:
        """Return an error in one line; one of foreign code with its type and where it came from."""
        text = error_text(error).partition("\n")[0]
        if isinstance(error, HarnessError | CordisError):
            return text
        if isinstance(error, SyntaxError):
            text = error.msg  # the rest of it is the place
        named = f"{type(error).__name__}: {text}" if text else type(error).__name__
        place = place_raised(error)
        if place is None:
            return named
        file, line = place
        return f"{named}, raised at {self._home.display(Path(file))}:{line}"

    def _located(self, text: str, supplier: Supplier | None) -> str:
        if supplier is None:
            return text
        place = supplier.place
        if place is None or place.file is None:
            return f"{text}   ({supplier.layer})"
        return f"{text}   ({self._home.display(Path(place.file))}:{place.line})"

    def _written(self, failed: Sequence[RowReport], table: Sequence[str]) -> str | None:
        """Write table and tracebacks to a file that only the user can read; return its path."""
        parts = ["This report may hold values of the configuration.", *table]
        parts += ["".join(traceback.format_exception(one.error)) for one in failed]
        now = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
        logs = self._home.logs
        path = logs / f"boot-{now}-{os.getpid()}.log"
        try:
            logs.mkdir(mode=0o700, parents=True, exist_ok=True)
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with open(descriptor, "w", encoding="utf-8", errors="replace") as file:
                file.write("\n\n".join(parts) + "\n")
        except OSError:
            return None  # the table on stderr says the same in short
        return self._home.display(path)


def _id(entry: Entry) -> str:
    """Return the id of a row, after those of the includes that it stands in."""
    return entry.path.partition(":")[2] or entry.path
