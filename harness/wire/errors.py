"""Define what can go wrong where bytes become values.

HarnessError
└── WireError                      WIRE_ERROR           anything this package raises
    ├── JsonDecodeError            JSON_DECODE          bytes that are no exact JSON (ValueError)
    ├── JsonEncodeError            JSON_ENCODE          a value that JSON cannot hold (ValueError)
    ├── NotJsonError               NOT_JSON             the same, met while copying (ValueError)
    ├── UnencodableTextError       TEXT_UNENCODABLE     text with a lone surrogate (ValueError)
    ├── LineTooLongError           LINE_TOO_LONG        a line beyond the cap of its framer
    └── SseEventTooLargeError      SSE_EVENT_TOO_LARGE  an event or line beyond the decoder's cap
"""

from harness.errors import HarnessError


class WireError(HarnessError):
    """Report malformed data at the border; catch it to treat every kind alike."""

    code: str = "WIRE_ERROR"


class JsonDecodeError(WireError, ValueError):
    """Report input that is not JSON, or holds a number that no value can carry exactly.

    `position` is the offset of the first offending byte or character, -1 when unknown.
    """

    code: str = "JSON_DECODE"

    def __init__(self, message: str, *, position: int = -1) -> None:
        """Keep where the input stopped being JSON."""
        super().__init__(message)
        self.position: int = position


class JsonEncodeError(WireError, ValueError):
    """Report a value that JSON cannot hold without loss; `path` names it, as in `$.a[3]`."""

    code: str = "JSON_ENCODE"

    def __init__(self, message: str, *, path: str = "$") -> None:
        """Keep where in the value the offender sits."""
        super().__init__(message)
        self.path: str = path


class UnencodableTextError(WireError, ValueError):
    """Report text that holds an unpaired surrogate and so has no UTF-8 form."""

    code: str = "TEXT_UNENCODABLE"


class LineTooLongError(WireError):
    """Report a line longer than its framer accepts; the framer takes nothing after it."""

    code: str = "LINE_TOO_LONG"


class SseEventTooLargeError(WireError):
    """Report an event stream whose current event or line outgrew the decoder's cap."""

    code: str = "SSE_EVENT_TOO_LARGE"


class NotJsonError(WireError, ValueError):
    """Report a value that JSON cannot hold without loss; `path` names it, as in `a.b[3]`."""

    code: str = "NOT_JSON"

    def __init__(self, reason: str, path: str) -> None:
        """Keep the reason and the place apart, so that callers can phrase their own message."""
        super().__init__(f"{path or 'the value'} {reason}")
        self.reason: str = reason
        self.path: str = path
