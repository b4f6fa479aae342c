"""Keep tool results next to their calls, as providers demand."""

from collections.abc import Iterable, Sequence

from harness.llm import Message, TextBlock, ToolCallBlock, ToolResultBlock, tool_source
from harness.session.event_types import ASSISTANT_MESSAGE, TOOL_RESULT
from harness.session.session import Session

MISSING_RESULT_TEXT = (
    "Error: no result of this tool call was recorded. Treat its outcome as unknown and check"
    " external state before you repeat it."
)


def repair_tool_adjacency(messages: list[Message]) -> list[Message]:
    """Return a history in which each call is followed directly by its one result.

    A later result moves behind its call, a second one and one without a call are dropped, and a
    call without one gets an error result. Idempotent; a history that conforms is returned as the
    same list. Meant for hand-built and foreign histories: a live session always conforms.
    """
    results: dict[str, Message] = {}
    for message in messages:
        call_id = _answers(message)
        if call_id is not None:
            results.setdefault(call_id, message)
    repaired: list[Message] = []
    placed: set[str] = set()
    for message in messages:
        if _answers(message) is not None:
            continue
        repaired.append(message)
        for call in _calls(message):
            if call.id not in placed:
                placed.add(call.id)
                repaired.append(results.get(call.id) or _missing(call.id))
    is_same = len(repaired) == len(messages) and all(
        one is other for one, other in zip(repaired, messages, strict=True)
    )
    return messages if is_same else repaired


def safe_cut_points(session: Session) -> tuple[int, ...]:
    """Return the surface positions at which no call is cut from its result.

    Position p is safe when no assistant message before p has a call whose result stands at or
    behind p; 0 and the length of the surface are positions too.
    """
    events = session.events
    open_calls: set[str] = set()
    points: list[int] = []
    nodes = session.surface.nodes
    for position, seq in enumerate(nodes):
        if not open_calls:
            points.append(position)
        event = events[seq]
        message = session.derive_event_message(event)
        if message is None:
            continue
        if event.type == ASSISTANT_MESSAGE:
            open_calls.update(call.id for call in _calls(message))
        elif event.type == TOOL_RESULT:
            open_calls.discard(_answers(message) or "")
    if not open_calls:
        points.append(len(nodes))
    return tuple(points)


def _calls(message: Message) -> Iterable[ToolCallBlock]:
    if message.role != "assistant":
        return ()
    return [block for block in message.content if isinstance(block, ToolCallBlock)]


def _answers(message: Message) -> str | None:
    blocks: Sequence[object] = message.content
    if message.role == "user" and len(blocks) == 1 and isinstance(blocks[0], ToolResultBlock):
        return blocks[0].tool_call_id
    return None


def _missing(call_id: str) -> Message:
    result = ToolResultBlock(call_id, (TextBlock(MISSING_RESULT_TEXT),), is_error=True)
    return Message(f"missing-tool-result-{call_id}", "user", (result,), tool_source(call_id))
