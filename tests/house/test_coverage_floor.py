"""The coverage floors add up packages and name the ones that fall short."""

from __future__ import annotations

from typing import Any

from house.coverage_floor import COMPLETE, shortfalls, tally

MODULES = {
    "harness/session/__init__.py": "harness.session",
    "harness/session/log.py": "harness.session.log",
    "harness/fs/policy.py": "harness.fs.policy",
    "harness/errors.py": "harness.errors",
}


def entry(*, lines: list[int] | None = None, branches: list[list[int]] | None = None) -> Any:
    missing_lines, missing_branches = lines or [], branches or []
    return {
        "summary": {
            "num_statements": 30,
            "num_branches": 10,
            "covered_lines": 30 - len(missing_lines),
            "covered_branches": 10 - len(missing_branches),
            "missing_lines": len(missing_lines),
            "missing_branches": len(missing_branches),
        },
        "missing_lines": missing_lines,
        "missing_branches": missing_branches,
    }


def test_a_complete_package_may_miss_no_branch() -> None:
    files = {
        "harness/session/__init__.py": entry(),
        "harness/session/log.py": entry(branches=[[3, -1], [4, 6]]),
    }
    tallies = tally({"files": files}, MODULES)
    assert tallies["harness.session"].gaps == ["harness/session/log.py: 3->exit, 4->6"]
    assert "harness.session: 97.50 % of 100 %" in shortfalls(tallies)


def test_another_package_may_miss_one_part_in_twenty() -> None:
    files = {
        "harness/fs/policy.py": entry(lines=[1, 2]),
        "harness/errors.py": entry(lines=[1, 2, 3]),
        "somewhere/else.py": entry(lines=[1]),
    }
    modules = {name: module for name, module in MODULES.items() if name in files}
    tallies = tally({"files": files}, modules)
    assert list(tallies) == ["harness.errors", "harness.fs"]
    assert "harness.errors: 92.50 % of 95 %" in shortfalls(tallies)
    assert not any("harness.fs" in line for line in shortfalls(tallies))


def test_a_file_that_nobody_measured_is_a_gap() -> None:
    tallies = tally({"files": {}}, {"harness/session/log.py": "harness.session.log"})
    assert tallies["harness.session"].gaps == ["harness/session/log.py: not measured"]
    assert "harness.session: 0.00 % of 100 %" in shortfalls(tallies)


def test_a_contract_suite_has_no_floor() -> None:
    assert tally({"files": {}}, {"harness/a/contract/b.py": "harness.a.contract.b"}) == {}


def test_gaps_are_told_in_ranges_without_what_follows_from_them() -> None:
    files = {"harness/errors.py": entry(lines=[3, 4, 5, 9], branches=[[2, 3], [5, 7], [7, 8]])}
    tallies = tally({"files": files}, {"harness/errors.py": "harness.errors"})
    assert tallies["harness.errors"].gaps == ["harness/errors.py: 3-5, 9, 7->8"]


def test_a_complete_package_that_is_not_there_is_named() -> None:
    assert shortfalls({}) == [f"{package}: no such package" for package in sorted(COMPLETE)]
