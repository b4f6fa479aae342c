"""Define the records that session storage hands out."""

from typing import Any, Literal, NewType

from attrs import field, frozen

from harness.session import SessionEvent, SessionHeader

Revision = NewType("Revision", str)
"""An opaque mark of one state of a stored log; compare for equality only."""

Access = Literal["read", "write"]
"""What a handle may do: `write` claims the session, `read` claims nothing."""

LeaseState = Literal["free", "held-here", "held-elsewhere"]
"""Who may write a session now: nobody yet, this process, or another one."""

FormatStatus = Literal["current", "historical", "future", "damaged"]
"""Whether this build can read a stored log, and if not, why."""


@frozen(kw_only=True)
class ArtifactLocation:
    """Tell where a session is stored, for diagnostics."""

    kind: str
    path: str
    detail: dict[str, Any] = field(factory=dict)


@frozen(kw_only=True)
class StoredSession:
    """Hold one balanced log: what is stored, plus the closers of an interrupted turn.

    `events` are frozen and shared with other readers. `closers` counts the last events that were
    added: just committed by `load`, in memory only by `inspect`.
    """

    header: SessionHeader
    events: tuple[SessionEvent, ...]
    revision: Revision
    closers: int
    lease: LeaseState


@frozen(kw_only=True)
class SessionSnapshot:
    """Describe a stored session without its events.

    `header` is None unless `format_status` is `current`, and then `id` is the name of its place
    and `problem` says why it cannot be read. `size_bytes` is None when nothing physical exists.
    """

    id: str
    header: SessionHeader | None
    revision: Revision
    size_bytes: int | None
    format_status: FormatStatus = "current"
    problem: str | None = None


@frozen(kw_only=True)
class RawArtifact:
    """Hold the stored text of a session and the name of the file it came from."""

    file_name: str
    text: str
