"""Summarise a stored session in one row."""

import time
from typing import Any

import attrs

from harness.agent import fold_turns
from harness.errors import HarnessError
from harness.session import REQUEST_HEADER, USER_MESSAGE, SessionEvent
from harness.session_persistence import SessionPersistence, SessionSnapshot, StoredSession
from harness_plugins.launcher.ending import message_text
from harness_plugins.launcher.shown_text import clipped, one_line

MAX_READ_BYTES = 16 * 1024 * 1024
"""Larger logs are listed by their header alone."""

_MAX_TITLE = 200


@attrs.frozen(kw_only=True)
class SessionRow:
    """Describe a session; what only its log tells is None when the log was not read.

    Times are in milliseconds since the epoch. `state` is `idle`, `open` (a process writes it),
    `interrupted` (its last turn is closed when it is resumed), or `unreadable` with a `problem`.
    """

    id: str
    state: str
    title: str | None = None
    cwd: str | None = None
    model: str | None = None
    turns: int | None = None
    created_ms: int | None = None
    updated_ms: int | None = None
    size_bytes: int | None = None
    problem: str | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the row for programs, always with the same members."""
        return {
            "id": self.id,
            "title": self.title,
            "cwd": self.cwd,
            "model": self.model,
            "turns": self.turns,
            "createdAt": self.created_ms,
            "updatedAt": self.updated_ms,
            "state": self.state,
            "sizeBytes": self.size_bytes,
            "problem": self.problem,
        }


async def read_row(persistence: SessionPersistence, snapshot: SessionSnapshot) -> SessionRow:
    """Return the row of a session; damage becomes its state, not an error."""
    header = snapshot.header
    if header is None:
        return SessionRow(
            id=snapshot.id,
            state="unreadable",
            size_bytes=snapshot.size_bytes,
            problem=snapshot.problem,
        )
    row = SessionRow(
        id=snapshot.id,
        state="idle",
        cwd=header.cwd,
        created_ms=header.created_at,
        size_bytes=snapshot.size_bytes,
    )
    if (snapshot.size_bytes or 0) > MAX_READ_BYTES:
        return row
    try:
        stored = await persistence.inspect(snapshot.id)
    except HarnessError as error:
        return attrs.evolve(row, state="unreadable", problem=str(error))
    return attrs.evolve(
        row,
        state=state_of(stored),
        title=_title(stored.events),
        model=_model(stored.events),
        turns=len(fold_turns(stored.events)),
        updated_ms=stored.events[-1].time if stored.events else header.created_at,
    )


def state_of(stored: StoredSession) -> str:
    """Return whether somebody writes the session now, and whether its last turn is complete."""
    if stored.lease != "free":
        return "open"
    return "interrupted" if stored.closers else "idle"


def table(rows: list[SessionRow], *, with_cwd: bool, width: int) -> str:
    """Return rows for people, one line each."""
    lines: list[str] = []
    for row in rows:
        turns = "? turns" if row.turns is None else f"{row.turns} turn{'s' * (row.turns != 1)}"
        facts = [row.id, _when(row.updated_ms or row.created_ms), turns, row.state]
        if with_cwd:
            facts.append(row.cwd or "-")
        facts.append(row.problem or row.title or "")
        lines.append(clipped("  ".join(map(one_line, facts)), width) + "\n")
    return "".join(lines)


def _when(time_ms: int | None) -> str:
    if time_ms is None:
        return "-" * 16
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(time_ms / 1000))


def _title(events: tuple[SessionEvent, ...]) -> str | None:
    first = next((event for event in events if event.type == USER_MESSAGE), None)
    return None if first is None else clipped(one_line(message_text(first.data)), _MAX_TITLE)


def _model(events: tuple[SessionEvent, ...]) -> str | None:
    last = next((event for event in reversed(events) if event.type == REQUEST_HEADER), None)
    if last is None:
        return None
    config = last.data["header"]["config"]
    return f"{config['provider']}/{config['model']}"
