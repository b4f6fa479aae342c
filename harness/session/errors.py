"""Define what a session refuses, and why.

HarnessError
├── SessionError                  SESSION                anything this package raises
│   ├── SessionEventError         SESSION_EVENT          one the log cannot hold (ValueError)
│   │   ├── TurnEnclosureError    TURN_ENCLOSURE         outside a turn, or a wrong bracket
│   │   ├── MessageShapeError     MESSAGE_SHAPE          malformed message or request header
│   │   └── SurfaceError          SURFACE                a wrong surface marker or source list
│   ├── SessionHeaderError        SESSION_HEADER         a malformed session header (ValueError)
│   ├── SessionPublishingError    SESSION_PUBLISHING     an append while one is being published
│   ├── SessionStoreError         SESSION_STORE          a taken id or a session that is not live
│   └── SessionForkError          INVALID_BOUNDARY, …    a fork that cannot be made
"""

from harness.errors import HarnessError


class SessionError(HarnessError):
    """Report that a session refused something; the session is unchanged."""

    code: str = "SESSION"


class SessionEventError(SessionError, ValueError):
    """Report an event that the log cannot hold; `index` is its place when it is part of a seed."""

    code: str = "SESSION_EVENT"
    index: int | None = None


class TurnEnclosureError(SessionEventError):
    """Report an event outside a turn, or a turn or step bracket that does not fit."""

    code: str = "TURN_ENCLOSURE"


class MessageShapeError(SessionEventError):
    """Report a message event or request header whose data has the wrong shape."""

    code: str = "MESSAGE_SHAPE"


class SurfaceError(SessionEventError):
    """Report a surface marker or list of sources that does not fit the surface."""

    code: str = "SURFACE"


class SessionHeaderError(SessionError, ValueError):
    """Report a session header with a missing, unknown or malformed member."""

    code: str = "SESSION_HEADER"


class SessionPublishingError(SessionError, RuntimeError):
    """Report an append to a session that is publishing an event at this moment."""

    code: str = "SESSION_PUBLISHING"


class SessionStoreError(SessionError, RuntimeError):
    """Report an id that is taken, or a session that is not, or already, in the store."""

    code: str = "SESSION_STORE"


class SessionForkError(SessionError, ValueError):
    """Report a fork that cannot be made.

    `code` is one of SESSION_NOT_FOUND, SESSION_NOT_LIVE, SESSION_ALREADY_EXISTS,
    INVALID_BOUNDARY and OPEN_TURN.
    """

    code: str = "INVALID_BOUNDARY"
