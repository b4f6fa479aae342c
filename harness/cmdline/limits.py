"""How long a program waits for its plugins, unless the environment says otherwise."""

import math
from collections.abc import Mapping
from typing import Final

BOOT_S: Final = 20.0
"""Seconds that rows have to come to rest at the start; what has not is left out."""

SHUTDOWN_S: Final = 5.0
"""Seconds that everything together has for its end."""


def boot_limit_s(environ: Mapping[str, str]) -> float:
    """Return the limit in seconds: `DSH_BOOT_TIMEOUT`, else 20; what is no number is ignored."""
    return _seconds(environ, "DSH_BOOT_TIMEOUT", BOOT_S)


def shutdown_limit_s(environ: Mapping[str, str]) -> float:
    """Return the limit in seconds: `DSH_SHUTDOWN_TIMEOUT`, else 5; what is no number is ignored."""
    return _seconds(environ, "DSH_SHUTDOWN_TIMEOUT", SHUTDOWN_S)


def _seconds(environ: Mapping[str, str], variable: str, usual: float) -> float:
    try:
        limit_s = float(environ.get(variable, ""))
    except ValueError:
        return usual
    return limit_s if math.isfinite(limit_s) and limit_s >= 0 else usual
