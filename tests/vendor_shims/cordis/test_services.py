"""Services: views, callers, derivation, lifetime (01 section 15.E)."""

from __future__ import annotations

import asyncio
import copy
import pickle
from collections.abc import Callable
from typing import Any, cast

import pytest

from vendor_shims.cordis import (
    Context,
    Effect,
    FiberState,
    InactiveEffect,
    Service,
    ServiceConflict,
    ServiceNotInjected,
    current_context,
    current_fiber,
)
from vendor_shims.testing import Kernel, fake_service


class Foo(Service):
    key = "foo"
    inject = ("dep",)

    def __init__(self, ctx: Context) -> None:
        super().__init__(ctx)
        self.x = 0

    def register(self, label: str) -> Effect:
        return self.caller.effect(lambda: lambda: None, label)

    async def slow(self, turns: int) -> list[str]:
        seen = [self.caller.name]
        for _ in range(turns):
            await asyncio.sleep(0)
            seen.append(self.caller.name)
        return seen

    @property
    def who(self) -> str:
        return self.caller.name

    def nested(self) -> str:
        return self._inner()

    def _inner(self) -> str:
        return self.who

    def later(self) -> Callable[[], str]:
        return lambda: self.caller.name

    def own(self) -> tuple[str, Any]:
        return self.ctx.name, self.ctx.dep

    def through(self) -> str:
        return self.ctx.dep_service.who

    def optional(self) -> Any:
        found = self.ctx.get("sibling")
        return None if found is None else found.who

    def own_effect(self) -> None:
        self.ctx.effect(lambda: None)


class DepService(Service):
    key = "dep_service"

    @property
    def who(self) -> str:
        return self.caller.name

    def pass_on(self, ctx: Context) -> str:
        return self.as_caller(ctx).who


class Sibling(DepService):
    key = "sibling"


async def mount_foo(k: Kernel) -> Any:
    k.root.provide("dep", "the dep")
    return await k.root.plugin(Foo)


def p(ctx: Context) -> None:
    """Stand for a plugin that uses the service."""


def q(ctx: Context) -> None:
    """Stand for another one."""


p.inject = q.inject = ["foo"]


@pytest.mark.spec("01-E01")
async def test_a_class_service_is_available_after_the_mount(k: Kernel) -> None:
    await mount_foo(k)
    assert isinstance(k.root.foo, Foo)
    assert isinstance(k.root.get("foo"), Foo)
    assert k.root.foo.name == "foo"


@pytest.mark.spec("01-E02", "01-E03")
async def test_effects_of_a_call_belong_to_the_caller(k: Kernel) -> None:
    provider = await mount_foo(k)
    fiber = await k.root.plugin(p).active()
    before = provider.effects()
    fiber.ctx.foo.register("mine")
    k.root.foo.register("of the root")
    assert fiber.effects() == [("mine", [])]
    assert ("of the root", []) in k.root.fiber.effects()
    assert provider.effects() == before
    await fiber.dispose()
    assert fiber.effects() == []
    assert ("of the root", []) in k.root.fiber.effects()


@pytest.mark.spec("01-E03")
async def test_interleaved_callers_never_mix(k: Kernel) -> None:
    await mount_foo(k)
    one, two = await k.root.plugin(p).active(), await k.root.plugin(q).active()
    seen = await asyncio.gather(one.ctx.foo.slow(3), two.ctx.foo.slow(3), k.root.foo.slow(2))
    assert seen == [["p"] * 4, ["q"] * 4, ["root"] * 3]


@pytest.mark.spec("01-E04")
async def test_the_caller_is_right_everywhere(k: Kernel) -> None:
    await mount_foo(k)
    view = (await k.root.plugin(p).active()).ctx.foo
    assert (view.who, view.nested(), view.later()()) == ("p", "p", "p")
    assert await view.slow(1) == ["p", "p"]
    assert view.origin.who == "Foo"
    assert view.origin.caller is view.origin.ctx


