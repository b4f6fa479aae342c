"""Make the headers and logs that the suite stores."""

from typing import Any

import attrs

from harness.session import Session, SessionEvent, SessionHeader, SessionId

CWD = "/srv/project"


def a_header(session_id: str = "session-a", **fields: Any) -> SessionHeader:
    """Return a header of a session in the suite's directory."""
    header = SessionHeader(id=SessionId(session_id), created_at=1000, cwd=CWD)
    return attrs.evolve(header, **fields)


def a_log(n_turns: int = 1, *, open_turn: bool = False) -> list[SessionEvent]:
    """Return the events of whole turns, and of the first half of one more."""
    session = Session("session-maker", now_ms=lambda: 5000)
    for _ in range(n_turns):
        run_turn(session)
    if open_turn:
        begin_turn(session)
    return list(session.events)


def run_turn(session: Session, *, n_deltas: int = 4) -> None:
    """Append one whole turn with a streamed answer and a tool call."""
    begin_turn(session, n_deltas=n_deltas)
    turn = session.last_turn
    call = {"turn": turn, "step": 1, "callId": f"c{turn}", "name": "tick", "arguments": "{}"}
    session.append("tool/call", call)
    block: dict[str, Any] = {"type": "tool-result", "toolCallId": f"c{turn}", "content": []}
    message = {
        "id": f"r{turn}",
        "role": "user",
        "content": [block],
        "source": {"kind": "tool", "callId": f"c{turn}"},
    }
    result = {"turn": turn, "step": 1, "message": message}
    session.append("tool/result", result, surface_op="append")
    session.append("step/end", {"turn": turn, "step": 1})
    session.append("turn/end", {"turn": turn, "reason": {"kind": "completed"}})


def begin_turn(session: Session, *, n_deltas: int = 4, n_calls: int = 1) -> None:
    """Append a turn up to an assistant message whose calls are not answered yet."""
    turn = session.last_turn + 1
    session.append("turn/start", {"turn": turn, "trigger": {"kind": "message"}})
    prompt = {
        "id": f"u{turn}",
        "role": "user",
        "content": [{"type": "text", "text": "go on: \u2028 ok, 42%"}],
        "source": {"kind": "user"},
    }
    session.append("user/message", prompt, surface_op="append")
    session.append("step/start", {"turn": turn, "step": 1})
    for index in range(n_deltas):
        chunk = {"type": "text-delta", "index": 0, "text": f"word{index} "}
        session.append("assistant/chunk", {"turn": turn, "step": 1, "chunk": chunk})
    ids = [f"c{turn}"] if n_calls == 1 else [f"c{turn}-{number}" for number in range(n_calls)]
    content = [{"type": "tool-call", "id": i, "name": "tick", "arguments": "{}"} for i in ids]
    message = {
        "id": f"a{turn}",
        "role": "assistant",
        "content": content,
        "source": {"kind": "model", "provider": "p", "model": "m"},
    }
    answer = {"turn": turn, "step": 1, "message": message}
    session.append("assistant/message", answer, surface_op="append")


def open_turn(session: Session) -> int:
    """Append nothing but the start of a turn."""
    turn = session.last_turn + 1
    session.append("turn/start", {"turn": turn, "trigger": {"kind": "message"}})
    return turn


def note(session: Session, text: str = "x") -> SessionEvent:
    """Append one small log-only event to the open turn."""
    return session.append("todo/write", {"todos": [{"content": text, "status": "pending"}]})
