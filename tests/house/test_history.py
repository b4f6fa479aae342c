"""Notes and changelog fragments have the form that their READMEs describe."""

from __future__ import annotations

import re

from house.tree import ROOT

MAX_NOTE_LINES = 60
HEADINGS = ["Context", "Decision", "Consequences", "Alternatives"]


def test_notes_are_numbered_short_and_complete() -> None:
    notes = sorted((ROOT / "docs" / "notes").glob("*.md"))
    wrong: list[str] = []
    for path in notes:
        if path.name == "README.md":
            continue
        text = path.read_text(encoding="utf-8")
        if not re.fullmatch(r"\d{4}-[a-z0-9-]+\.md", path.name):
            wrong.append(f"{path.name}: name it NNNN-title.md")
        if text.count("\n") > MAX_NOTE_LINES:
            wrong.append(f"{path.name}: longer than {MAX_NOTE_LINES} lines")
        if re.findall(r"^## (.+)$", text, re.MULTILINE) != HEADINGS:
            wrong.append(f"{path.name}: its sections are {', '.join(HEADINGS)}")
        if not re.search(r"^- Status: (proposed|accepted|superseded by \[)", text, re.MULTILINE):
            wrong.append(f"{path.name}: state its status")
    numbers = [path.name[:4] for path in notes if path.name != "README.md"]
    assert wrong == []
    assert len(set(numbers)) == len(numbers), "a number is used once"


def test_fragments_are_named_by_their_kind() -> None:
    names = {path.name for path in (ROOT / "changelog.d").iterdir()} - {"README.md"}
    wrong = [
        name
        for name in names
        if not re.fullmatch(r"[\w-]+\.(added|changed|fixed|removed)\.md", name)
    ]
    assert wrong == []
