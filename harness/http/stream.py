"""Read one answer's body as it comes."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Final, Self, cast

from harness.deadline import IdleWatchdog, timeout_of
from harness.http.errors import HttpBodyTooLargeError, HttpClosedError
from harness.http.redact import redact_url
from harness.http.translate import idle_timeout, translate
from harness.http.types import HttpRequest, HttpResponse

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable

    import httpx

IDLE_CODE: Final = "HTTP_IDLE"
MAX_BODY_BYTES: Final = 64 * 1024 * 1024


class HttpStream:
    """An answer whose headers are here: iterate it once for the body's bytes.

    The pieces are what the peer's chunks hold, after undoing any content encoding.

    Raises, from iteration and `read`:
        HttpTimeoutError: nothing came for the idle limit while waiting for it.
        HttpReadError, HttpProtocolError: the connection broke, or the body ended early.
        HttpClosedError: the service was disposed meanwhile.
        AbortError: the signal was aborted; or its reason, when that is an exception.
    """

    def __init__(
        self,
        response: httpx.Response,
        request: HttpRequest,
        *,
        watchdog: IdleWatchdog,
        is_closed: Callable[[], bool],
    ) -> None:
        self.status: int = response.status_code
        """The status code."""
        self.headers: Mapping[str, str] = {
            name.lower(): value for name, value in response.headers.items()
        }
        """Header names in lower case; repeated ones are joined by `, `."""
        self._request = request
        self._watchdog = watchdog
        self._is_closed = is_closed
        self._response = response
        self._ended = False
        encoded = self.headers.get("content-encoding", "identity") != "identity"
        # What needs no decoding comes straight from the transport: two frames less a piece.
        chunks = response.aiter_bytes() if encoded else aiter(_transport(response))
        self._chunks = cast("AsyncGenerator[bytes]", chunks)
        self._read = partial(watchdog.read, self._chunks.__anext__)

    @property
    def is_success(self) -> bool:
        """Return whether the status is one of 200 to 299."""
        return 200 <= self.status < 300

    def __aiter__(self) -> Self:
        """Return the stream itself: there is one body."""
        return self

    async def __anext__(self) -> bytes:
        """Return the next piece of the body."""
        if self._ended:
            raise self._closed("was left")
        try:
            return await self._read()
        except StopAsyncIteration:
            raise
        except Exception as error:
            signal = self._watchdog.signal
            if timeout_of(signal, IDLE_CODE) is not None:
                raise idle_timeout(self._request) from error
            signal.throw_if_aborted()
            if self._is_closed():
                raise self._closed("was ended by the end of the HTTP service") from error
            raise translate(error, self._request) from error

    async def read(self, max_bytes: int = MAX_BODY_BYTES) -> HttpResponse:
        """Return the whole answer.

        Raises:
            HttpBodyTooLargeError: the body is larger than `max_bytes`.
        """
        body = bytearray()
        async for piece in self:
            body += piece
            if len(body) > max_bytes:
                url = redact_url(self._request.url)
                raise HttpBodyTooLargeError(
                    f"the body of {url} is larger than {max_bytes} bytes", url=url
                )
        return HttpResponse(self.status, self.headers, bytes(body))

    async def aclose(self) -> None:
        """End the exchange; leaving the block of `HttpClient.stream` does it."""
        self._ended = True
        await self._chunks.aclose()
        await self._response.aclose()

    def _closed(self, what: str) -> HttpClosedError:
        url = redact_url(self._request.url)
        return HttpClosedError(f"the exchange with {url} {what}", url=url)


def _transport(response: httpx.Response) -> httpx.AsyncByteStream:
    return cast("httpx.AsyncByteStream", response.stream)
