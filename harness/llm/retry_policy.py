"""Hold the retry policy that each provider route owns."""

from collections.abc import Mapping
from typing import Any, Literal, TypeAlias, cast

from attrs import field, frozen

from harness.llm.numbers import is_number, is_safe_int

RetryMode: TypeAlias = Literal["normal", "always"]
MAX_TIMER_MS = 2_147_483_647
DEFAULT_RETRYABLE_CODES = ("EMPTY_RESPONSE", "RATE_LIMIT", "SERVER", "TIMEOUT", "TRANSPORT")

_KEYS = ("mode", "maxRetries", "retryableCodes", "backoff")
_BACKOFF_KEYS = ("initialDelayMs", "maxDelayMs", "jitterRatio")


@frozen
class RetryPolicy:
    """Say which failures are tried again, how often and how far apart.

    `always` retries every failure without a limit and ignores `max_retries` and `retryable_codes`.
    Delays are in milliseconds, `jitter_ratio` spreads a delay by ± that share of it.
    """

    mode: RetryMode = "normal"
    max_retries: int = field(default=5, kw_only=True)
    retryable_codes: tuple[str, ...] = field(default=DEFAULT_RETRYABLE_CODES, kw_only=True)
    initial_delay_ms: float = field(default=500, kw_only=True)
    max_delay_ms: float = field(default=10_000, kw_only=True)
    jitter_ratio: float = field(default=0.1, kw_only=True)


def resolve_retry_policy(
    config: Mapping[str, Any] | None, path: str = "retryPolicy"
) -> RetryPolicy:
    """Return the policy of a provider's config, or raise `ValueError` naming the path at fault."""
    if config is None:
        return RetryPolicy()
    _known_keys(config, _KEYS, path)
    mode = config.get("mode", "normal")
    if mode not in ("normal", "always"):
        raise ValueError(f"{path}.mode must be 'normal' or 'always', got {mode!r}")
    backoff: object = config.get("backoff") or {}
    if not isinstance(backoff, Mapping):
        message = f"{path}.backoff must be an object, got {backoff!r}"
        raise ValueError(message)
    delays = cast("Mapping[str, Any]", backoff)
    _known_keys(delays, _BACKOFF_KEYS, f"{path}.backoff")
    initial = _delay(delays, "initialDelayMs", 500, path)
    longest = _delay(delays, "maxDelayMs", 10_000, path)
    if initial > longest:
        raise ValueError(f"{path}.backoff.initialDelayMs must not exceed maxDelayMs")
    jitter = delays.get("jitterRatio", 0.1)
    if not (is_number(jitter) and 0 <= jitter <= 1):
        raise ValueError(f"{path}.backoff.jitterRatio must be within 0..1, got {jitter!r}")
    if mode == "always":
        return RetryPolicy(
            "always", initial_delay_ms=initial, max_delay_ms=longest, jitter_ratio=jitter
        )
    return RetryPolicy(
        max_retries=_max_retries(config, path),
        retryable_codes=_codes(config, path),
        initial_delay_ms=initial,
        max_delay_ms=longest,
        jitter_ratio=jitter,
    )


def _known_keys(value: Mapping[str, Any], known: tuple[str, ...], path: str) -> None:
    for key in value:
        if key not in known:
            raise ValueError(f"{path}.{key} is unknown; expected one of {', '.join(known)}")


def _delay(backoff: Mapping[str, Any], key: str, default: float, path: str) -> float:
    value = backoff.get(key, default)
    if not (is_number(value) and 0 < value <= MAX_TIMER_MS):
        raise ValueError(
            f"{path}.backoff.{key} must be a number of milliseconds in (0, {MAX_TIMER_MS}], "
            f"got {value!r}"
        )
    return value


def _max_retries(config: Mapping[str, Any], path: str) -> int:
    value = config.get("maxRetries", 5)
    if not (is_safe_int(value) and value >= 0):
        raise ValueError(f"{path}.maxRetries must be a non-negative integer, got {value!r}")
    return value


def _codes(config: Mapping[str, Any], path: str) -> tuple[str, ...]:
    value = config.get("retryableCodes", DEFAULT_RETRYABLE_CODES)
    codes = cast("list[Any]", value) if isinstance(value, (list, tuple)) else []
    if not codes or not all(isinstance(code, str) and code for code in codes):
        raise ValueError(f"{path}.retryableCodes must be a non-empty list of codes, got {value!r}")
    if len(set(codes)) != len(codes):
        raise ValueError(f"{path}.retryableCodes must not repeat a code, got {value!r}")
    return tuple(codes)
