"""The conformance report reads each printed form, finds marks and refuses unknown ids."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from house import spec_report
from house.spec_items import items_of, named_items, read_spec
from house.tree import ROOT, Tree

Build = Callable[[dict[str, str]], Tree]

FORMS = {
    "01-kernel.md": (
        "## 14. Before\n- A99 not this\n## 15. Conformance cases\n- A01 [=] x\n- B07 y\n"
        "## 16. After\n- A98 not this\n"
    ),
    "02-llm.md": "## 17. Conformance list (setup)\n### Blocks\n1. x\n2. y\n10. z\n   12. nested\n",
    "04-loop.md": "## 23. Conformance list\n| # | a |\n|---|---|\n| L1 | x |\n| T12 | 7 | y |\n",
    "05-log.md": "## 16. Conformance list\n| 1★ | x |\n| 29 | y |\n",
    "06-sub.md": "## 20. Compaction conformance\n| A1 | x |\n## 21. B conformance\n| K2 | y |\n",
    "09-apps.md": "## 22. Conformance\nCommand line\nC001 `dsh` -> x\nC014 y\nC1 no\n",
    "00-index.md": "## 1. Documents\n1. none\n",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in FORMS.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


def test_each_printed_form_is_read(folder: Path) -> None:
    assert read_spec(folder) == {
        "01-kernel": ["01-A01", "01-B07"],
        "02-llm": ["02-1", "02-2", "02-10"],
        "04-loop": ["04-L1", "04-T12"],
        "05-log": ["05-1", "05-29"],
        "06-sub": ["06-A1", "06-K2"],
        "09-apps": ["09-C001", "09-C014"],
    }


def test_an_item_printed_twice_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "02-llm.md"
    path.write_text("## 1. Conformance\n1. x\n1. y\n", encoding="utf-8")
    with pytest.raises(ValueError, match="prints 02-1 twice"):
        items_of(path)


def test_marks_are_found_wherever_they_stand(tree_of: Build) -> None:
    text = (
        "import pytest\n"
        'pytestmark = pytest.mark.spec("01-A01")\n'
        '@pytest.mark.spec("01-B07", "05-1★")\n'
        "def test_a(): ...\n"
        'case = pytest.param(1, marks=pytest.mark.spec("02-1"))\n'
        "class TestB:\n"
        "    @pytest.mark.spec(name, *more)\n"
        "    def test_c(self): ...\n"
    )
    named, findings = named_items(
        tree_of({"tests/test_a.py": text, "harness/a/testing.py": text, "harness/b.py": "x = 1\n"})
    )
    assert sorted(named) == ["01-A01", "01-B07", "02-1", "05-1"]
    assert named["01-A01"] == ["tests/test_a.py:2", "harness/a/testing.py:2"]
    assert [finding.line for finding in findings] == [7, 7, 7, 7]


def test_the_report_counts_and_lists_what_no_test_names(folder: Path) -> None:
    report = spec_report.render(read_spec(folder), ["01-A01", "02-1", "09-C001", "09-C014"])
    assert "| 01-kernel | 2 | 1 | 50 % |\n" in report
    assert "| all | 13 | 4 | 30 % |\n" in report
    assert "### 02-llm\n\n02-2, 02-10\n" in report
    assert "### 09-apps\n\nnone\n" in report


def test_items_that_follow_each_other_are_joined() -> None:
    ids = ["01-A01", "01-A02", "01-A03", "01-B04", "01-B06", "01-B07"]
    assert list(spec_report.ranges(ids)) == ["01-A01..03", "01-B04", "01-B06..07"]


def test_an_id_that_does_not_exist_is_named_with_its_places() -> None:
    spec = {"01-kernel": ["01-A01"]}
    named = {"01-A01": ["tests/a.py:1"], "01-A1": ["tests/a.py:2", "tests/b.py:3"]}
    assert spec_report.unknown(spec, named) == [
        "tests/a.py:2, tests/b.py:3: the specification has no item '01-A1'"
    ]


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """Copy the report beside one test, in a folder where the specification may be put."""
    root = tmp_path / "checkout"
    shutil.copytree(ROOT / "scripts" / "house", root / "scripts" / "house")
    test = root / "tests" / "test_a.py"
    test.parent.mkdir()
    test.write_text('@pytest.mark.spec("01-A01")\ndef test_a(): ...\n', encoding="utf-8")
    return root


def report(checkout: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "house.spec_report", *arguments],
        cwd=checkout,
        env=os.environ | {"PYTHONPATH": str(checkout / "scripts")},
        capture_output=True,
        text=True,
        check=False,
    )


def test_without_the_specification_the_report_is_left_alone(checkout: Path) -> None:
    done = report(checkout, "--check")
    assert done.returncode == 0
    assert "skipped" in done.stdout
    assert not (checkout / "docs").exists()


def test_a_report_is_written_once_and_goes_stale(checkout: Path) -> None:
    spec = checkout.parent / "shared" / "spec"
    spec.mkdir(parents=True)
    (spec / "01-kernel.md").write_text(FORMS["01-kernel.md"], encoding="utf-8")
    assert report(checkout, "--check").returncode == 1, "there is no report yet"
    assert report(checkout).returncode == 0
    assert report(checkout, "--check").returncode == 0

    other = checkout / "tests" / "test_b.py"
    other.write_text('@pytest.mark.spec("01-B07")\ndef test_b(): ...\n', encoding="utf-8")
    assert "is stale" in report(checkout, "--check").stderr
    other.write_text('@pytest.mark.spec("01-B08")\ndef test_b(): ...\n', encoding="utf-8")
    done = report(checkout)
    assert done.returncode == 1
    assert done.stderr == "tests/test_b.py:1: the specification has no item '01-B08'\n"
