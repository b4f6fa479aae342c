"""Talk HTTP through one service; no client library appears in its surface."""

from harness.http.client import HttpClient
from harness.http.config import HttpConfig
from harness.http.errors import (
    HttpBodyTooLargeError,
    HttpClosedError,
    HttpConnectError,
    HttpError,
    HttpInvalidRequestError,
    HttpProtocolError,
    HttpReadError,
    HttpTimeoutError,
    HttpTlsError,
)
from harness.http.redact import redact_headers, redact_url
from harness.http.service import HttpService
from harness.http.stream import HttpStream
from harness.http.types import HttpRequest, HttpResponse, HttpTimeouts

__all__ = [
    "HttpBodyTooLargeError",
    "HttpClient",
    "HttpClosedError",
    "HttpConfig",
    "HttpConnectError",
    "HttpError",
    "HttpInvalidRequestError",
    "HttpProtocolError",
    "HttpReadError",
    "HttpRequest",
    "HttpResponse",
    "HttpService",
    "HttpStream",
    "HttpTimeoutError",
    "HttpTimeouts",
    "HttpTlsError",
    "redact_headers",
    "redact_url",
]
