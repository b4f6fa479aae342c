"""Own the HTTP clients of one composition."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, ClassVar
from zlib import crc32

from anyio import Lock, create_task_group
from anyio.to_thread import run_sync

from harness.http.client import HttpClient
from harness.http.config import HttpConfig
from harness.http.stream import MAX_BODY_BYTES, HttpStream
from harness.http.types import HttpRequest, HttpResponse
from vendor_shims.cordis import AbortSignal, Context, Service

if TYPE_CHECKING:
    from ssl import SSLContext

    import httpx


class HttpService(Service):
    """Send HTTP requests; provided as `ctx.http`.

    Connections are pooled per shard: `client(key)` gives the client of an agent's shard, so that
    many agents do not queue in one pool. All clients end with the service.

    Invariants:
        - `_clients` holds at most `config.shards` clients, by shard number; all of them are
          closed once `_closed` is true.
        - The client library is imported, and certificates are read, once, in a worker thread.
    """

    key: ClassVar[str] = "http"
    Config = HttpConfig

    def __init__(self, ctx: Context, config: HttpConfig | None = None) -> None:
        super().__init__(ctx)
        self.config: HttpConfig = config or HttpConfig()
        self._clients: dict[int, HttpClient] = {}
        self._ssl: SSLContext | None = None
        self._loading = Lock()
        self._closed = False

    def start(self) -> Callable[[], Awaitable[None]]:
        """Hand the kernel what closes every client."""
        return self._close

    def client(self, key: str = "") -> HttpClient:
        """Return the client for a key, such as an agent's id: the same one for the same key."""
        shard = crc32(key.encode("utf-8", "surrogatepass")) % self.config.shards
        client = self._clients.get(shard)
        if client is None:
            clock = self.ctx.kernel.clock
            client = HttpClient(self._connect, clock=clock, closed=self._closed)
            self._clients[shard] = client
        return client

    async def request(
        self,
        request: HttpRequest,
        *,
        signal: AbortSignal | None = None,
        max_bytes: int = MAX_BODY_BYTES,
    ) -> HttpResponse:
        """Send a request on the shared client; see `HttpClient.request`."""
        return await self.client().request(request, signal=signal, max_bytes=max_bytes)

    def stream(
        self, request: HttpRequest, *, signal: AbortSignal | None = None
    ) -> AbstractAsyncContextManager[HttpStream]:
        """Send a request on the shared client; see `HttpClient.stream`."""
        return self.client().stream(request, signal=signal)

    async def warm(self) -> None:
        """Load the client library and the certificates now, which the first request else does."""
        async with self._loading:
            self._ssl = self._ssl or await run_sync(_load, self.config.trust_env)

    async def _connect(self) -> httpx.AsyncClient:
        await self.warm()
        import httpx

        return httpx.AsyncClient(
            headers={"user-agent": self.config.user_agent},
            verify=self._ssl or True,
            trust_env=self.config.trust_env,
            http2=False,
            follow_redirects=False,
            limits=httpx.Limits(
                max_connections=None,
                max_keepalive_connections=None,
                keepalive_expiry=self.config.keepalive_s,
            ),
        )

    async def _close(self) -> None:
        self._closed = True
        async with create_task_group() as tasks:
            for client in self._clients.values():
                tasks.start_soon(client.aclose)


def _load(trust_env: bool) -> SSLContext:  # noqa: FBT001 - called through run_sync only
    import httpx

    return httpx.create_ssl_context(trust_env=trust_env)
