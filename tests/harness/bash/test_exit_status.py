from __future__ import annotations

import pytest

from harness.bash import format_exit_status, parse_exit_status
from harness.subprocess import ProcessExit


@pytest.mark.parametrize(
    ("ended", "marker"),
    [
        (ProcessExit(0, None), "[exit code: 0]"),
        (ProcessExit(255, None), "[exit code: 255]"),
        (ProcessExit(None, "SIGKILL"), "[killed by signal: SIGKILL]"),
        (ProcessExit(None, "SIG40"), "[killed by signal: SIG40]"),
    ],
)
def test_markers_are_read_as_they_are_written(ended: ProcessExit, marker: str) -> None:
    assert format_exit_status(ended) == marker
    assert parse_exit_status(f"output\n{marker}") == ended
    assert parse_exit_status(f"{marker}\n") == ended


@pytest.mark.spec("07-70")
def test_only_the_last_line_counts() -> None:
    assert parse_exit_status("[exit code: 0]\n[exit code: 7]") == ProcessExit(7, None)
    assert parse_exit_status("[exit code: 0]\nmore") is None
    assert parse_exit_status("x [exit code: 0]") is None
    assert parse_exit_status("") is None


def test_an_unknown_end_has_a_marker_of_its_own() -> None:
    assert format_exit_status(ProcessExit(None, None)) == "[exit status unknown]"
    assert parse_exit_status("[exit status unknown]") is None
