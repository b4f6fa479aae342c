"""Describe requests and answers without any client library's types."""

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any, cast

import attrs

from harness.http.redact import redact_headers, redact_url
from harness.wire import loads


@attrs.frozen
class HttpTimeouts:
    """Limits of one exchange in seconds; None means no limit.

    There is no limit on the whole: hand in an abort signal with a deadline for that.
    """

    connect_s: float | None = 30.0
    """To reach the peer, TLS included."""
    first_byte_s: float | None = 300.0
    """From the start of the exchange to the answer's headers."""
    idle_s: float | None = 300.0
    """For one wait for more of the body; a slow consumer is not counted."""


def _pairs(headers: Mapping[str, str] | Iterable[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    if isinstance(headers, Mapping):
        return tuple(cast("Mapping[str, str]", headers).items())
    return tuple(headers)


@attrs.frozen(repr=False)
class HttpRequest:
    """One request; headers are given as a mapping or as pairs, and sent in that order."""

    method: str
    url: str
    headers: tuple[tuple[str, str], ...] = attrs.field(default=(), converter=_pairs)
    body: bytes = b""
    timeouts: HttpTimeouts = HttpTimeouts()

    def __repr__(self) -> str:
        """Show everything but secrets and the body."""
        headers = dict(redact_headers(self.headers))
        size = len(self.body)
        return f"HttpRequest({self.method} {redact_url(self.url)}, {headers}, {size} bytes)"


def _frozen(headers: Mapping[str, str]) -> Mapping[str, str]:
    return MappingProxyType(dict(headers))


@attrs.frozen(repr=False)
class HttpResponse:
    """One whole answer; header names are in lower case, repeated ones joined by `, `."""

    status: int
    headers: Mapping[str, str] = attrs.field(converter=_frozen)
    body: bytes

    @property
    def is_success(self) -> bool:
        """Return whether the status is one of 200 to 299."""
        return 200 <= self.status < 300

    def text(self) -> str:
        """Return the body as UTF-8, invalid bytes replaced by U+FFFD."""
        return self.body.decode("utf-8", "replace")

    def json(self) -> Any:  # noqa: ANN401 - a JSON border, callers narrow it
        """Return the body decoded.

        Raises:
            JsonDecodeError: the body is not JSON.
        """
        return loads(self.body)

    def __repr__(self) -> str:
        """Show status and size only."""
        return f"HttpResponse({self.status}, {len(self.body)} bytes)"
