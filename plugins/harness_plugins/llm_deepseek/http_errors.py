"""Map refused HTTP requests to failures that policy can route on."""

import math
from collections.abc import Mapping
from typing import Any, cast

from harness.llm import LlmError, is_context_window_wording, is_quota_wording
from harness.wire import JsonDecodeError, loads

MAX_ERROR_BODY_BYTES = 64 * 1024
MAX_MESSAGE_CHARS = 2_000


class HttpErrorBody(Exception):
    """Carry the raw body of a refused request, at most 64 KiB, as the cause of an `LlmError`."""


def response_error(
    status: int, headers: Mapping[str, str], body: bytes, *, now_s: float
) -> LlmError:
    """Return the error of a response with a failure status.

    Args:
        status: the HTTP status.
        headers: response headers, by lower-case name.
        body: the beginning of the response body.
        now_s: wall-clock seconds, against which a `retry-after` date is read.
    """
    text = body.decode("utf-8", "replace")
    facts = _error_facts(body)
    wording = " ".join(facts.values()) or text
    message = facts.get("message") or f"the provider answered with HTTP status {status}"
    message = message[:MAX_MESSAGE_CHARS]
    return LlmError(
        message,
        _code(status, wording),
        cause=HttpErrorBody(text) if text else None,
        status=status if 100 <= status <= 599 else None,
        provider_retry_after_ms=_retry_after_ms(headers.get("retry-after"), now_s),
        request_id=headers.get("x-request-id") or headers.get("x-deepseek-request-id") or None,
    )


def _code(status: int, wording: str) -> str:
    if status in (401, 403):
        return "AUTH"
    if status == 413:
        return "INVALID_REQUEST"
    if status == 402 or is_quota_wording(wording):
        return "QUOTA"
    if status in (400, 422):
        overflow = is_context_window_wording(wording)
        return "CONTEXT_WINDOW_EXCEEDED" if overflow else "INVALID_REQUEST"
    if status >= 500:
        return "SERVER"
    return {408: "TIMEOUT", 429: "RATE_LIMIT"}.get(status, f"HTTP_{status}")


def _error_facts(body: bytes) -> dict[str, str]:
    """Return code, type and message of an error body, in the shapes that servers use."""
    try:
        value = loads(body)
    except JsonDecodeError:
        return {}
    if not isinstance(value, dict):
        return {}
    top = cast("dict[str, Any]", value)
    error = top.get("error", top)
    facts = cast("dict[str, Any]", error) if isinstance(error, dict) else {"message": error}
    keys = ("code", "type", "message")
    return {key: facts[key] for key in keys if isinstance(facts.get(key), str) and facts[key]}


def _retry_after_ms(value: str | None, now_s: float) -> float | None:
    if not value:
        return None
    if value.isascii() and value.isdigit():
        delay_ms = float(value) * 1000
    else:
        from datetime import UTC, datetime
        from email.utils import parsedate_to_datetime

        try:
            when = parsedate_to_datetime(value)
        except ValueError:
            return None
        if when.tzinfo is None:
            when = when.replace(tzinfo=UTC)
        delay_ms = (when - datetime.fromtimestamp(now_s, UTC)).total_seconds() * 1000
    return delay_ms if math.isfinite(delay_ms) and delay_ms > 0 else None
