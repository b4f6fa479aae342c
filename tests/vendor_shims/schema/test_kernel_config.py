"""Configuration as the kernel resolves it: at activation, on updates, through listeners."""

from __future__ import annotations

from typing import Annotated, Any

import pytest

from vendor_shims.cordis import Context, FiberState, RejectUpdate, ValidationError
from vendor_shims.schema import Ge, config, field


@config
class Settings:
    size: Annotated[int, Ge(0)] = 1
    tags: list[str] = field(factory=list)


class Sized:
    """A plugin that notes each configuration that it was started with."""

    Config: Any = Settings

    def __init__(self) -> None:
        self.started: list[Any] = []

    def apply(self, ctx: Context, config: Any) -> None:
        self.started.append(config)


@pytest.mark.spec("01-G01")
async def test_a_plugin_receives_the_normalised_object() -> None:
    plugin = Sized()
    raw = {"tags": ["a"]}
    async with Context() as root:
        fiber = root.plugin(plugin, raw)
        root.plugin(plugin)
        await root.settle()
        assert fiber.raw_config is raw
        assert fiber.config == Settings(size=1, tags=["a"])
    assert plugin.started == [Settings(size=1, tags=["a"]), Settings()]


@pytest.mark.spec("01-G02")
async def test_invalid_configuration_fails_the_fiber_and_is_logged_once() -> None:
    plugin = Sized()
    async with Context() as root:
        fiber = root.plugin(plugin, {"size": -1})
        await root.settle()
        assert fiber.state is FiberState.FAILED
        assert isinstance(fiber.error, ValidationError)
        assert isinstance(fiber.error, TypeError)
        assert str(fiber.error).startswith("invalid config:")
        assert len([r for r in root.logger.buffer.records() if r.level == 0]) == 1
    assert plugin.started == []


@pytest.mark.spec("01-G08")
async def test_an_asynchronous_validator_is_refused() -> None:
    class Validator:
        async def validate(self, raw: Any) -> Any:
            return raw

    plugin = Sized()
    plugin.Config = Validator()
    async with Context() as root:
        fiber = root.plugin(plugin, {})
        await root.settle()
        assert isinstance(fiber.error, TypeError)
        assert "async config validation is not supported" in str(fiber.error)
    assert plugin.started == []


@pytest.mark.spec("01-G09")
async def test_an_invalid_update_changes_nothing() -> None:
    plugin = Sized()
    raw = {"size": 2}
    async with Context() as root:
        fiber = root.plugin(plugin, raw)
        await root.settle()
        with pytest.raises(ValidationError):
            await fiber.update({"size": -1})
        assert fiber.state is FiberState.ACTIVE
        assert fiber.raw_config is raw
        assert fiber.config == Settings(size=2)
        await fiber.restart()
    assert plugin.started == [Settings(size=2), Settings(size=2)]


@pytest.mark.spec("01-G10")
@pytest.mark.parametrize("is_rejected", [False, True])
async def test_a_listener_may_handle_or_reject_an_update(*, is_rejected: bool) -> None:
    plugin = Sized()
    old, new = {"size": 1}, {"size": 2}
    async with Context() as root:
        fiber = root.plugin(plugin, old)
        await root.settle()

        def veto(*args: Any) -> Any:
            if is_rejected:
                return RejectUpdate()
            return None

        fiber.ctx.on("internal/update", veto)
        await fiber.update(new)
        assert fiber.raw_config is (old if is_rejected else new)
        assert fiber.config == Settings(size=1 if is_rejected else 2)
    assert len(plugin.started) == 1


@pytest.mark.spec("01-G11")
async def test_without_a_class_the_value_is_passed_as_it_is() -> None:
    seen: list[Any] = []
    raw = {"anything": object()}
    async with Context() as root:
        root.plugin(lambda ctx, config: seen.append(config), raw)
        root.plugin(lambda ctx, config: seen.append(config))
        await root.settle()
    assert seen[0] is raw
    assert seen[1] is None


@pytest.mark.spec("01-G12")
async def test_configuration_is_resolved_anew_on_each_load() -> None:
    plugin = Sized()
    async with Context() as root:
        n_resolved = 0

        def count(*args: Any) -> Any:
            nonlocal n_resolved
            n_resolved += 1
            return {"size": n_resolved}

        root.on("internal/config", count)
        fiber = root.plugin(plugin, {"size": 99})
        await root.settle()
        await fiber.restart()
        assert fiber.raw_config == {"size": 99}
    assert plugin.started == [Settings(size=1), Settings(size=2)]
