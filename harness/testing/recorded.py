"""Record what a mock server has received and what became of it."""

from typing import Any, Literal, TypeAlias

import attrs

from harness.wire import loads

Outcome: TypeAlias = Literal[
    "pending", "completed", "reset", "stalled", "client_closed", "server_error"
]


@attrs.frozen
class RecordedRequest:
    """One request as it came over the wire; header names are in lower case."""

    attempt: int
    """Counts the accepted requests from 1; 0 for one that was refused."""
    method: str
    path: str
    headers: dict[str, str]
    body: bytes

    def json(self) -> Any:  # noqa: ANN401 - a JSON border, tests index into it
        """Return the decoded body."""
        return loads(self.body)


@attrs.define
class Exchange:
    """One accepted request and how its scripted answer went; updated while it goes."""

    request: RecordedRequest
    script_behavior: str
    """What the script asked for."""
    behavior: str
    """What was sent; differs for `random`."""
    parts_sent: int = 0
    outcome: Outcome = "pending"


@attrs.frozen
class MockEvent:
    """What an observer of the server is told: a request has come, or its answer has ended."""

    kind: Literal["request", "result"]
    attempt: int
    script_behavior: str
    behavior: str
    path: str
    parts_sent: int
    outcome: Outcome
