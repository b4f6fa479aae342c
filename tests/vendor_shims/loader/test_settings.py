"""Configs of rows: settings that change in place, and what is kept of them."""

from __future__ import annotations

from typing import Any, ClassVar

import pytest

from vendor_shims.cordis import Context, FiberState
from vendor_shims.loader import VOLATILE_UPDATE, EntryError
from vendor_shims.schema import Volatile, config, field


@config
class Settings:
    level: Volatile[int] = field(default=3)
    port: int = 80


class Server:
    Config = Settings
    made: ClassVar[list[Server]] = []

    def __init__(self, ctx: Context, settings: Settings) -> None:
        self.settings = settings
        self.told: list[Any] = []
        ctx.on(VOLATILE_UPDATE, self.told.append)
        self.made.append(self)


@pytest.fixture
async def server(w):
    Server.made = []
    w.loader.resolver.register("server", Server)
    await w.create("server", config={"port": 8080})
    [made] = Server.made
    return made


@pytest.mark.spec("01-I35")
async def test_volatile_setting_changes_without_a_restart(w, server):
    others: list[Any] = []
    w.root.on(VOLATILE_UPDATE, others.append)
    await w.loader.update("server", {"config": {"port": 8080, "level": 5}})
    assert Server.made == [server]
    assert server.settings.level.get() == 5
    assert server.told == [["level"]]
    assert others == []
    assert w.fiber("server").raw_config == {"port": 8080, "level": 5}


@pytest.mark.spec("01-I35")
async def test_invalid_volatile_setting_is_logged_and_kept_for_later(w, server):
    await w.loader.update("server", {"config": {"port": 8080, "level": "high"}})
    assert server.settings.level.get() == 3
    assert w.fiber("server").state is FiberState.ACTIVE
    [line] = w.k.logged()
    assert "invalid config" in line
    assert w.entry("server").options["config"]["level"] == "high"


@pytest.mark.spec("01-I35")
async def test_other_settings_restart_as_ever(w, server):
    await w.loader.update("server", {"config": {"port": 81, "level": 6}})
    assert len(Server.made) == 2
    assert server.told == []
    with pytest.raises(EntryError, match="port"):
        await w.loader.update("server", {"config": {"port": "x"}})
    assert Server.made[-1].settings.port == 81


@pytest.mark.spec("01-I03")
async def test_kept_config_leaves_defaults_out(w, server):
    await w.fiber("server").update({"port": 80, "level": 4})
    assert w.entry("server").options["config"] == {"level": 4}
