"""Contexts: what they are, how they derive, and what a name means in them (01 section 15.A)."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from vendor_shims.cordis import (
    Context,
    CordisError,
    FiberState,
    Service,
    ServiceConflict,
    ServiceInactive,
    ServiceNotInjected,
)
from vendor_shims.testing import Kernel


def providing(name: str, value: Any) -> Any:
    """Return a plugin named after what it provides."""

    def apply(ctx: Context, config: Any) -> None:
        ctx.provide(name, value)

    apply.name = f"provider-of-{name}"
    return apply


# -- what a context is -----------------------------------------------------------------------


@pytest.mark.spec("01-A01")
async def test_new_root_is_active_and_empty(k: Kernel) -> None:
    root = k.root
    assert root.fiber.uid == 0
    assert root.fiber.state is FiberState.ACTIVE
    assert root.root is root
    assert root.parent is None
    assert root.fiber.parent is None
    assert repr(root) == "Context <root>"
    assert root.fiber.effects() == []
    assert root.name == "root"
    assert root.config is None
    assert root.base_dir is None
    assert "uid=0" in repr(root.fiber)


@pytest.mark.spec("01-A02")
async def test_derived_contexts_keep_the_subclass() -> None:
    class Mine(Context):
        pass

    async with Mine() as root:
        seen: list[Context] = []
        root.plugin(seen.append)
        await root.settle()
        derived = [root.extend(a=1), root.isolate("x"), root.intercept("x", {}), *seen]
        assert len(derived) == 4
        assert all(type(one) is Mine for one in derived)


@pytest.mark.spec("01-A03")
async def test_tags_are_inherited_and_the_nearest_wins(k: Kernel) -> None:
    child = k.root.extend(tag="a", base_dir="/here")
    assert child.tag == "a"
    assert not hasattr(k.root, "tag")
    assert child.fiber is k.root.fiber
    assert child.extend(x=1).tag == "a"
    assert child.extend(tag="b").tag == "b"
    assert child.tag == "a"
    assert dict(child.extend(x=1).tags) == {"tag": "a", "base_dir": "/here", "x": 1}
    assert child.base_dir == "/here"
    assert child.require("tag") == "a"
    with pytest.raises(TypeError):
        child.tags["tag"] = "c"  # pyright: ignore[reportIndexIssue]


@pytest.mark.spec("01-A04")
async def test_plugin_reads_the_tags_of_where_it_is_mounted(k: Kernel) -> None:
    seen: list[int] = []
    await k.root.extend(baz=2).plugin(lambda ctx: seen.append(ctx.baz))
    assert seen == [2]


@pytest.mark.spec("01-A33")
async def test_display_names(k: Kernel) -> None:
    class Named:
        name = "bar"

        def apply(self, ctx: Context) -> None: ...

    class Qux:
        pass

    def foo(ctx: Context) -> None: ...

    def outer(ctx: Context) -> None:
        inner.append(ctx.plugin(lambda ctx: None))

    def apply(ctx: Context) -> None: ...

    def dotted(ctx: Context) -> None: ...

    dotted.name = "a.b"
    inner: list[Any] = []
    mounted = [k.root.plugin(one) for one in (foo, Named(), Qux, apply, dotted)]
    anonymous = k.root.plugin(lambda ctx: None)
    k.root.plugin(outer)
    await k.settle()
    assert [fiber.name for fiber in mounted] == ["foo", "bar", "Qux", "root", "a.b"]
    assert repr(mounted[0].ctx) == "Context <foo>"
    assert anonymous.name == "root"
    assert inner[0].name == "outer"


# -- reading services ------------------------------------------------------------------------


@pytest.mark.spec("01-A05")
async def test_service_of_the_root_is_visible_everywhere(k: Kernel) -> None:
    k.root.provide("foo", 1)
    seen: list[int] = []

    def parent(ctx: Context) -> None:
        seen.append(ctx.foo)
        ctx.plugin(lambda inner: seen.append(inner.foo))

    k.root.plugin(parent)
    await k.settle()
    assert seen == [1, 1]


@pytest.mark.spec("01-A06", "01-A34")
async def test_service_of_a_sibling_needs_inject_or_get(k: Kernel) -> None:
    k.root.plugin(providing("foo", 7))
    reader = await k.root.plugin(lambda ctx: None)
    with pytest.raises(ServiceNotInjected, match="foo") as caught:
        _ = reader.ctx.foo
    assert caught.value.name == "foo"
    assert caught.value.fiber is reader
    assert "provider-of-foo" in caught.value.hint
    assert "inject" in caught.value.hint
    assert "ctx.get" in caught.value.hint
    assert reader.ctx.get("foo") == 7
    assert "foo" in reader.ctx
    assert "bar" not in reader.ctx
    assert "plugin" in reader.ctx


@pytest.mark.spec("01-A34")
async def test_a_close_spelling_is_suggested(k: Kernel) -> None:
    k.root.provide("sessions", 1)
    with pytest.raises(ServiceNotInjected, match="did you mean 'sessions'"):
        _ = k.root.session
    with pytest.raises(ServiceNotInjected) as caught:
        _ = k.root.zzzzzzzz
    assert caught.value.hint == ""


@pytest.mark.spec("01-A07")
async def test_child_sees_what_its_ancestor_injected(k: Kernel) -> None:
    k.root.plugin(providing("foo", 1))
    seen: list[int] = []

    def parent(ctx: Context) -> None:
        ctx.plugin(lambda child: child.plugin(lambda inner: seen.append(inner.foo)))

    parent.inject = ["foo"]
    k.root.plugin(parent)
    await k.settle()
    assert seen == [1]


@pytest.mark.spec("01-A08", "01-A09")
async def test_both_lookup_errors_are_attribute_errors(k: Kernel) -> None:
    fiber = k.root.inject(["foo"], lambda ctx: None)
    assert fiber.state is FiberState.PENDING
    with pytest.raises(ServiceInactive, match=r"foo is not available: fiber .* is PENDING"):
        _ = fiber.ctx.foo
    with pytest.raises(ServiceNotInjected, match="bar"):
        _ = fiber.ctx.bar
    for name in ("foo", "bar"):
        assert not hasattr(fiber.ctx, name)
        assert getattr(fiber.ctx, name, 5) == 5
    assert fiber.unsatisfied == {"foo": "nothing provides it"}


@pytest.mark.spec("01-A10")
async def test_root_has_no_free_names(k: Kernel) -> None:
    with pytest.raises(ServiceNotInjected):
        _ = k.root.nope
    assert k.root.get("nope") is None
    assert k.root.get("nope", 7) == 7


@pytest.mark.spec("01-A10")
async def test_root_reads_a_known_service_that_is_not_active_yet(k: Kernel) -> None:
    read: list[Any] = []

    def slow(ctx: Context) -> None:
        ctx.provide("foo", 3)
        read.append((ctx.root.foo, ctx.root.get("foo")))

    await k.root.plugin(slow)
    assert read == [(3, None)]


@pytest.mark.spec("01-A11")
async def test_contexts_take_no_arbitrary_attributes(k: Kernel) -> None:
    fiber = await k.root.plugin(lambda ctx: None)
    for ctx in (k.root, fiber.ctx):
        with pytest.raises(AttributeError, match="without provide"):
            ctx.foo = 1
        with pytest.raises(AttributeError, match="own member"):
            ctx.plugin = 1  # pyright: ignore[reportAttributeAccessIssue]
        with pytest.raises(AttributeError, match="own member"):
            ctx.fiber = 1  # pyright: ignore[reportAttributeAccessIssue]


@pytest.mark.spec("01-A12")
async def test_private_names_and_dunders_never_reach_the_resolver(k: Kernel) -> None:
    asked: list[str] = []
    k.root.on("internal/get", lambda ctx, name, error, next: asked.append(name) or next())
    fiber = await k.root.plugin(lambda ctx: None)
    for name in ("_x", "__deepcopy__", "__wrapped__"):
        with pytest.raises(AttributeError) as caught:
            getattr(fiber.ctx, name)
        assert not isinstance(caught.value, CordisError)
    assert asked == []
    with pytest.raises(ServiceNotInjected):
        _ = fiber.ctx.foo
    assert asked == ["foo"]


async def test_an_observer_can_answer_or_veto_a_read(k: Kernel) -> None:
    def answer(ctx: Context, name: str, error: Exception, next: Any) -> Any:
        if name == "made_up":
            return 42
        if name == "forbidden":
            raise error
        return next()

    k.root.provide("forbidden", 1)
    k.root.provide("foo", 2)
    fiber = await k.root.plugin(lambda ctx: None)
    assert fiber.ctx.forbidden == 1
    k.root.on("internal/get", answer)
    assert fiber.ctx.made_up == 42
    assert fiber.ctx.foo == 2
    assert k.root.forbidden == 1
    with pytest.raises(ServiceNotInjected, match="forbidden"):
        _ = fiber.ctx.forbidden


async def test_an_observer_can_answer_or_veto_a_write(k: Kernel) -> None:
    written: list[Any] = []

    def answer(ctx: Context, name: str, value: Any, error: Exception, next: Any) -> Any:
        if name == "made_up":
            return written.append(value)
        if value == "refused":
            raise error
        return next()

    k.root.provide("foo", 1)
    k.root.on("internal/set", answer)
    k.root.made_up = 5
    k.root.foo = 2
    with pytest.raises(AttributeError):
        k.root.foo = "refused"
    assert (written, k.root.foo) == ([5], 2)


@pytest.mark.spec("01-A13", "01-A14")
async def test_provider_sees_its_own_service_while_loading(k: Kernel) -> None:
    seen: list[Any] = []

    async def provider(ctx: Context) -> None:
        ctx.provide("foo", 1)
        seen.append((ctx.foo, ctx.get("foo"), ctx.get("foo", strict=False)))
        ctx.plugin(lambda child: seen.append(child.foo))

    await k.root.plugin(provider)
    await k.settle()
    assert seen == [(1, None, 1), 1]


@pytest.mark.spec("01-A15")
async def test_disposed_consumer_has_no_service(k: Kernel) -> None:
    k.root.plugin(providing("foo", 1))
    fiber = await k.root.inject(["foo"], lambda ctx: None).active()
    assert fiber.ctx.foo == 1
    await fiber.dispose()
    with pytest.raises(ServiceInactive, match="DISPOSED"):
        _ = fiber.ctx.foo


@pytest.mark.spec("01-A16")
async def test_consumer_uses_the_service_in_its_disposers(k: Kernel) -> None:
    provider = k.root.plugin(providing("foo", 1))
    seen: list[int] = []

    def consumer(ctx: Context) -> Any:
        async def stop() -> None:
            await ctx.kernel.clock.sleep(1)
            seen.append(ctx.foo)

        return stop

    await k.root.inject(["foo"], consumer).active()
    ended = provider.dispose()
    await k.advance(1)
    await ended
    assert seen == [1]


@pytest.mark.spec("01-A35")
async def test_require_is_attribute_access_as_a_function(k: Kernel) -> None:
    k.root.plugin(providing("foo", 1))
    k.root.plugin(providing("other", 2))
    k.root.accessor("acc", lambda ctx: ctx.name)
    fiber = await k.root.extend(tag="t").inject(["foo"], lambda ctx: None).active()
    for name in ("foo", "acc", "tag", "name", "fiber"):
        assert fiber.ctx.require(name) == getattr(fiber.ctx, name)
    for name in ("other", "nope", "_hidden"):
        with pytest.raises(AttributeError) as by_name:
            fiber.ctx.require(name)
        with pytest.raises(AttributeError) as by_attribute:
            getattr(fiber.ctx, name)
        assert type(by_name.value) is type(by_attribute.value)
        assert str(by_name.value) == str(by_attribute.value)


@pytest.mark.spec("01-A36")
async def test_none_is_a_value(k: Kernel) -> None:
    k.root.plugin(providing("foo", None))
    seen: list[Any] = []
    fiber = await k.root.inject(["foo"], lambda ctx: seen.append(ctx.foo)).active()
    assert seen == [None]
    assert fiber.state is FiberState.ACTIVE
    assert fiber.ctx.get("foo", 5) is None


async def test_services_by_class(k: Kernel) -> None:
    class Foo(Service):
        key = "foo"

    class Keyless:
        pass

    await k.root.plugin(Foo)
    consumer = await k.root.inject([Foo], lambda ctx: None).active()
    assert isinstance(consumer.ctx[Foo], Foo)
    assert isinstance(k.root.get(Foo), Foo)
    with pytest.raises(TypeError, match="not a service class"):
        k.root[Keyless]  # pyright: ignore[reportArgumentType]
    with pytest.raises(TypeError, match="not iterable"):
        list(k.root)


async def test_contexts_are_compared_by_identity_and_survive_copy_probes(k: Kernel) -> None:
    assert k.root == k.root
    assert k.root != k.root.extend()
    assert copy.copy({"a": k.root})["a"] is k.root


async def test_a_subclass_may_keep_private_state(k: Kernel) -> None:
    k.root._mine = 5
    assert k.root._mine == 5
    assert repr(k.root.realm("foo")) == "<Realm 'foo' None>"


# -- providing -------------------------------------------------------------------------------


@pytest.mark.spec("01-A17")
async def test_a_name_has_one_provider(k: Kernel) -> None:
    await k.root.plugin(providing("foo", 1))
    with pytest.raises(ServiceConflict, match=r'service "foo" .* provider-of-foo'):
        k.root.provide("foo", 2)
    assert k.root.get("foo") == 1
    assert k.root.fiber.effects() == [("ctx.plugin()", [])]


@pytest.mark.parametrize("name", ["", "_x", "a.b", "1a"])
async def test_a_service_name_is_a_public_identifier(k: Kernel, name: str) -> None:
    with pytest.raises(ValueError, match="cannot be a service name"):
        k.root.provide(name, 1)


@pytest.mark.spec("01-A18")
async def test_accessors_services_and_members_share_one_name_space(k: Kernel) -> None:
    k.root.accessor("acc", lambda ctx: 1)
    k.root.provide("foo", 1)
    with pytest.raises(CordisError, match="already declared as accessor"):
        k.root.provide("acc", 1)
    with pytest.raises(CordisError, match="already declared as accessor"):
        k.root.accessor("acc", lambda ctx: 2)
    with pytest.raises(CordisError, match="already declared as service"):
        k.root.accessor("foo", lambda ctx: 2)
    for name in ("on", "plugin", "fiber", "root"):
        with pytest.raises(CordisError, match="member of Context"):
            k.root.accessor(name, lambda ctx: 2)
        with pytest.raises(CordisError, match="member of Context"):
            k.root.provide(name, 2)
    assert (k.root.acc, k.root.foo) == (1, 1)


@pytest.mark.spec("01-A19")
async def test_accessors_read_and_write_for_the_accessing_context(k: Kernel) -> None:
    written: list[Any] = []
    k.root.accessor("plain", lambda ctx: ctx.name)
    both = k.root.accessor("both", lambda ctx: 1, lambda ctx, value: written.append((ctx, value)))
    fiber = await k.root.plugin(providing("foo", 1))
    assert fiber.ctx.plain == "provider-of-foo"
    with pytest.raises(AttributeError, match="no setter"):
        k.root.plain = 1
    fiber.ctx.both = 3
    assert written == [(fiber.ctx, 3)]
    both()
    assert "both" not in k.root
    k.root.accessor("both", lambda ctx: 2)
    both()
    assert k.root.both == 2


@pytest.mark.spec("01-A20")
async def test_set_changes_the_value_in_place(k: Kernel) -> None:
    provider = await k.root.plugin(providing("foo", 1))
    loads: list[int] = []
    consumer = await k.root.inject(["foo"], lambda ctx: loads.append(ctx.foo)).active()
    provider.ctx.set("foo", 2)
    assert consumer.ctx.foo == 2
    provider.ctx.foo = 3
    await k.settle()
    assert (consumer.ctx.foo, k.root.get("foo"), loads) == (3, 3, [1])


@pytest.mark.spec("01-A21")
async def test_only_the_provider_may_set(k: Kernel) -> None:
    await k.root.plugin(providing("foo", 1))
    with pytest.raises(AttributeError, match="in multiple fibers"):
        k.root.foo = 2
    with pytest.raises(AttributeError, match="without provide"):
        k.root.set("bar", 2)
    assert k.root.get("foo") == 1


async def test_a_withdrawn_name_stays_declared(k: Kernel) -> None:
    binding = k.root.provide("foo", 1)
    assert binding.active
    assert binding() is None
    assert binding() is None
    assert not binding.active
    assert "foo" in k.root
    assert k.root.get("foo") is None
    with pytest.raises(ServiceNotInjected):
        _ = k.root.foo


async def test_withdrawing_waits_for_dependents_and_the_provider_sees_it_until_then(
    k: Kernel,
) -> None:
    async def stop() -> None:
        await k.clock.sleep(2)

    consumer = k.root.inject(["foo"], lambda ctx: stop)
    binding = k.root.provide("foo", 1)
    await consumer.active()
    ended = binding()
    assert ended is not None
    assert binding() is ended
    assert k.root.get("foo", strict=False) is None
    assert k.root.foo == 1
    await k.advance(1)
    assert not ended.is_open
    await k.advance(1)
    await ended
    assert not hasattr(k.root, "foo")
    assert consumer.state is FiberState.PENDING


# -- mixins ----------------------------------------------------------------------------------


class Counter(Service):
    key = "counter"

    def __init__(self, ctx: Context) -> None:
        super().__init__(ctx)
        self.v = 1

    def who(self) -> str:
        return self.caller.name


@pytest.mark.spec("01-A22")
async def test_mixin_forwards_to_the_service_of_the_caller(k: Kernel) -> None:
    k.root.mixin("counter", ["who", "v"])
    assert k.root.v is None
    provider = await k.root.plugin(Counter)

    def reader(ctx: Context) -> None: ...

    def stranger(ctx: Context) -> None: ...

    inside = await k.root.inject(["counter"], reader).active()
    outside = await k.root.plugin(stranger)
    assert (inside.ctx.who(), inside.ctx.v) == ("reader", 1)
    assert (k.root.who(), k.root.v) == ("root", 1)
    inside.ctx.v = 5
    assert (k.root.v, provider.ctx.counter.v) == (5, 5)
    with pytest.raises(ServiceNotInjected, match="counter"):
        outside.ctx.who()
    await provider.dispose()
    assert k.root.who is None
    with pytest.raises(ServiceInactive):
        _ = inside.ctx.v


@pytest.mark.spec("01-A23")
async def test_mixin_is_one_effect_with_a_child_per_name(k: Kernel) -> None:
    undo = k.root.mixin("counter", {"v": "x", "who": "y"})
    assert k.root.fiber.effects() == [
        ('ctx.mixin("counter")', [('ctx.accessor("x")', []), ('ctx.accessor("y")', [])])
    ]
    undo()
    assert k.root.fiber.effects() == []
    assert "x" not in k.root
    assert "y" not in k.root


async def test_mixin_of_the_same_member_is_shared_until_the_last_goes(k: Kernel) -> None:
    inner = k.root.isolate("counter")
    first, second = k.root.mixin("counter", ["v"]), inner.mixin("counter", ["v"])
    outer = await k.root.plugin(Counter)
    other = await inner.plugin(Counter)
    other.ctx.v = 5
    assert (outer.ctx.v, other.ctx.v) == (1, 5)
    first()
    first()
    assert (outer.ctx.v, other.ctx.v) == (1, 5)
    second()
    assert "v" not in k.root
    k.root.mixin("counter", {"v": "v", "who": "w"})
    for names in ({"who": "v"}, {"v": "w"}):
        with pytest.raises(CordisError, match="already declared as accessor"):
            k.root.mixin("counter", names)
    with pytest.raises(CordisError, match="already declared as accessor"):
        k.root.mixin("other", ["v"])
    with pytest.raises(CordisError, match="already declared as accessor"):
        k.root.accessor("v", lambda ctx: 0)
    assert outer.ctx.v == 1


async def test_mixin_of_an_object_and_its_clash(k: Kernel) -> None:
    class Thing:
        a = 1
        b = 2

    k.root.accessor("b", lambda ctx: 0)
    with pytest.raises(CordisError, match="already declared"):
        k.root.mixin(Thing(), ["a", "b"])
    assert "a" not in k.root
    undo = k.root.mixin(Thing(), ["a"])
    k.root.a = 7
    assert k.root.a == 7
    assert undo.label == 'ctx.mixin("Thing")'


# -- isolation and intercepts ----------------------------------------------------------------


@pytest.mark.spec("01-A24")
async def test_isolated_levels_have_their_own_provider(k: Kernel) -> None:
    loads: list[int] = []
    unloads: list[int] = []
    levels = [k.root, k.root.isolate("foo"), k.root.isolate("foo")]

    def consumer(ctx: Context, config: int) -> Any:
        loads.append(config)
        return lambda: unloads.append(config)

    consumer.inject = ["foo"]
    for number, level in enumerate(levels):
        level.plugin(consumer, number)
    bindings = []
    for number, level in enumerate(levels):
        bindings.append(level.provide("foo", number))
        await k.settle()
        assert loads == list(range(number + 1))
    bindings[2]()
    await k.settle()
    assert unloads == [2]
    bindings[0]()
    await k.settle()
    assert unloads == [2, 0]


@pytest.mark.spec("01-A25")
async def test_a_shared_label_is_a_shared_realm(k: Kernel) -> None:
    log: list[str] = []

    def consumer(ctx: Context, config: str) -> Any:
        log.append(f"load {config} {ctx.foo}")
        return lambda: log.append(f"unload {config}")

    consumer.inject = ["foo"]
    k.root.provide("foo", 0)
    one, two = k.root.isolate("foo", "shared"), k.root.isolate("foo", "shared")
    one.plugin(consumer, "one")
    two.plugin(consumer, "two")
    binding = one.provide("foo", 1)
    await k.settle()
    assert log == ["load one 1", "load two 1"]
    assert (two.get("foo"), k.root.get("foo")) == (1, 0)
    binding()
    await k.settle()
    assert sorted(log[2:]) == ["unload one", "unload two"]
    assert k.root.foo == 0
    assert k.root.isolate("bar", "shared").get("foo") == 0


@pytest.mark.spec("01-A26")
async def test_one_plugin_works_in_two_realms(k: Kernel) -> None:
    k.root.provide("foo", 1)
    fiber = await k.root.plugin(lambda ctx: None)
    ctx = fiber.ctx
    isolated = ctx.isolate("foo")
    assert isolated.get("foo") is None
    with pytest.raises(ServiceNotInjected):
        _ = isolated.foo
    isolated.provide("foo", 2)
    assert (isolated.foo, ctx.foo) == (2, 1)
    isolated.foo = 3
    assert (isolated.get("foo"), ctx.get("foo")) == (3, 1)


@pytest.mark.spec("01-A26")
async def test_one_plugin_provides_a_name_in_two_realms(k: Kernel) -> None:
    def provider(ctx: Context) -> None:
        ctx.provide("foo", 1)
        ctx.isolate("foo", "second").provide("foo", 2)

    fiber = await k.root.plugin(provider)
    second = k.root.isolate("foo", "second")
    assert (k.root.get("foo"), second.get("foo")) == (1, 2)
    await fiber.dispose()
    assert (k.root.get("foo"), second.get("foo")) == (None, None)


@pytest.mark.spec("01-A26")
async def test_a_required_name_says_nothing_about_another_realm(k: Kernel) -> None:
    k.root.provide("foo", 1)
    fiber = await k.root.inject(["foo"], lambda ctx: None).active()
    with pytest.raises(ServiceNotInjected):
        _ = fiber.ctx.isolate("foo").foo


@pytest.mark.spec("01-A27")
async def test_isolated_service_of_the_root_needs_no_inject(k: Kernel) -> None:
    isolated = k.root.isolate("foo")
    isolated.provide("foo", 2)
    k.root.provide("foo", 1)
    seen: list[int] = []
    await isolated.plugin(lambda ctx: seen.append(ctx.foo))
    assert seen == [2]
    outer = await k.root.plugin(lambda ctx: None)
    with pytest.raises(ServiceNotInjected):
        _ = (await outer.ctx.isolate("foo").plugin(lambda ctx: None)).ctx.foo


@pytest.mark.spec("01-A28")
async def test_isolating_one_name_leaves_the_others(k: Kernel) -> None:
    k.root.provide("bar", 1)
    isolated = k.root.isolate("foo")
    assert isolated.bar == 1
    isolated.provide("baz", 2)
    assert k.root.baz == 2


@pytest.mark.spec("01-A29")
async def test_isolating_does_not_filter_events(k: Kernel) -> None:
    heard: list[int] = []
    k.root.isolate("foo").on("x", heard.append)
    k.root.emit("x", 1)
    assert heard == [1]


@pytest.mark.spec("01-A30")
async def test_a_service_as_target_reaches_its_own_realm(k: Kernel) -> None:
    class Foo(Service):
        key = "foo"

        def shout(self) -> None:
            self.ctx.emit("shouted", target=self)

    ctx = k.root.isolate("foo")
    heard: list[str] = []
    ctx.on("shouted", lambda: heard.append("inside"))
    k.root.on("shouted", lambda: heard.append("outside"))
    k.root.on("shouted", lambda: heard.append("anyway"), unfiltered=True)
    await ctx.plugin(Foo)
    ctx.foo.shout()
    assert heard == ["inside", "anyway"]


class Configured(Service):
    key = "conf"


@pytest.mark.spec("01-A31", "01-E09")
async def test_config_layers_merge_from_the_root_inwards(k: Kernel) -> None:
    await k.root.plugin(Configured)
    outer = k.root.intercept("conf", {"a": 2, "b": 2})
    inner = outer.intercept("conf", {"b": 3}).intercept("unrelated", {"b": 9})
    merged = inner.conf.resolve_config({"a": 1, "x": 0}, {"h": 1})
    assert merged == {"a": 2, "x": 0, "b": 3, "h": 1}
    assert outer.conf.resolve_config() == {"a": 2, "b": 2}
    assert k.root.conf.resolve_config() == {}


@pytest.mark.spec("01-A31")
async def test_a_config_class_may_merge_layers_itself(k: Kernel) -> None:
    class Summing(Service):
        key = "sums"

        class Config:
            @classmethod
            def validate(cls, raw: Any) -> Any:
                return raw

            @classmethod
            def merge(cls, *layers: dict[str, int]) -> dict[str, int]:
                return {"total": sum(layer.get("n", 0) for layer in layers)}

    await k.root.plugin(Summing)
    ctx = k.root.intercept("sums", {"n": 2}).intercept("sums", {"n": 3})
    assert ctx.sums.resolve_config({"n": 1}, {"n": 4}) == {"total": 10}


@pytest.mark.spec("01-A32")
async def test_inject_config_is_the_innermost_layer(k: Kernel) -> None:
    await k.root.plugin(Configured)
    ctx = k.root.intercept("conf", {"z": 1, "y": 1})
    with_layer = await ctx.inject({"conf": {"z": 9}}, lambda ctx: None).active()
    without = await ctx.inject({"conf": None}, lambda ctx: None).active()
    assert with_layer.ctx.conf.resolve_config() == {"z": 9, "y": 1}
    assert without.ctx.intercept_layers("conf") == [{"z": 1, "y": 1}]