@pytest.mark.spec("01-E05")
async def test_views_share_all_state(k: Kernel) -> None:
    await mount_foo(k)
    one, two = await k.root.plugin(p).active(), await k.root.plugin(q).active()
    view, other = one.ctx.foo, two.ctx.foo
    view.x = 1
    view.fresh = "new"
    assert (other.x, view.origin.x, other.fresh) == (1, 1, "new")
    assert view == other == view.origin
    assert hash(view) == hash(other) == hash(view.origin)
    assert view != "foo"
    assert view.origin is other.origin
    assert view.origin.origin is view.origin
    assert {view: 1}[other] == 1
    assert view is one.ctx.foo
    assert one.ctx.extend().foo is not view


@pytest.mark.spec("01-E06")
async def test_a_service_uses_its_own_dependencies(k: Kernel) -> None:
    await mount_foo(k)
    fiber = await k.root.plugin(p).active()
    assert fiber.ctx.foo.own() == ("Foo", "the dep")
    assert k.root.foo.own() == ("Foo", "the dep")


@pytest.mark.spec("01-E07")
async def test_calls_go_on_through_other_services(k: Kernel) -> None:
    class Using(Foo):
        inject = ("dep_service",)

    await k.root.plugin(DepService)
    k.root.provide("dep", 1)
    await k.root.plugin(Using)
    fiber = await k.root.plugin(p).active()
    assert k.root.foo.through() == "Using"
    assert fiber.ctx.foo.through() == "Using"
    view = fiber.ctx.foo
    await fiber.dispose()
    assert view.through() == "Using"
    assert k.root.dep_service.pass_on(view.ctx) == "Using"


@pytest.mark.spec("01-E08")
async def test_an_optional_sibling_is_found_from_any_caller(k: Kernel) -> None:
    await mount_foo(k)

    def elsewhere(ctx: Context) -> None:
        ctx.plugin(p)
        ctx.plugin(Sibling)

    k.root.plugin(elsewhere)
    await k.settle()
    caller = k.root.registry.get(p)
    assert caller is not None
    view = next(iter(caller.fibers)).ctx.foo
    assert view.optional() == "Foo"


@pytest.mark.spec("01-E09")
async def test_config_layers_are_the_callers(k: Kernel) -> None:
    await mount_foo(k)
    fiber = (
        await k.root.intercept("foo", {"a": 1}).inject({"foo": {"b": 2}}, lambda c: None).active()
    )
    assert fiber.ctx.foo.resolve_config({"c": 3}) == {"c": 3, "a": 1, "b": 2}
    assert k.root.foo.resolve_config({"c": 3}) == {"c": 3}


@pytest.mark.spec("01-E10")
async def test_callable_services_and_derivation(k: Kernel) -> None:
    class Call(Service):
        key = "call"

        def __init__(self, ctx: Context) -> None:
            super().__init__(ctx)
            self.config = {"a": 1}
            self.shared: list[int] = []

        def __call__(self) -> dict[str, int]:
            return self.resolve_config(self.config)

    await k.root.plugin(Call)
    ctx = k.root.intercept("call", {"b": 2})
    assert k.root.call() == {"a": 1}
    assert ctx.call() == {"a": 1, "b": 2}
    derived = ctx.call.derive(config={"a": 5, "c": 3})
    assert isinstance(derived, Call)
    assert derived() == {"a": 5, "c": 3, "b": 2}
    assert derived.caller is ctx
    assert derived.shared is ctx.call.shared
    assert ctx.call() == {"a": 1, "b": 2}
    assert derived != ctx.call
    assert derived.as_caller(k.root)() == {"a": 5, "c": 3}


@pytest.mark.spec("01-E11")
async def test_the_second_implementation_fails(k: Kernel) -> None:
    class Interface(Service):
        key = "thing"

    class One(Interface):
        pass

    class Two(Interface):
        pass

    first = await k.root.plugin(One)
    second = k.root.plugin(Two)
    await k.settle()
    assert second.state is FiberState.FAILED
    assert isinstance(second.error, ServiceConflict)
    assert "registered at One" in str(second.error)
    assert isinstance(k.root.thing, One)
    await first.dispose()
    await second.restart()
    assert isinstance(k.root.thing, Two)


