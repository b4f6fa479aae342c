"""Print the performance table: `python -m benchmarks [SUITE ...] [--quick] [--json FILE]`.

A suite is a module of this folder with `async def rows(meter) -> AsyncIterator[Row]`. Every figure
is scaled CPU time (see `measure.py`) beside its floor and its budget. A budget that was set beside
a floor counts relative to it, so that another machine judges by the ratio.
"""

from __future__ import annotations

import argparse
import asyncio
import importlib
import importlib.util
import sys
from collections.abc import AsyncIterator, Callable

import attrs

from benchmarks.measure import CALIBRATION_MS, Meter, Row, calibrate
from harness.wire import dumps

SUITES = ("kernel", "session", "loop", "composition", "reload", "startup")
QUICK = 0.1
COLUMNS = "{:<34} {:>11} {:>11} {:>7} {:>11} {:<4} {}"


def main() -> None:
    """Run the chosen suites one after another and print each line as soon as it is known."""
    there = [name for name in SUITES if importlib.util.find_spec(f"benchmarks.{name}")]
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("suites", nargs="*", metavar="SUITE", help=f"of {', '.join(there)}; all")
    parser.add_argument("--quick", action="store_true", help="a tenth of the operations")
    parser.add_argument("--json", metavar="FILE", help="also write one JSON object a line")
    options = parser.parse_args()
    unknown = sorted(set(options.suites) - set(there))
    if unknown:
        parser.error(f"no such suite: {', '.join(unknown)}; there are {', '.join(there)}")
    meter = Meter(scale=QUICK if options.quick else 1.0)
    found: list[tuple[str, Row]] = []
    here_ms = min(calibrate() for _ in range(9))
    print(
        f"calibration: {here_ms:.2f} ms here, {CALIBRATION_MS} ms on the reference machine,"
        f" so that CPU times are scaled by {CALIBRATION_MS / here_ms:.2f}"
    )
    print(COLUMNS.format("scenario", "ours", "floor", "ratio", "budget", "unit", "").rstrip())
    for name in options.suites or there:
        rows = importlib.import_module(f"benchmarks.{name}").rows
        found += [(name, row) for row in asyncio.run(printed(rows, meter))]
    if options.json:
        with open(options.json, "wb") as file:
            for name, row in found:
                file.write(dumps({"suite": name, **attrs.asdict(row)}) + b"\n")
    over = [row.name for _, row in found if row.is_over]
    print(f"{len(found)} scenarios, {len(over)} over budget{': ' if over else ''}{', '.join(over)}")


async def printed(rows: Callable[[Meter], AsyncIterator[Row]], meter: Meter) -> list[Row]:
    """Print the rows of one suite and return them."""
    done: list[Row] = []
    async for row in rows(meter):
        done.append(row)
        budget = None if row.budget is None else row.budget.limit
        cells = [figure(row.ours), figure(row.floor), figure(row.ratio), figure(budget)]
        print(COLUMNS.format(row.name, *cells, row.unit, row.remark).rstrip())
        sys.stdout.flush()
    return done


def figure(value: float | None) -> str:
    """Return a number with three significant digits, or a dash."""
    if value is None:
        return "-"
    digits = 3 if value < 1 else 2 if value < 10 else 1 if value < 100 else 0
    return f"{value:,.{digits}f}"


if __name__ == "__main__":
    main()
