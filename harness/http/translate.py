"""Turn the client library's errors into ours, without anything secret."""

from __future__ import annotations

import re
import ssl
from typing import TYPE_CHECKING

from harness.http.errors import (
    HttpConnectError,
    HttpError,
    HttpInvalidRequestError,
    HttpProtocolError,
    HttpReadError,
    HttpTimeoutError,
    HttpTlsError,
)
from harness.http.redact import redact_url

if TYPE_CHECKING:
    from harness.http.types import HttpRequest

_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_VALUE = re.compile(r"[\t\x20-\x7e\x80-\xff]*")


def check_request(request: HttpRequest) -> None:
    """Refuse a method or header that HTTP cannot carry, naming it but not its value.

    Raises:
        HttpInvalidRequestError: see there.
    """
    if _TOKEN.fullmatch(request.method) is None:
        raise _invalid(request, f"{request.method!r} is no HTTP method")
    for name, value in request.headers:
        if _TOKEN.fullmatch(name) is None:
            raise _invalid(request, f"{name!r} is no header name")
        if _VALUE.fullmatch(value) is None:
            raise _invalid(
                request, f"the value of the header {name} holds a character that HTTP cannot carry"
            )


def translate(error: Exception, request: HttpRequest) -> HttpError:
    """Return our error for one of the client library's; an unknown one is a broken exchange."""
    import httpx

    url = redact_url(request.url)
    detail = str(error) or type(error).__name__
    match error:
        case httpx.TimeoutException():
            return _timeout(error, request)
        case httpx.InvalidURL() | httpx.UnsupportedProtocol():
            return HttpInvalidRequestError(f"cannot request {url}: {detail}", url=url)
        case httpx.LocalProtocolError():  # its text may quote a header
            return HttpInvalidRequestError(f"the request to {url} is not legal HTTP", url=url)
        case httpx.ConnectError() if _is_tls(error):
            return HttpTlsError(f"no safe connection to {url}: {detail}", url=url)
        case httpx.ConnectError() | httpx.ProxyError():
            return HttpConnectError(f"cannot connect to {url}: {detail}", url=url)
        case httpx.RemoteProtocolError() | httpx.DecodingError():
            return HttpProtocolError(f"{url} sent no proper HTTP: {detail}", url=url)
        case _:
            return HttpReadError(f"the exchange with {url} broke: {detail}", url=url)


def first_byte_timeout(request: HttpRequest) -> HttpTimeoutError:
    """Return the error for headers that did not come in time."""
    url, limit_s = redact_url(request.url), request.timeouts.first_byte_s
    message = f"{url} did not answer within {limit_s:g} s"
    return HttpTimeoutError(message, url=url, kind="first-byte", timeout_s=limit_s)


def idle_timeout(request: HttpRequest) -> HttpTimeoutError:
    """Return the error for a body that stopped coming."""
    url, limit_s = redact_url(request.url), request.timeouts.idle_s
    message = f"{url} sent nothing for {limit_s:g} s"
    return HttpTimeoutError(message, url=url, kind="idle", timeout_s=limit_s)


def _invalid(request: HttpRequest, message: str) -> HttpInvalidRequestError:
    return HttpInvalidRequestError(message, url=redact_url(request.url))


def _timeout(error: Exception, request: HttpRequest) -> HttpTimeoutError:
    """Return the error for the two limits that the client library keeps itself."""
    import httpx

    url, limits = redact_url(request.url), request.timeouts
    if isinstance(error, httpx.WriteTimeout):
        message = f"{url} did not take the request within {limits.idle_s:g} s"
        return HttpTimeoutError(message, url=url, kind="write", timeout_s=limits.idle_s)
    message = f"no connection to {url} within {limits.connect_s:g} s"
    return HttpTimeoutError(message, url=url, kind="connect", timeout_s=limits.connect_s)


def _is_tls(error: BaseException) -> bool:
    seen: BaseException | None = error
    while seen is not None:
        if isinstance(seen, ssl.SSLError):
            return True
        seen = seen.__cause__ or seen.__context__
    return False
