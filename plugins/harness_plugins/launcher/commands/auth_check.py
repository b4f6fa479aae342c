"""Ask a provider for its models, to see whether key and address are right."""

import asyncio
from typing import Any, cast

from harness.credentials import Credential
from harness.http import (
    HttpError,
    HttpRequest,
    HttpResponse,
    HttpService,
    HttpTimeoutError,
    HttpTimeouts,
)
from harness.wire import JsonDecodeError
from harness_plugins.launcher.commands.answer import answer
from harness_plugins.launcher.commands.auth_keys import (
    SOURCES,
    last_four,
    launch_keys,
)
from harness_plugins.launcher.commands.command import Surroundings
from harness_plugins.launcher.complaint import Complaint
from harness_plugins.launcher.errors import CommandError, UsageError
from harness_plugins.launcher.options import Options
from harness_plugins.launcher.route import OFFICIAL, Route
from harness_plugins.launcher.target import OFFLINE, choose_target
from vendor_shims.cordis import Context

_LIMITS = HttpTimeouts(connect_s=10.0, first_byte_s=30.0, idle_s=30.0)
_MAX_BYTES = 4 * 1024 * 1024


def check(provider: str | None, base_url: str | None, surroundings: Surroundings) -> int:
    """Perform one request and say what came of it.

    Raises:
        CommandError: there is no key, it is refused, or nobody answers.
    """
    if surroundings.options.is_offline:
        raise UsageError("dsh auth check sends a request, which --offline forbids")
    keys = launch_keys(surroundings)
    if provider is None and base_url is None:
        provider = OFFICIAL
    options = Options(provider=provider, base_url=base_url)
    target = choose_target(options, keys, has_audience=False)
    if target.route is None:
        if provider == OFFLINE:
            raise UsageError(f"provider {provider!r} needs no key, so there is nothing to check")
        hint = "the key of a server is checked with its address: --base-url URL"
        raise UsageError(f"no key of provider {provider!r} is known here", hint)
    key = keys.find(target.route.key_name)
    return asyncio.run(_check(target.route, key, surroundings))


async def _check(route: Route, key: Credential | None, surroundings: Surroundings) -> int:
    response = await _ask(route, None if key is None else key.value.reveal().strip())
    source = "no key" if key is None else f"{route.key_name} ({SOURCES[key.source]})"
    _judge(response, route, source)
    models = _model_ids(response)
    document = {
        "provider": route.provider,
        "endpoint": route.place,
        "key": None if key is None else route.key_name,
        "source": None if key is None else key.source,
        "lastFour": None if key is None else last_four(key.value.reveal()),
        "models": models,
    }
    count = "an answer, but no list of models" if models is None else f"{len(models)} models"
    text = f"{route.provider}: {route.place} accepts {source}: {count}\n"
    return answer(surroundings, document, text)


async def _ask(route: Route, key: str | None) -> HttpResponse:
    headers = {"accept": "application/json"}
    if key is not None:
        if not all("!" <= character <= "~" for character in key):
            raise CommandError(
                Complaint(
                    "INVALID_CREDENTIAL",
                    f"{route.key_name} holds characters that no key has; was it pasted whole?",
                )
            )
        headers["authorization"] = f"Bearer {key}"
    request = HttpRequest("GET", f"{route.base_url}/models", headers, timeouts=_LIMITS)
    async with Context() as ctx:
        ctx.plugin(HttpService)
        await ctx.settle()
        try:
            return await ctx[HttpService].request(request, max_bytes=_MAX_BYTES)
        except HttpError as error:
            code = "TIMEOUT" if isinstance(error, HttpTimeoutError) else "TRANSPORT"
            hint = "proxy settings and more: dsh doctor --net"
            raise CommandError(Complaint(code, str(error), (hint,))) from error


def _judge(response: HttpResponse, route: Route, source: str) -> None:
    """Refuse an answer that is no success.

    Raises:
        CommandError: `AUTH`, `QUOTA`, `RATE_LIMIT`, or the status.
    """
    if response.is_success:
        return
    code = {401: "AUTH", 403: "AUTH", 402: "QUOTA", 429: "RATE_LIMIT"}.get(
        response.status, f"HTTP_{response.status}"
    )
    hint = f"the key is {source}; another one: dsh auth set {route.key_name}"
    sentence = f"HTTP {response.status} from {route.place}: {_words(response)}"
    raise CommandError(Complaint(code, sentence, (hint,)))


def _words(response: HttpResponse) -> str:
    """Return what a refusal says, in one of the shapes that servers use."""
    try:
        body = response.json()
    except JsonDecodeError:
        return "no reason was given"
    error: Any = cast("dict[str, Any]", body).get("error", body) if isinstance(body, dict) else body
    if isinstance(error, dict):
        error = cast("dict[str, Any]", error).get("message")
    return error if isinstance(error, str) and error else "no reason was given"


def _model_ids(response: HttpResponse) -> list[str] | None:
    try:
        body = response.json()
    except JsonDecodeError:
        return None
    entries: Any = cast("dict[str, Any]", body).get("data") if isinstance(body, dict) else None
    if not isinstance(entries, list):
        return None
    found = [
        cast("dict[str, Any]", each).get("id")
        for each in cast("list[Any]", entries)
        if isinstance(each, dict)
    ]
    return [each for each in found if isinstance(each, str)]
