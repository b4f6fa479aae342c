"""Define how an HTTP exchange can fail; a status of 400 or more is an answer, not an error.

HarnessError
└── HttpError                      HTTP_ERROR           anything this package raises
    ├── HttpInvalidRequestError    HTTP_INVALID_REQUEST URL or header is not legal (ValueError)
    ├── HttpConnectError           HTTP_CONNECT         nobody answers at the address
    │   └── HttpTlsError           HTTP_TLS             the peer's certificate or TLS is refused
    ├── HttpTimeoutError           HTTP_TIMEOUT         one of the time limits (TimeoutError)
    ├── HttpReadError              HTTP_READ            the connection broke during the exchange
    ├── HttpProtocolError          HTTP_PROTOCOL        the peer's bytes are no proper HTTP
    ├── HttpBodyTooLargeError      HTTP_BODY_TOO_LARGE  the body is larger than the caller's cap
    └── HttpClosedError            HTTP_CLOSED          the service has been disposed
"""

from typing import Literal, TypeAlias

from harness.errors import HarnessError

TimeoutKind: TypeAlias = Literal["connect", "first-byte", "idle", "write"]


class HttpError(HarnessError):
    """Report a failed exchange; catch it to treat every kind alike.

    `url` is redacted, and no message holds a header value.
    """

    code: str = "HTTP_ERROR"

    def __init__(self, message: str, *, url: str) -> None:
        """Name the redacted URL."""
        super().__init__(message)
        self.url: str = url


class HttpInvalidRequestError(HttpError, ValueError):
    """Report a request that cannot be sent as it is; nothing has been sent."""

    code: str = "HTTP_INVALID_REQUEST"


class HttpConnectError(HttpError):
    """Report that no connection could be made; nothing has been sent."""

    code: str = "HTTP_CONNECT"


class HttpTlsError(HttpConnectError):
    """Report that the peer's certificate or its TLS was refused; nothing has been sent."""

    code: str = "HTTP_TLS"


class HttpTimeoutError(HttpError, TimeoutError):
    """Report that a time limit has passed: which one is `kind`, how long `timeout_s`."""

    code: str = "HTTP_TIMEOUT"

    def __init__(
        self, message: str, *, url: str, kind: TimeoutKind, timeout_s: float | None
    ) -> None:
        """Name the limit."""
        super().__init__(message, url=url)
        self.kind: TimeoutKind = kind
        self.timeout_s: float | None = timeout_s


class HttpReadError(HttpError):
    """Report that the connection broke after the request had begun."""

    code: str = "HTTP_READ"


class HttpProtocolError(HttpError):
    """Report an answer that is no proper HTTP, such as a body that ends early."""

    code: str = "HTTP_PROTOCOL"


class HttpBodyTooLargeError(HttpError):
    """Report a body larger than the caller accepts; the rest has not been read."""

    code: str = "HTTP_BODY_TOO_LARGE"


class HttpClosedError(HttpError):
    """Report a request on a client whose service is gone, or an exchange that this ended."""

    code: str = "HTTP_CLOSED"
