"""Send requests over one pool of connections."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import TYPE_CHECKING, Final

from anyio import CancelScope

from harness.deadline import deadline, idle_watchdog, timeout_of
from harness.http.errors import HttpClosedError
from harness.http.redact import redact_url
from harness.http.stream import IDLE_CODE, MAX_BODY_BYTES, HttpStream
from harness.http.translate import check_request, first_byte_timeout, translate
from harness.http.types import HttpRequest, HttpResponse
from vendor_shims.cordis import AbortSignal, Clock, run_abortable

if TYPE_CHECKING:
    import httpx

_FIRST_BYTE_CODE: Final = "HTTP_FIRST_BYTE"


class HttpClient:
    """One pool of connections: requests on it share what is already open.

    Invariants:
        - `_client` is made at the first request and never again after `aclose`.
    """

    def __init__(
        self,
        connect: Callable[[], Awaitable[httpx.AsyncClient]],
        *,
        clock: Clock | None = None,
        closed: bool = False,
    ) -> None:
        """Get the library's client from `connect` when it is first needed.

        `clock` counts the limits for the first byte and between pieces, the loop's by default;
        those for connecting and sending are the library's own.
        """
        self._connect = connect
        self._clock = clock
        self._client: httpx.AsyncClient | None = None
        self._defaults: tuple[tuple[str, str], ...] = ()
        self._url: tuple[str, httpx.URL] | None = None  # the last one: reading it costs 10 µs
        self._closed = closed

    async def request(
        self,
        request: HttpRequest,
        *,
        signal: AbortSignal | None = None,
        max_bytes: int = MAX_BODY_BYTES,
    ) -> HttpResponse:
        """Send a request and return the whole answer, whatever its status.

        Args:
            request: what to send; redirects are not followed.
            signal: ends the exchange when it aborts.
            max_bytes: the largest body to accept.

        Raises:
            HttpError: see the subclasses.
            AbortError: the signal was aborted; or its reason, when that is an exception.
        """
        async with self.stream(request, signal=signal) as stream:
            return await stream.read(max_bytes)

    def stream(
        self, request: HttpRequest, *, signal: AbortSignal | None = None
    ) -> AbstractAsyncContextManager[HttpStream]:
        """Send a request; the block runs when the answer's headers are here, whatever its status.

        Leaving the block ends the exchange; a body that was not read to its end costs the
        connection. Errors are as in `request`.
        """
        return self._stream(request, signal)

    async def aclose(self) -> None:
        """Close all connections, ending what still runs on them; closing twice is harmless."""
        self._closed = True
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()

    @asynccontextmanager
    async def _stream(
        self, request: HttpRequest, signal: AbortSignal | None
    ) -> AsyncGenerator[HttpStream]:
        check_request(request)
        idle_s = request.timeouts.idle_s or 0
        with idle_watchdog(signal, idle_s, IDLE_CODE, clock=self._clock) as watchdog:
            response = await self._send(request, watchdog.signal)
            stream = HttpStream(
                response, request, watchdog=watchdog, is_closed=lambda: self._closed
            )
            try:
                yield stream
            finally:
                with CancelScope(shield=True):  # a half-closed exchange would block its connection
                    await stream.aclose()

    async def _send(self, request: HttpRequest, signal: AbortSignal) -> httpx.Response:
        """Return the answer's head; its body is still to be read and closed."""
        limit_s = request.timeouts.first_byte_s or 0
        with deadline(signal, limit_s, _FIRST_BYTE_CODE, clock=self._clock) as fused:
            try:
                return await run_abortable(fused, self._open, request)
            except Exception as error:
                if timeout_of(fused, _FIRST_BYTE_CODE) is not None:
                    raise first_byte_timeout(request) from error
                fused.throw_if_aborted()
                if isinstance(error, HttpClosedError):
                    raise
                if self._closed:
                    raise self._ended(request) from error
                raise translate(error, request) from error

    async def _open(self, request: HttpRequest) -> httpx.Response:
        if self._closed:
            raise self._ended(request)
        if self._client is None:
            client = await self._connect()
            if self._client is not None or self._closed:  # somebody was faster
                await client.aclose()
            if self._closed:
                raise self._ended(request)
            if self._client is None:
                self._client = client
                self._defaults = tuple(client.headers.multi_items())
        return await self._client.send(self._prepare(request), stream=True)

    def _prepare(self, request: HttpRequest) -> httpx.Request:
        """Return the library's form; built directly, which costs a third of what a client does.

        No cookie is ever sent: agents share a client, and a cookie would tell them apart.
        """
        from httpx import URL, Request, UnsupportedProtocol

        if self._url is None or self._url[0] != request.url:
            self._url = request.url, URL(request.url)
        if self._url[1].is_relative_url:
            raise UnsupportedProtocol("it has no scheme or no host")
        given = {name.lower() for name, _ in request.headers}
        defaults = [pair for pair in self._defaults if pair[0] not in given]
        limits = request.timeouts
        timeout = {"connect": limits.connect_s, "read": None, "write": limits.idle_s, "pool": None}
        return Request(
            request.method,
            self._url[1],
            headers=[*defaults, *request.headers],
            content=request.body or None,
            extensions={"timeout": timeout},
        )

    def _ended(self, request: HttpRequest) -> HttpClosedError:
        url = redact_url(request.url)
        return HttpClosedError(f"no request to {url}: the HTTP service has ended", url=url)
