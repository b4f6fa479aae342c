"""Compose what `dsh run` runs: one list of plugins with their configuration."""

from collections.abc import Iterator, Mapping
from importlib import resources
from typing import Any, TypeAlias

import attrs

from harness.bash import BashEnvRegistry
from harness.http import HttpService
from harness.launch import Home
from harness.session import SessionStore
from harness_plugins import agent_core
from harness_plugins.bash_local import BashLocal
from harness_plugins.fs_local import FsLocal
from harness_plugins.fs_policy import FsPolicy
from harness_plugins.launcher.route import Route
from harness_plugins.llm_offline import OfflinePlugin
from harness_plugins.llm_retry import RetryPlugin
from harness_plugins.session_persistence_jsonl import JsonlPersistence
from harness_plugins.spill_local import SpillLocal
from harness_plugins.subprocess_local import SubprocessLocal
from harness_plugins.tool_bash import ToolBash
from harness_plugins.tool_fs import ToolFs
from vendor_shims.cordis import Context

Row: TypeAlias = tuple[Any, Mapping[str, Any]]
"""A plugin and its configuration."""

_RETRYABLE = (
    "EMPTY_RESPONSE", "RATE_LIMIT", "SERVER", "STREAM_CLOSED", "TIMEOUT", "TRANSPORT",
)  # fmt: skip


@attrs.frozen(kw_only=True)
class Composition:
    """Say what differs between runs.

    `route` adds an endpoint to the guide, which is always there. `max_steps` bounds a turn. With
    `checks_invariants` the development guard watches the log.
    """

    home: Home
    route: Route | None = None
    max_steps: int | None = None
    chunk_delay_ms: float = 0.0
    checks_invariants: bool = False


def mount(root: Context, composition: Composition) -> None:
    """Mount everything on `root`; the plugins find each other by what they inject."""
    for plugin, config in _rows(composition):
        root.plugin(plugin, dict(config))


def mount_storage(root: Context, home: Home) -> None:
    """Mount only what reads and writes stored sessions."""
    root.plugin(SessionStore)
    root.plugin(JsonlPersistence, {"root": str(home.sessions)})


def _rows(composition: Composition) -> Iterator[Row]:
    home = composition.home
    yield agent_core, _core(composition)
    yield JsonlPersistence, {"root": str(home.sessions)}
    yield OfflinePlugin, {"chunkDelayMs": composition.chunk_delay_ms}
    if composition.route is not None:
        from harness_plugins.llm_deepseek import DeepSeekPlugin

        yield HttpService, {}
        yield _warm_http, {}
        yield DeepSeekPlugin, _endpoint(composition.route)
    yield RetryPlugin, {}
    yield SubprocessLocal, {}
    yield BashEnvRegistry, {"home": str(home.root)}
    yield BashLocal, {}
    yield SpillLocal, {"root": str(home.own / "spill")}
    yield ToolBash, {}
    yield FsLocal, {}
    yield FsPolicy, {}
    yield ToolFs, {"home": str(home.root)}
    if composition.checks_invariants:
        from harness_plugins import invariants

        yield invariants, {}


def _warm_http(ctx: Context) -> None:
    """Load the HTTP client while the rest is put together; the first request needs it."""

    def warm(inner: Context) -> None:
        inner.spawn(inner[HttpService].warm, name="load the HTTP client")

    ctx.inject(["http"], warm)


def _core(composition: Composition) -> Mapping[str, Any]:
    persona = resources.files("harness_plugins.launcher").joinpath("persona.md")
    prompt = {"persona": persona.read_text(encoding="utf-8").strip()}
    return {"loop": {"maxStepsPerTurn": composition.max_steps}, "prompt": prompt}


def _endpoint(route: Route) -> Mapping[str, Any]:
    """Return the adapter's configuration: what it needs to know and what was decided here."""
    policy: dict[str, Any] = {"retryableCodes": list(_RETRYABLE)}
    if route.max_retries is not None:
        policy["maxRetries"] = route.max_retries
    config: dict[str, Any] = {
        "provider": route.provider,
        "dialect": route.dialect,
        "baseURL": route.base_url,
        "apiKeyEnv": route.key_name,
        "retryPolicy": policy,
    }
    if route.dialect == "openai":
        config["name"] = route.provider
    if route.key is not None:
        config["apiKey"] = route.key
    return config
