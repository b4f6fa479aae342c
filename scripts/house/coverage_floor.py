"""Hold each package to its branch coverage, from the report of `coverage json`."""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

import attrs

from house.tree import ROOT, Tree, package_of

COMPLETE = {
    "vendor_shims.cordis",
    "harness.session",
    "harness.tools",
    "harness.agent",
    "harness_plugins.agent_loop",
}
"""Packages in which every statement and every branch is run by a test."""

FLOOR_PERCENT = 95.0
"""What every other package reaches at least."""


@attrs.define
class Tally:
    """Add up what was there and what was run; statements and branches weigh the same."""

    n_total: int = 0
    n_run: int = 0
    gaps: list[str] = attrs.field(factory=list[str])

    @property
    def percent(self) -> float:
        """Give the covered share; an empty package is complete."""
        return 100.0 * self.n_run / self.n_total if self.n_total else 100.0


def tally(report: dict[str, Any], modules: dict[str, str]) -> dict[str, Tally]:
    """Add up a coverage report per package; `modules` maps file names to import names.

    A file that the report does not have counts as a gap: nobody measured it. Contract suites are
    tests that ship, and have no floor.
    """
    tallies: defaultdict[str, Tally] = defaultdict(Tally)
    for name, module in modules.items():
        if "contract" in module.split("."):
            continue
        entry = tallies[package_of(module)]
        file = report["files"].get(name)
        if file is None:
            entry.n_total += 1
            entry.gaps.append(f"{name}: not measured")
            continue
        summary = file["summary"]
        entry.n_total += summary["num_statements"] + summary["num_branches"]
        entry.n_run += summary["covered_lines"] + summary["covered_branches"]
        if summary["missing_lines"] or summary["missing_branches"]:
            entry.gaps.append(f"{name}: {_gaps(file)}")
    return dict(sorted(tallies.items()))


def shortfalls(tallies: dict[str, Tally]) -> list[str]:
    """Name each package below its floor, and each complete package that is not there."""
    found: list[str] = []
    for package, entry in tallies.items():
        if package in COMPLETE and entry.gaps:
            found.append(f"{package}: {entry.percent:.2f} % of 100 %")
        elif package not in COMPLETE and entry.percent < FLOOR_PERCENT:
            found.append(f"{package}: {entry.percent:.2f} % of {FLOOR_PERCENT:.0f} %")
    found += [f"{package}: no such package" for package in sorted(COMPLETE - tallies.keys())]
    return found


def main() -> int:
    """Print the table of packages and fail when one is below its floor."""
    report = json.loads(Path(sys.argv[1]).read_bytes())
    modules = {file.name: file.module for file in Tree(ROOT).sources()}
    tallies = tally(report, modules)
    for package, entry in tallies.items():
        print(f"{entry.percent:7.2f} %  {package}")
    failed = shortfalls(tallies)
    for line in failed:
        package = line.partition(":")[0]
        print(f"below the floor: {line}", file=sys.stderr)
        for gap in tallies[package].gaps if package in tallies else []:
            print(f"    {gap}", file=sys.stderr)
    return 1 if failed else 0


def _gaps(file: dict[str, Any]) -> str:
    if not file["summary"]["covered_lines"]:
        return "never run"
    # An unrun line explains the branches into and out of it.
    unrun = set(file["missing_lines"])
    branches = [
        f"{start}->{'exit' if end < 0 else end}"
        for start, end in file["missing_branches"]
        if start not in unrun and end not in unrun
    ]
    return ", ".join([*_ranges(file["missing_lines"]), *branches])


def _ranges(numbers: list[int]) -> Iterator[str]:
    """Join numbers that follow each other: 3, 4, 5 become `3-5`."""
    pairs = enumerate(numbers)
    for _, run in groupby(pairs, key=lambda pair: pair[1] - pair[0]):
        members = [number for _, number in run]
        yield str(members[0]) if len(members) == 1 else f"{members[0]}-{members[-1]}"


if __name__ == "__main__":
    sys.exit(main())
