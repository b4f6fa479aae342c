"""Look for OpenAI-compatible servers on the ports that local ones use."""

import asyncio
from collections.abc import Sequence
from typing import Any, NamedTuple, cast

from harness.http import HttpError, HttpRequest, HttpService, HttpTimeouts
from harness.wire import JsonDecodeError
from harness_plugins.launcher.commands.answer import answer
from harness_plugins.launcher.commands.command import Surroundings
from harness_plugins.launcher.descriptors import complain_on_stderr
from harness_plugins.launcher.errors import UsageError
from vendor_shims.cordis import Context

PORTS = (11434, 8080, 1234, 8000)
"""Where Ollama, llama.cpp, LM Studio and vLLM listen unless they are told otherwise."""

_LIMITS = HttpTimeouts(connect_s=1.0, first_byte_s=3.0, idle_s=3.0)
_MAX_BYTES = 4 * 1024 * 1024


class Server(NamedTuple):
    """A server that answers as an OpenAI-compatible one does."""

    url: str
    models: list[str]


def detect_servers(surroundings: Surroundings, given: Sequence[str]) -> int:
    """Print each server found, with what to paste to use it; return 0.

    Raises:
        UsageError: a given port is none.
    """
    ports = tuple(map(_port, given)) or PORTS
    return asyncio.run(_detect(surroundings, ports))


async def _detect(surroundings: Surroundings, ports: tuple[int, ...]) -> int:
    servers = await _probe_all(ports)
    document = {"servers": [{"baseUrl": each.url, "models": each.models} for each in servers]}
    if not servers:
        shown = ", ".join(map(str, ports))
        complain_on_stderr(f"no server answers on the ports {shown} of this machine\n")
    return answer(surroundings, document, "\n".join(map(_usage, servers)))


def _port(text: str) -> int:
    if not (text.isascii() and text.isdigit() and 0 < int(text) < 65536):
        raise UsageError(f"--port expects a number from 1 to 65535, found {text!r}")
    return int(text)


async def _probe_all(ports: tuple[int, ...]) -> list[Server]:
    async with Context() as ctx:
        ctx.plugin(HttpService, {"trustEnv": False})  # a proxy has no business with this machine
        await ctx.settle()
        found = [await _probe(ctx[HttpService], port) for port in ports]
    return [server for server in found if server is not None]


async def _probe(http: HttpService, port: int) -> Server | None:
    url = f"http://127.0.0.1:{port}/v1"
    try:
        request = HttpRequest("GET", f"{url}/models", timeouts=_LIMITS)
        response = await http.request(request, max_bytes=_MAX_BYTES)
        body: Any = response.json()
    except (HttpError, JsonDecodeError):
        return None  # nobody there, or something else
    entries: Any = cast("dict[str, Any]", body).get("data") if isinstance(body, dict) else None
    if not (response.is_success and isinstance(entries, list)):
        return None
    names = [
        cast("dict[str, Any]", entry).get("id")
        for entry in cast("list[Any]", entries)
        if isinstance(entry, dict)
    ]
    return Server(url, [name for name in names if isinstance(name, str)])


def _usage(server: Server) -> str:
    """Return how to use a server once, and the row that adds it to a composition."""
    from harness.wire import dumps_text

    models = server.models
    model = f" --model {models[0]}" if len(models) > 1 else ""
    listed = ", ".join(f"{{id: {dumps_text(name)}}}" for name in models)
    return f"""\
{server.url}  {", ".join(models) or "no model loaded"}
  once:  dsh run --base-url {server.url}{model} "what to do"
  always, in a patch file:
    - insert:
        - id: llm-local
          name: llm-deepseek
          config: {{provider: local, name: Local, dialect: openai, baseURL: "{server.url}",
                   apiKeyEnv: OPENAI_API_KEY, models: [{listed}]}}
"""
