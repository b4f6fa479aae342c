"""Decide the next tool call for a task: a function of the request alone."""

import re
import shlex
from collections.abc import Iterator
from typing import Any

from attrs import frozen

from harness_plugins.llm_offline.intents import Intent
from harness_plugins.llm_offline.situation import Situation

MAX_STEPS = 6
_README = re.compile(r"(?<![\w./-])(README(?:\.(?:md|rst|txt))?)(?![\w.])", re.IGNORECASE)
_MANIFEST = re.compile(
    r"(?<![\w./-])(pyproject\.toml|package\.json|Cargo\.toml|go\.mod|pom\.xml|setup\.cfg|Makefile)"
    r"(?![\w.])"
)


@frozen
class ToolMove:
    """Call a tool that is offered, with the sentence that introduces it."""

    tool: str
    arguments: dict[str, Any]
    lead: str


def next_move(intent: Intent, situation: Situation) -> ToolMove | None:
    """Return the next call, or `None` when it is time to answer."""
    done = len(situation.exchanges)
    if situation.n_steps >= MAX_STEPS or done < situation.n_steps:
        return None
    for number, choices in enumerate(_wanted(intent, situation)):
        if number == done:
            return _first_offered(choices, situation)
    return None


def _wanted(intent: Intent, situation: Situation) -> Iterator[list[ToolMove]]:
    """Yield the calls of a task in order, each as a list of equivalents."""
    subject = intent.subject
    if intent.kind == "run":
        yield [_bash(subject, f"Running `{subject}`.")]
    elif intent.kind == "write":
        arguments = {"file_path": subject, "content": intent.text}
        yield [ToolMove("write", arguments, f"Writing {subject}.")]
    elif intent.kind == "read":
        yield _read(subject)
    elif intent.kind == "find":
        grep = {"pattern": re.escape(subject)}
        command = f"grep -rnF -e {shlex.quote(subject)} ."
        lead = f"Searching for {subject!r}."
        yield [ToolMove("grep", grep, lead), _bash(command, lead)]
    elif intent.kind == "list":
        yield _list()
    elif intent.kind == "summarize":
        yield from _survey(situation)
    elif intent.kind in _DEMONSTRATIONS:
        yield [_DEMONSTRATIONS[intent.kind]]


def _survey(situation: Situation) -> Iterator[list[ToolMove]]:
    yield _list()
    listing = situation.exchanges[0].text if situation.exchanges else ""
    for pattern in (_README, _MANIFEST):
        match = pattern.search(listing)
        if match is not None:
            yield _read(match[1])


def _list() -> list[ToolMove]:
    lead = "Looking at the files here."
    return [_bash("ls -la", lead), ToolMove("glob", {"pattern": "*"}, lead)]


def _read(path: str) -> list[ToolMove]:
    lead = f"Reading {path}."
    return [ToolMove("read", {"file_path": path}, lead), _bash(f"cat -- {shlex.quote(path)}", lead)]


def _bash(command: str, lead: str) -> ToolMove:
    return ToolMove("bash", {"command": command, "description": lead.rstrip(".")[:80]}, lead)


_DEMONSTRATIONS = {
    "todo": ToolMove(
        "todo_write",
        {
            "todos": [
                {"content": "Read the request", "status": "completed"},
                {"content": "Show how a list of tasks looks", "status": "in_progress"},
                {"content": "Answer", "status": "pending"},
            ]
        },
        "Writing a list of tasks.",
    ),
    "plan": ToolMove(
        "exit_plan_mode",
        {"plan": "# Try the harness\n\n1. List the files.\n2. Read one.\n3. Run a command.\n"},
        "Proposing a plan.",
    ),
    "ask": ToolMove(
        "ask_user_question",
        {
            "questions": [
                {
                    "id": "next",
                    "question": "What shall I show next?",
                    "options": [{"label": "Listing files"}, {"label": "Running a command"}],
                }
            ]
        },
        "Asking a question.",
    ),
}


def _first_offered(choices: list[ToolMove], situation: Situation) -> ToolMove | None:
    for move in choices:
        known = situation.tools.get(move.tool)
        if known is not None:
            fitting = {k: v for k, v in move.arguments.items() if k in known or not known}
            return ToolMove(move.tool, fitting, move.lead)
    return None
