"""Address an endpoint: URL, headers, timeouts, and its list of models."""

from collections.abc import Mapping
from typing import Any, cast

from harness.http import HttpClient, HttpRequest, HttpTimeouts
from harness.llm import GenerateOptions, LlmError, attribution_headers
from harness.wire import JsonDecodeError, loads
from harness_plugins.llm_deepseek.config import DEFAULT_BASE_URL, DeepSeekConfig
from harness_plugins.llm_deepseek.http_errors import response_error

BASE_URL_VARIABLE = "DEEPSEEK_BASE_URL"
_MAX_MODELS_BYTES = 4 * 1024 * 1024


def base_url(config: DeepSeekConfig, environ: Mapping[str, str]) -> str:
    """Return the base URL without a trailing slash: configured, else environment, else default."""
    url = config.base_url or environ.get(BASE_URL_VARIABLE) or DEFAULT_BASE_URL
    return url.rstrip("/")


def timeouts(config: DeepSeekConfig) -> HttpTimeouts:
    """Return the limits of one exchange; waiting for headers counts as one read."""
    idle_s = config.stream_idle_timeout_ms / 1000
    return HttpTimeouts(
        connect_s=config.connect_timeout_ms / 1000, first_byte_s=idle_s, idle_s=idle_s
    )


def request_headers(
    config: DeepSeekConfig, key: str | None, options: GenerateOptions | None = None
) -> dict[str, str]:
    """Return the headers of a request; configured ones never replace ours."""
    headers = attribution_headers(config.headers, config.user_agent)
    headers["content-type"] = "application/json"
    headers["accept"] = "application/json" if options is None else "text/event-stream"
    if key is not None:
        headers["authorization"] = f"Bearer {key}"
    if config.dialect == "deepseek" and options is not None:
        headers.update(_deepseek_headers(config, options))
    return headers


def _deepseek_headers(config: DeepSeekConfig, options: GenerateOptions) -> dict[str, str]:
    facts = {
        "x-deepseek-harness-user-id": config.user_id,
        "x-deepseek-harness-session-id": options.session_id,
        "x-deepseek-harness-compact": "1" if options.purpose == "compaction" else None,
    }
    return {name: value for name, value in facts.items() if value}


async def fetch_model_ids(
    client: HttpClient, url: str, headers: Mapping[str, str], limits: HttpTimeouts, *, now_s: float
) -> list[str]:
    """Ask the endpoint which models it serves, in its order.

    Raises:
        LlmError: as for a chat request; `MALFORMED_RESPONSE` when the answer is no list of models.
        HttpError: the exchange failed.
    """
    request = HttpRequest("GET", f"{url}/models", headers, timeouts=limits)
    response = await client.request(request, max_bytes=_MAX_MODELS_BYTES)
    if not response.is_success:
        raise response_error(response.status, response.headers, response.body, now_s=now_s)
    try:
        listing: Any = loads(response.body)
        entries = cast("list[dict[str, Any]]", listing["data"])
        return [entry["id"] for entry in entries if isinstance(entry["id"], str) and entry["id"]]
    except (JsonDecodeError, KeyError, TypeError) as error:
        raise LlmError(f"{url}/models is no list of models", "MALFORMED_RESPONSE") from error
