"""Define what can go wrong between a session log and its storage.

HarnessError
└── SessionPersistenceError               root of this package
    ├── SessionNotFoundError              no durable log is visible under the id
    ├── SessionAlreadyExistsError         the id is taken, in memory or in storage
    ├── SessionAlreadyOwnedError          somebody else holds the write claim
    ├── SessionBusyError                  the live session has an open turn
    ├── SessionOwnershipLostError         the lease or the file is no longer ours
    ├── SessionReadOnlyError              a read handle was asked to write
    ├── SessionHandleClosedError          the handle is closed or closing
    ├── SessionPersistenceCorruptionError bytes were read that violate the format
    ├── SessionFormatUnsupportedError     intact, but this build cannot interpret it
    ├── AppendSequenceError               events do not continue the log
    ├── NotLosslessJsonError              a payload is not exact JSON
    ├── EventTooLargeError                one record is larger than a reader accepts
    └── MalformedRecordError              one storage record is not what its tag promises
"""

from attrs import frozen

from harness.errors import HarnessError


class SessionPersistenceError(HarnessError):
    """Report a failure of session storage."""

    code = "SESSION_PERSISTENCE"


@frozen(kw_only=True)
class LeaseHolder:
    """Describe who holds a write lease; informational, the kernel lock decides.

    `pid` and `host` are None when the owner wrote nothing readable.
    """

    pid: int | None = None
    host: str | None = None
    instance: str | None = None
    started_at: str | None = None

    def __str__(self) -> str:
        if self.pid is None:
            return "an unknown process"
        return f"pid {self.pid}" + (f" on {self.host}" if self.host else "")


class SessionNotFoundError(SessionPersistenceError, LookupError):
    """Report that no durable log is visible under an id."""

    code = "SESSION_NOT_FOUND"

    def __init__(self, session_id: str) -> None:
        super().__init__(f"no stored session {session_id!r}; list() shows the ids that exist")
        self.session_id = session_id


class SessionAlreadyExistsError(SessionPersistenceError):
    """Report that an id is occupied, in this process or in storage."""

    code = "SESSION_ALREADY_EXISTS"

    def __init__(self, session_id: str, detail: str = "choose another id or open the log") -> None:
        super().__init__(f"session {session_id!r} already exists; {detail}")
        self.session_id = session_id


class SessionAlreadyOwnedError(SessionPersistenceError):
    """Report that another writer, here or in another process, holds the session."""

    code = "SESSION_ALREADY_OWNED"

    def __init__(self, session_id: str, holder: LeaseHolder | str | None = None) -> None:
        by = holder if holder is not None else LeaseHolder()
        super().__init__(
            f"session {session_id!r} is held by {by}; close it there before opening it for writing"
        )
        self.session_id = session_id
        self.holder = holder


class SessionBusyError(SessionPersistenceError):
    """Report a load of a session that is live here and has an open turn."""

    code = "SESSION_BUSY"

    def __init__(self, session_id: str, detail: str = "wait for its turn to end") -> None:
        super().__init__(f"session {session_id!r} is running in this process; {detail}")
        self.session_id = session_id


class SessionOwnershipLostError(SessionPersistenceError):
    """Report that a lease or its file is no longer ours; the handle is dead, reopen it."""

    code = "SESSION_OWNERSHIP_LOST"

    def __init__(self, session_id: str, detail: str) -> None:
        super().__init__(f"lost the write lease of session {session_id!r}: {detail}; reopen it")
        self.session_id = session_id


class SessionReadOnlyError(SessionPersistenceError):
    """Report a write through a handle that was opened for reading."""

    code = "SESSION_READ_ONLY"

    def __init__(self, session_id: str) -> None:
        super().__init__(f"session {session_id!r} was opened for reading; open it with 'write'")
        self.session_id = session_id


class SessionHandleClosedError(SessionPersistenceError):
    """Report the use of a handle after its `close()` began."""

    code = "SESSION_HANDLE_CLOSED"

    def __init__(self, session_id: str) -> None:
        super().__init__(f"the handle of session {session_id!r} is closed; open a new one")
        self.session_id = session_id


class SessionPersistenceCorruptionError(SessionPersistenceError):
    """Report bytes that violate the format, with the artifact, line and byte offset.

    `line` counts from 1 and `offset` is the first byte of that line; both are None when the
    damage has no place of its own. Nothing was changed on disk.
    """

    code = "SESSION_CORRUPT"

    def __init__(
        self, path: str, problem: str, *, line: int | None = None, offset: int | None = None
    ) -> None:
        place = "" if line is None else f", line {line} (byte {offset})"
        super().__init__(f"damaged session log {path}{place}: {problem}; the file is unchanged")
        self.path = path
        self.problem = problem
        self.line = line
        self.offset = offset


class SessionFormatUnsupportedError(SessionPersistenceError):
    """Report an intact log that this build cannot interpret; it stays untouched.

    `newer` says that a newer harness wrote it, so that upgrading helps.
    """

    code = "SESSION_FORMAT_UNSUPPORTED"

    def __init__(self, path: str, problem: str, *, newer: bool = False) -> None:
        super().__init__(f"cannot read session log {path}: {problem}")
        self.newer = newer
        self.path = path
        self.problem = problem


class AppendSequenceError(SessionPersistenceError, ValueError):
    """Report a batch that does not continue the log, naming the first misplaced event."""

    code = "APPEND_SEQUENCE"

    def __init__(self, session_id: str, *, index: int, expected: int, actual: int) -> None:
        super().__init__(
            f"session {session_id!r}: event {index} of the batch has seq {actual},"
            f" expected {expected}; nothing was stored"
        )
        self.session_id = session_id
        self.index = index
        self.expected = expected
        self.actual = actual


class NotLosslessJsonError(SessionPersistenceError, TypeError):
    """Report a payload that JSON cannot hold exactly, with the path of the offender."""

    code = "NOT_LOSSLESS_JSON"

    def __init__(self, event_type: str, path: str, problem: str) -> None:
        super().__init__(f"event {event_type!r} cannot be stored: {path} {problem}")
        self.event_type = event_type
        self.path = path
        self.problem = problem


class EventTooLargeError(SessionPersistenceError, ValueError):
    """Report a record above the size that a reader accepts; nothing was stored."""

    code = "EVENT_TOO_LARGE"

    def __init__(self, event_type: str, *, n_bytes: int, max_bytes: int) -> None:
        super().__init__(
            f"event {event_type!r} takes {n_bytes} bytes, the limit is {max_bytes};"
            " keep large output out of the log (spill it to a file)"
        )
        self.event_type = event_type
        self.n_bytes = n_bytes
        self.max_bytes = max_bytes


class MalformedRecordError(SessionPersistenceError, ValueError):
    """Report one storage record that is no event and no chunk row; its reader knows the place."""

    code = "MALFORMED_RECORD"
