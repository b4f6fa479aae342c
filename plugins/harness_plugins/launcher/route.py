"""Describe an endpoint that a run may send requests to."""

import ipaddress
from typing import Final, Literal
from urllib.parse import urlsplit

import attrs

from harness.http import redact_url
from harness_plugins.launcher.errors import UsageError

OFFICIAL: Final = "deepseek-official"
OFFICIAL_KEY: Final = "DEEPSEEK_API_KEY"
OFFICIAL_HOST: Final = "api.deepseek.com"
COMPATIBLE: Final = "openai-compatible"
COMPATIBLE_KEY: Final = "OPENAI_API_KEY"
_LOOPBACK_RETRIES = 2


@attrs.frozen(kw_only=True)
class Route:
    """Name an endpoint, its dialect, and the key that goes there.

    `key` is None when the process environment holds it under `key_name`, or when there is none.
    `is_default` says that nobody named the address, so that a profile may.
    """

    provider: str
    dialect: Literal["deepseek", "openai"]
    base_url: str
    key_name: str
    key: str | None = attrs.field(default=None, repr=False)
    is_default: bool = False

    @property
    def is_loopback(self) -> bool:
        """Return whether the endpoint is a server on this machine."""
        host = urlsplit(self.base_url).hostname or ""
        try:
            return ipaddress.ip_address(host).is_loopback
        except ValueError:
            return host == "localhost"

    @property
    def max_retries(self) -> int | None:
        """Return how often a failed request is repeated; None leaves it to the adapter.

        A server on this machine that is down does not come back by waiting.
        """
        return _LOOPBACK_RETRIES if self.is_loopback else None

    @property
    def place(self) -> str:
        """Return scheme, host and port, for messages."""
        parts = urlsplit(self.base_url)
        return redact_url(f"{parts.scheme}://{parts.netloc}")


def checked_url(text: str, *, name: str) -> str:
    """Return an address without what the adapter appends itself.

    Raises:
        UsageError: it is no address; `name` says where it was given.
    """
    url = text.strip().rstrip("/").removesuffix("/chat/completions").rstrip("/")
    try:
        parts = urlsplit(url)
        is_good = parts.scheme in ("http", "https") and bool(parts.hostname)
        is_good = is_good and parts.port != 0 and url.isprintable() and " " not in url
    except ValueError:
        is_good = False
    if not is_good:
        raise UsageError(
            f"{name} expects an address that begins with http:// or https://,"
            f" found {redact_url(text)!r}",
            "for example: --base-url http://127.0.0.1:8080/v1",
        )
    return url
