"""Name the shapes that logs of tests take, and make what listeners put into them."""

from collections.abc import Callable
from typing import Any

import anyio

from harness.agent.decisions import ContextItem
from harness.llm import create_user_message
from harness.session import Replace, Session

NO_TODOS: dict[str, Any] = {"todos": []}
PLUGIN = {"kind": "plugin", "plugin": "watcher"}
ONE_STEP = [
    "turn/start",
    "user/message",
    "step/start",
    "request/header",
    "request/context",
    "assistant/message",
    "step/end",
    "turn/end",
]
NEXT_STEP = ["step/start", "assistant/message", "step/end"]
CALL = ["tool/call", "tool/result"]
CLOSED = ["step/end", "turn/end"]
USER = {"kind": "aborted", "reason": {"kind": "user"}}


def note(text: str) -> ContextItem:
    """Return a message that a listener wants in the log."""
    return ContextItem(create_user_message(text, source=PLUGIN))


def replace_all(session: Session, text: str) -> None:
    """Put a summary in the place of the whole surface, as a compaction does."""
    nodes = session.surface.nodes
    session.append(
        "user/message",
        create_user_message(text, source=PLUGIN).to_json(),
        surface_op=Replace(nodes[0], nodes[-1]),
        source_event_seqs=nodes,
    )


def answering(*, answer: bool) -> Callable[[object], bool]:
    """Return a classifier that says the same of all arguments."""
    return lambda _args: answer


async def hang() -> Any:  # noqa: ANN401 - whatever the caller would return
    """Wait until somebody cancels it; stands where a value would be returned."""
    return await anyio.sleep_forever()
