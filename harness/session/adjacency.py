"""Keep tool results next to their calls, as providers demand."""

from collections.abc import Iterable, Sequence

from harness.llm import Message, TextBlock, ToolCallBlock, ToolResultBlock, tool_source
from harness.session.event import SessionEvent
from harness.session.session import Session

MISSING_RESULT_TEXT = (
    "Error: no result of this tool call was recorded. Treat its outcome as unknown and check"
    " external state before you repeat it."
)


def repair_tool_adjacency(messages: list[Message]) -> list[Message]:
    """Return a history in which each call is followed directly by its one result.

    A later result moves behind its call, a second one and one without an earlier call are dropped,
    and a call without one gets an error result. Idempotent; a history that conforms is returned as
    the same list. Meant for hand-built and foreign histories: a live session always conforms.
    """
    pairs = _pair(messages)
    repaired: list[Message] = []
    for position, message in enumerate(messages):
        if _answers(message) is not None:
            continue
        repaired.append(message)
        for call_id, at in pairs.get(position, ()):
            repaired.append(_missing(call_id) if at is None else messages[at])
    is_same = len(repaired) == len(messages) and all(
        one is other for one, other in zip(repaired, messages, strict=True)
    )
    return messages if is_same else repaired


def safe_cut_points(session: Session) -> tuple[int, ...]:
    """Return the surface positions at which no call is cut from its result.

    Position p is safe when no assistant message before p has a call whose result stands, or is
    still to come, at or behind p; 0 and the length of the surface are positions too.
    """
    nodes = session.surface.nodes
    events = [session.event(seq) for seq in nodes]
    pairs = _pair([session.derive_event_message(event) for event in events])
    reach = -1  # the last position that a call already passed has made unsafe
    points: list[int] = []
    for position in range(len(nodes) + 1):
        if reach < position:
            points.append(position)
        for _, at in pairs.get(position, ()):
            if at is not None:
                reach = max(reach, at)
            elif _is_running(session, events[position]):
                reach = len(nodes)
    return tuple(points)


def _is_running(session: Session, event: SessionEvent) -> bool:
    place = (event.data["turn"], event.data["step"])
    return place == (session.open_turn, session.open_step)


def _pair(messages: Sequence[Message | None]) -> dict[int, list[tuple[str, int | None]]]:
    """Return, by the position of each message with calls, their ids and their results' positions.

    A result answers the newest message before it that calls its id; models use ids again.
    """
    answers: dict[int, list[tuple[str, int | None]]] = {}
    waiting: dict[str, tuple[int, list[int]]] = {}
    for position, message in enumerate(messages):
        if message is None:
            continue
        calls = [call.id for call in _calls(message)]
        if calls:
            answers[position] = [(call_id, None) for call_id in calls]
            for call_id in calls:
                waiting[call_id] = (position, [])
            for index, call_id in enumerate(calls):
                waiting[call_id][1].append(index)
        call_id = _answers(message)
        if call_id is not None and call_id in waiting:
            asked, indices = waiting[call_id]
            if indices:
                answers[asked][indices.pop(0)] = (call_id, position)
    return answers


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