@pytest.mark.spec("01-E12")
async def test_the_key_comes_from_class_or_argument(k: Kernel) -> None:
    class Keyless(Service):
        def __init__(self, ctx: Context, config: str | None) -> None:
            super().__init__(ctx, config)

    given = await k.root.plugin(Keyless, "given")
    assert given.ctx.given.name == "given"
    missing = k.root.plugin(Keyless)
    await k.settle()
    assert isinstance(missing.error, ValueError)
    assert "Keyless needs a key" in str(missing.error)


@pytest.mark.spec("01-E13")
async def test_an_unfinished_service_is_removed(k: Kernel) -> None:
    class Slow(Service):
        key = "slow"

        async def start(self) -> None:
            await k.clock.sleep(100)

    fiber = k.root.plugin(Slow)
    await k.settle()
    assert isinstance(k.root.get("slow", strict=False), Slow)
    await fiber.dispose()
    assert k.root.get("slow", strict=False) is None


@pytest.mark.spec("01-E15")
async def test_views_of_a_disposed_provider(k: Kernel) -> None:
    provider = await mount_foo(k)
    using = await k.root.plugin(lambda ctx: None)
    view = k.root.foo.as_caller(using.ctx)
    await provider.dispose()
    assert view.who == "root"
    view.register("still mine")
    assert using.effects() == [("still mine", [])]
    with pytest.raises(InactiveEffect):
        view.own_effect()


@pytest.mark.spec("01-E16")
@pytest.mark.parametrize("slots", ["state", ("a", "b")])
async def test_state_in_slots_is_refused(slots: Any) -> None:
    with pytest.raises(TypeError, match="Slotted keeps state in __slots__"):
        type("Slotted", (Service,), {"__slots__": slots})
    assert type("Fine", (Service,), {"__slots__": ()})


@pytest.mark.spec("01-E17")
async def test_plain_values_are_the_same_for_all(k: Kernel) -> None:
    def function() -> None: ...

    values: dict[str, Any] = {"a": function, "b": {"x": 1}, "c": Foo}
    for name, value in values.items():
        k.root.provide(name, value)
    fiber = await k.root.inject(list(values), lambda ctx: None).active()
    for name, value in values.items():
        assert getattr(fiber.ctx, name) is value
        assert getattr(k.root, name) is value
        assert fiber.ctx.get(name) is value


@pytest.mark.spec("01-E18")
async def test_views_cannot_be_copied(k: Kernel) -> None:
    await mount_foo(k)
    for attempt in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError, match="pass its name"):
            cast("Any", attempt)(k.root.foo)


async def test_services_log_under_their_own_or_the_callers_name(k: Kernel) -> None:
    class Talking(Service):
        key = "talking"

        def talk(self) -> None:
            self.ctx.logger.info("own")
            self.caller.logger.info("callers")

    await k.root.plugin(Talking)

    def speaker(ctx: Context) -> None:
        ctx.talking.talk()

    await k.root.inject(["talking"], speaker).active()
    assert k.logged("info") == ["talking: own", "speaker: callers"]


async def test_what_runs_now_is_known_in_setups_and_disposers(k: Kernel) -> None:
    seen: list[Any] = []

    def apply(ctx: Context) -> Callable[[], None]:
        seen.append((current_context() is ctx, current_fiber() is ctx.fiber))
        return lambda: seen.append((current_context() is ctx, current_fiber() is ctx.fiber))

    fiber = await k.root.plugin(apply)
    await fiber.dispose()
    assert seen == [(True, True), (True, True)]
    assert current_context() is None
    assert current_fiber() is None


async def test_an_optional_value_of_a_sibling_is_not_an_attribute(k: Kernel) -> None:
    await k.root.plugin(fake_service("sibling", answer=lambda: 42))
    fiber = await k.root.plugin(lambda ctx: None)
    found = fiber.ctx.get("sibling")
    assert found is not None
    assert found.answer() == 42
    with pytest.raises(ServiceNotInjected):
        _ = fiber.ctx.sibling


async def test_a_check_may_ask_the_default(k: Kernel) -> None:
    class Asking(Service):
        key = "asking"

        def check(self) -> bool:
            return super().check() and self.caller is not self.ctx

    await k.root.plugin(Asking)
    assert (await k.root.inject(["asking"], p_like).active()).state is FiberState.ACTIVE


def p_like(ctx: Context) -> None:
    """Use the service."""
