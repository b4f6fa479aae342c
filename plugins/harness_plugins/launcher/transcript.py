"""Write a session log as a text that people read."""

from collections.abc import Iterable, Iterator

from harness.session import (
    ASSISTANT_MESSAGE,
    STEERING_MESSAGE,
    TOOL_CALL,
    TOOL_RESULT,
    TURN_END,
    USER_MESSAGE,
    SessionEvent,
)
from harness_plugins.launcher.ending import message_text
from harness_plugins.launcher.shown_text import clipped, one_line, printable

_LINE_WIDTH = 120


def transcript(events: Iterable[SessionEvent]) -> str:
    """Return what was said and done, oldest first; tools in one line each."""
    return "".join(_lines(events))


def _lines(events: Iterable[SessionEvent]) -> Iterator[str]:
    for event in events:
        if event.type in (USER_MESSAGE, STEERING_MESSAGE):
            yield _paragraph("> ", message_text(event.data))
        elif event.type == ASSISTANT_MESSAGE:
            text = message_text(event.data["message"])
            if text:
                yield _paragraph("", text)
        elif event.type == TOOL_CALL:
            yield _short(f"→ {event.data['name']} {event.data['arguments']}")
        elif event.type == TOOL_RESULT and event.surface_op == "append":
            yield _result(event)
        elif event.type == TURN_END and event.data["reason"]["kind"] != "completed":
            yield _end(event)


def _paragraph(mark: str, text: str) -> str:
    lines = printable(text).rstrip("\n").split("\n")
    return "".join(f"{mark}{line}".rstrip() + "\n" for line in lines) + "\n"


def _result(event: SessionEvent) -> str:
    """Return the first line of what a failed tool said; a success needs no words."""
    block = event.data["message"]["content"][0]
    if not block.get("isError"):
        return ""
    texts = [part["text"] for part in block["content"] if "text" in part]
    return "  " + _short(f"failed: {' '.join(texts)}")


def _end(event: SessionEvent) -> str:
    reason = event.data["reason"]
    message = f": {reason['message']}" if "message" in reason else ""
    return _short(f"(the turn ended: {reason['kind']}{message})") + "\n"


def _short(text: str) -> str:
    return clipped(one_line(text), _LINE_WIDTH) + "\n"
