"""Make headers and URLs safe to show."""

import re
from collections.abc import Iterable
from typing import Final
from urllib.parse import urlsplit, urlunsplit

_SHOWN: Final = frozenset(
    {
        "accept",
        "accept-encoding",
        "cache-control",
        "connection",
        "content-encoding",
        "content-length",
        "content-type",
        "date",
        "host",
        "retry-after",
        "server",
        "transfer-encoding",
        "user-agent",
        "x-request-id",
    }
)
_VALUE = re.compile(r"=[^&;]*")


def redact_headers(headers: Iterable[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    """Return headers with every value hidden that is not known to be harmless."""
    return tuple(
        (name, value if name.lower() in _SHOWN else "[redacted]") for name, value in headers
    )


def redact_url(url: str) -> str:
    """Return a URL without user, password, fragment and the values of its query."""
    try:
        parts = urlsplit(url)
        host = parts.netloc.rpartition("@")[2]
        query = _VALUE.sub("=…", parts.query) if "=" in parts.query else "…" * bool(parts.query)
        return urlunsplit((parts.scheme, host, parts.path, query, ""))
    except ValueError:
        return "[unreadable URL]"
