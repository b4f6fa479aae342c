"""Identify this software to model providers."""

from collections.abc import Mapping
from functools import cache

PRODUCT = "dsh-harness"
PRODUCT_URL = "https://pypi.org/project/dsh-harness"


@cache
def default_user_agent(distribution: str = PRODUCT) -> str:
    """Return `<product>/<version> (+<url>)`, with the version of the installed distribution.

    The version is read from the disk once.
    """
    from importlib.metadata import PackageNotFoundError, version

    try:
        release = version(distribution)
    except PackageNotFoundError:  # running from a source tree that was never installed
        release = "0"
    return f"{PRODUCT}/{release} (+{PRODUCT_URL})"


def attribution_headers(custom: Mapping[str, str], user_agent: str | None = None) -> dict[str, str]:
    """Return `custom` in lower case with the mandatory `user-agent`, which wins a collision."""
    headers = {name.lower(): value for name, value in custom.items()}
    headers["user-agent"] = (user_agent or "").strip() or default_user_agent()
    return headers
