"""Profiles mounted row by row, the way a loader does it."""

from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import pytest

from harness.launch import Home
from harness.profiles import LayerOptions, compose_profile, open_profile
from vendor_shims.cordis import Context
from vendor_shims.expressions import Names, interpolate
from vendor_shims.loader import PluginResolver

Mount = Callable[..., AbstractAsyncContextManager[Context]]


@pytest.fixture
def home(tmp_path) -> Home:
    return Home(tmp_path / "home", "environment")


@pytest.fixture
def rows_of(home):
    """Compose a shipped profile; evaluate what is enabled, and every config."""

    def rows(profile: str, env: Mapping[str, str], **options: Any) -> dict[str, dict[str, Any]]:
        composed = compose_profile(open_profile(home, profile), home, LayerOptions(**options))
        names = Names(env=env, home=str(home.root))
        return {
            row["id"]: {
                "name": row["name"],
                "disabled": bool(interpolate(row.get("disabled", False), names)),
                "config": interpolate(row.get("config"), names),
            }
            for row in composed.rows
        }

    return rows


@pytest.fixture
def mount(rows_of) -> Mount:
    """Mount every enabled row of a shipped profile, and wait until all is settled."""

    @asynccontextmanager
    async def mounted(profile: str, **env: str) -> AsyncGenerator[Context]:
        resolver = PluginResolver()
        async with Context() as root:
            for row in rows_of(profile, env).values():
                if not row["disabled"]:
                    root.plugin(resolver.resolve(row["name"]).plugin, row["config"])
            await root.settle(20)
            yield root

    return mounted
