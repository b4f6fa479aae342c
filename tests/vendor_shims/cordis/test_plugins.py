"""Plugins: accepted forms, the registry, mounting, inject declarations (01 section 15.B)."""

from __future__ import annotations

import asyncio
import types
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from vendor_shims.cordis import (
    Context,
    Dep,
    Fiber,
    FiberState,
    InactiveEffect,
    Inject,
    InjectSpec,
    InvalidPlugin,
    Plugin,
    Service,
    ServiceInactive,
    inject,
    plugin,
)
from vendor_shims.testing import Kernel, record_events, snapshot


def idle(ctx: Context) -> None:
    """Do nothing."""


class Keep:
    """A config class that keeps what it gets."""

    @staticmethod
    def validate(raw: Any) -> Any:
        return ("validated", raw)


# -- accepted forms --------------------------------------------------------------------------


@pytest.mark.spec("01-B01")
async def test_function_gets_context_and_the_same_config(k: Kernel) -> None:
    seen: list[Any] = []
    config = {"a": 1}
    fiber = await k.root.plugin(lambda ctx, config: seen.append((ctx, config)), config)
    assert seen == [(fiber.ctx, config)]
    assert seen[0][1] is config
    assert fiber.config is config
    assert fiber.ctx.config is config


@pytest.mark.spec("01-B02")
async def test_object_with_apply(k: Kernel) -> None:
    class Holder:
        name = "holder"
        inject = ["foo"]  # noqa: RUF012

        def __init__(self) -> None:
            self.seen: list[Any] = []

        def apply(self, ctx: Context, config: Any) -> None:
            self.seen.append((ctx.foo, config))

    holder = Holder()
    fiber = k.root.plugin(holder, 3)
    k.root.provide("foo", 1)
    await fiber.active()
    assert holder.seen == [(1, 3)]
    assert fiber.name == "holder"
    assert k.root.registry.has(holder)
    assert k.root.registry.has(holder.apply)


@pytest.mark.spec("01-B02", "01-B24")
async def test_module_metadata_comes_from_the_module(k: Kernel) -> None:
    seen: list[Any] = []

    def apply(ctx: Context, config: Any) -> None:
        seen.append((ctx.foo, config))

    apply.inject = ["never"]
    apply.name = "never"
    module = types.ModuleType("package.some_plugin")
    vars(module).update(apply=apply, inject=["foo"], Config=Keep, default=idle)
    unnamed = k.root.plugin(module, 1)
    assert unnamed.name == "some_plugin"
    assert unnamed.unsatisfied == {"foo": "nothing provides it"}
    k.root.provide("foo", 2)
    await unnamed.active()
    assert seen == [(2, ("validated", 1))]
    named = types.ModuleType("package.other")
    vars(named).update(apply=lambda ctx: None, name="given")
    assert k.root.plugin(named).name == "given"


@pytest.mark.spec("01-B03")
async def test_class_is_constructed_and_started(k: Kernel) -> None:
    log: list[Any] = []

    class Worker:
        def __init__(self, ctx: Context, config: Any) -> None:
            self.ctx = ctx
            log.append(("init", config))

        def start(self) -> Callable[[], None]:
            log.append("start")
            return lambda: log.append("stop")

    fiber = await k.root.plugin(Worker, 5)
    assert log == [("init", 5), "start"]
    await fiber.dispose()
    assert log == [("init", 5), "start", "stop"]


@pytest.mark.spec("01-B03")
async def test_class_without_start_or_constructor(k: Kernel) -> None:
    class Bare:
        pass

    class Stored(Plugin):
        pass

    assert (await k.root.plugin(Bare)).state is FiberState.ACTIVE
    assert (await k.root.plugin(Stored, 1)).state is FiberState.ACTIVE


@pytest.mark.spec("01-B04")
async def test_parameters_decide_how_a_plugin_is_called(k: Kernel) -> None:
    seen: list[Any] = []

    def only_ctx(ctx: Context) -> None:
        seen.append(("only_ctx", ctx.name))

    def keyword_config(ctx: Context, *, config: Any) -> None:
        seen.append(("keyword_config", config))

    def keywords(*, config: Any, ctx: Context) -> None:
        seen.append(("keywords", config, ctx.name))

    def rest(*args: Any) -> None:
        seen.append(("rest", args[1]))

    def defaulted(ctx: Context, config: Any = 7) -> None:
        seen.append(("defaulted", config))

    class Method:
        def run(self, ctx: Context) -> None:
            seen.append(("method", ctx.fiber.config))

    def wrapped(*args: Any, **kwargs: Any) -> None:
        only_ctx(*args, **kwargs)

    wrapped.__wrapped__ = only_ctx
    bound = partial(lambda tag, ctx, config: seen.append((tag, config)), "partial")
    plugins: list[Any] = [only_ctx, keyword_config, keywords, rest, defaulted, Method().run]
    for one in [*plugins, wrapped, bound]:
        await k.root.plugin(one, 1)
    assert seen == [
        ("only_ctx", "only_ctx"),
        ("keyword_config", 1),
        ("keywords", 1, "keywords"),
        ("rest", 1),
        ("defaulted", 1),
        ("method", 1),
        ("only_ctx", "wrapped"),
        ("partial", 1),
    ]


async def test_builtin_without_a_signature_gets_both_arguments(k: Kernel) -> None:
    fiber = k.root.plugin(min, 1)
    await k.settle()
    assert fiber.state is FiberState.FAILED
    assert isinstance(fiber.error, TypeError)


@pytest.mark.spec("01-B05")
@pytest.mark.parametrize("wrong", [None, {}, 5, types.SimpleNamespace(apply=3), "name"])
async def test_other_objects_are_no_plugins(k: Kernel, wrong: object) -> None:
    with pytest.raises(InvalidPlugin, match=type(wrong).__name__) as caught:
        k.root.plugin(wrong)
    assert isinstance(caught.value, TypeError)
    assert caught.value.code == "INVALID_PLUGIN"
    assert k.root.registry.size == 0


@pytest.mark.spec("01-B06")
async def test_raising_apply_property_is_no_plugin(k: Kernel) -> None:
    class Trap:
        @property
        def apply(self) -> Any:
            raise RuntimeError("inner")

    with pytest.raises(InvalidPlugin, match="Trap"):
        k.root.plugin(Trap())
    assert k.root.registry.size == 0


# -- registry --------------------------------------------------------------------------------


@pytest.mark.spec("01-B07")
async def test_one_record_per_plugin(k: Kernel) -> None:
    registry = k.root.registry
    one, two = k.root.plugin(idle), k.root.plugin(idle)
    assert registry.size == len(registry) == 1
    record = registry.get(idle)
    assert record is not None
    assert list(record.fibers) == [one, two]
    assert list(registry) == list(registry.keys()) == [idle]
    assert list(registry.values()) == [record]
    assert list(registry.items()) == list(registry.entries()) == [(idle, record)]
    assert idle in registry
    await one.dispose()
    assert registry.size == 1
    await two.dispose()
    assert registry.size == 0
    assert registry.get(idle) is None


@pytest.mark.spec("01-B07")
async def test_bound_methods_are_one_plugin_per_object(k: Kernel) -> None:
    class Thing:
        def run(self, ctx: Context) -> None: ...

        def __eq__(self, other: object) -> bool:
            return True

        __hash__ = object.__hash__

    first, second = Thing(), Thing()
    k.root.plugin(first.run)
    k.root.plugin(first.run)
    k.root.plugin(second.run)
    assert k.root.registry.size == 2


@pytest.mark.spec("01-B08")
async def test_disposing_the_outermost_takes_the_nested_with_it(k: Kernel) -> None:
    heard: list[str] = []

    def listening(ctx: Context, inner: Any) -> None:
        ctx.on("x", lambda: heard.append(ctx.name))
        if inner is not None:
            ctx.plugin(inner)

    def third(ctx: Context) -> None:
        listening(ctx, None)

    def second(ctx: Context) -> None:
        listening(ctx, third)

    def first(ctx: Context) -> None:
        listening(ctx, second)

    k.root.on("x", lambda: heard.append("root"))
    outermost = k.root.plugin(first)
    await k.settle()
    k.root.emit("x")
    assert heard == ["root", "first", "second", "third"]
    await outermost.dispose()
    assert k.root.registry.size == 0
    heard.clear()
    k.root.emit("x")
    assert heard == ["root"]
    await outermost.dispose()
    assert snapshot(k.root).listeners == ("x: root",)


@pytest.mark.spec("01-B09")
async def test_delete_forgets_at_once_and_unloads(k: Kernel) -> None:
    log: list[str] = []

    def listening(ctx: Context, config: str) -> Callable[[], None]:
        ctx.on("x", lambda: None)
        return lambda: log.append(config)

    registry = k.root.registry
    k.root.plugin(listening, "one")
    k.root.plugin(listening, "two")
    await k.settle()
    before = snapshot(k.root)
    record = registry.delete(listening)
    assert record is not None
    assert not registry.has(listening)
    again = k.root.plugin(listening, "three")
    k.root.plugin(listening, "four")
    await k.settle()
    assert log == ["one", "two"]
    assert snapshot(k.root) == before
    assert registry.delete(idle) is None
    assert await registry.unload(idle) is None
    unloaded = await registry.unload(listening)
    assert unloaded is not None
    assert again.state is FiberState.DISPOSED
    assert log == ["one", "two", "three", "four"]


@pytest.mark.spec("01-B10")
async def test_disposing_the_root_empties_it_for_further_use(k: Kernel) -> None:
    log: list[str] = []
    fiber = k.root.plugin(lambda ctx: lambda: log.append("undone"))
    k.root.provide("foo", 1)
    await k.settle()
    states = record_events(k.root, "internal/status")
    states_of_root = [event for event in states if event.args[0] is k.root.fiber]
    await k.root.fiber.dispose()
    assert log == ["undone"]
    assert fiber.uid is None
    assert k.root.fiber.uid == 0
    assert k.root.fiber.state is FiberState.ACTIVE
    assert states_of_root == []
    assert k.root.get("foo") is None
    heard: list[int] = []
    k.root.on("x", heard.append)
    k.root.emit("x", 1)
    assert heard == [1]
    await k.root.fiber.dispose()
    await k.root.fiber.dispose()
    await k.root.fiber
    k.root.emit("x", 2)
    assert (heard, log) == ([1], ["undone"])


async def test_awaiting_the_root_waits_for_its_emptying(k: Kernel) -> None:
    async def slow() -> None:
        await k.clock.sleep(1)

    k.root.effect(lambda: slow)
    ended = k.root.fiber.dispose()
    assert k.root.fiber.is_moving
    await k.advance(1)
    await k.root.fiber
    assert ended.is_open


@pytest.mark.spec("01-B10")
async def test_the_root_runs_no_plugin_to_restart(k: Kernel) -> None:
    with pytest.raises(TypeError, match="root fiber"):
        k.root.fiber.restart()
    with pytest.raises(TypeError, match="root fiber"):
        await k.root.fiber.update({})


@pytest.mark.spec("01-B11")
async def test_a_closed_tree_takes_nothing(k: Kernel) -> None:
    async def slow() -> None:
        await k.clock.sleep(1)

    fiber = await k.root.plugin(idle)
    k.root.effect(lambda: slow)
    closings = [asyncio.ensure_future(k.root.close()) for _ in range(2)]
    await k.settle()

    def attempts(ctx: Context) -> list[Callable[[], object]]:
        return [
            lambda: ctx.on("x", lambda: None),
            lambda: ctx.plugin(idle),
            lambda: ctx.effect(lambda: None),
            lambda: ctx.provide("foo", 1),
        ]

    assert not any(closing.done() for closing in closings)
    for attempt in attempts(k.root):
        with pytest.raises(InactiveEffect):
            attempt()
    await k.advance(1)
    assert all(closing.done() for closing in closings)
    await k.root.close()
    assert k.root.fiber.state is FiberState.DISPOSED
    for attempt in [*attempts(k.root), *attempts(fiber.ctx)]:
        with pytest.raises(InactiveEffect) as caught:
            attempt()
        assert caught.value.code == "INACTIVE_EFFECT"


@pytest.mark.spec("01-B23")
async def test_ids_grow_and_are_never_used_again(k: Kernel) -> None:
    fibers: list[Fiber] = []
    for _ in range(3):
        fibers.append(k.root.plugin(idle))
        await k.settle()
    ids = [fiber.uid for fiber in fibers]
    assert ids == [1, 2, 3]
    await fibers[2].dispose()
    assert k.root.plugin(idle).uid == 4


# -- mounting --------------------------------------------------------------------------------


@pytest.mark.spec("01-B12")
async def test_setup_never_runs_inside_the_mount(k: Kernel) -> None:
    ran: list[int] = []
    fiber = k.root.plugin(lambda ctx: ran.append(1))
    assert ran == []
    assert fiber.state is FiberState.LOADING
    await k.settle()
    assert ran == [1]


@pytest.mark.spec("01-B13")
async def test_the_handle_is_the_fiber(k: Kernel) -> None:
    fiber = k.root.plugin(idle, {"a": 1})
    assert fiber is fiber.ctx.fiber
    assert await fiber is fiber
    assert await fiber.restart() is fiber
    assert fiber.state is FiberState.ACTIVE
    assert await fiber.update({"a": 2}) is fiber
    assert (fiber.state, fiber.config, fiber.raw_config) == (FiberState.ACTIVE, {"a": 2}, {"a": 2})
    assert await fiber.wait() is fiber


@pytest.mark.spec("01-B14")
async def test_mounting_from_a_disposer_leaves_no_record(k: Kernel) -> None:
    caught: list[BaseException] = []

    def child(ctx: Context) -> None: ...

    def parent(ctx: Context) -> Callable[[], None]:
        def undo() -> None:
            try:
                ctx.plugin(child)
            except InactiveEffect as error:
                caught.append(error)

        return undo

    binding = k.root.provide("foo", 1)
    fiber = await k.root.inject(["foo"], parent).active()
    binding()
    await k.settle()
    assert fiber.state is FiberState.PENDING
    assert len(caught) == 1
    assert not k.root.registry.has(child)


@pytest.mark.spec("01-B15")
async def test_plugin_event_at_both_ends(k: Kernel) -> None:
    seen: list[Any] = []
    k.root.on("internal/plugin", lambda fiber: seen.append((fiber.uid, fiber.state)))
    fiber = k.root.plugin(idle)
    await fiber
    fiber.dispose()
    fiber.dispose()
    assert seen == [(1, FiberState.PENDING), (None, FiberState.ACTIVE)]


@pytest.mark.spec("01-B16")
@pytest.mark.parametrize("whom", ["fiber", "parent"])
async def test_observer_that_disposes_wins(k: Kernel, whom: str) -> None:
    ran: list[str] = []

    async def leave() -> None:
        await k.clock.sleep(1)

    def user(ctx: Context) -> Any:
        return leave

    def child(ctx: Context) -> None:
        ran.append("child")

    def parent(ctx: Context) -> None:
        ctx.provide("foo", 1)

    mounted: list[Fiber] = []

    def observe(fiber: Fiber) -> None:
        if fiber.name == "child" and fiber.uid is not None:
            mounted.append(fiber)
            fiber.ctx.effect(lambda: lambda: ran.append("undone"))
            (fiber if whom == "fiber" else above).dispose()

    above = await k.root.plugin(parent)
    await k.root.inject(["foo"], user).active()
    k.root.on("internal/plugin", observe)
    below = above.ctx.plugin(child)
    await k.advance(2)
    assert ran == ["undone"]
    assert mounted == [below]
    assert below.state is FiberState.DISPOSED
    assert (above.state is FiberState.DISPOSED) is (whom == "parent")


@pytest.mark.spec("01-B17")
async def test_raising_observer_does_not_stop_the_mount(k: Kernel) -> None:
    seen: list[str] = []

    def fail(fiber: Fiber) -> None:
        raise ValueError("observer")

    k.root.on("internal/plugin", fail)
    k.root.on("internal/plugin", lambda fiber: seen.append(fiber.name))
    fiber = await k.root.plugin(idle)
    assert fiber.state is FiberState.ACTIVE
    assert seen == ["idle"]
    errors = k.logged("error")
    assert len(errors) == 1
    assert "ValueError: observer" in errors[0]
    assert "internal/plugin" in errors[0]


@pytest.mark.spec("01-B17")
async def test_observer_that_raises_a_cancellation_is_contained(k: Kernel) -> None:
    def fail(*_: Any) -> None:
        raise asyncio.CancelledError("not ours")

    for event in ("internal/plugin", "internal/status", "internal/service"):
        k.root.on(event, fail)
    k.root.provide("foo", 1)
    fiber = await k.root.inject(["foo"], lambda ctx: None).active()
    await fiber.dispose()
    assert fiber.state is FiberState.DISPOSED


@pytest.mark.spec("01-B18")
async def test_effect_of_an_observer_on_a_pending_fiber_is_undone(k: Kernel) -> None:
    log: list[str] = []

    def observe(fiber: Fiber) -> None:
        if fiber.uid is not None:
            fiber.ctx.effect(lambda: lambda: log.append("undone"))

    k.root.on("internal/plugin", observe)
    fiber = k.root.inject(["foo"], lambda ctx: log.append("ran"))
    await k.settle()
    await fiber.dispose()
    assert log == ["undone"]


async def test_observer_may_extend_the_inject_declaration(k: Kernel) -> None:
    k.root.on("internal/plugin", lambda fiber: fiber.inject.update(foo=InjectSpec()))
    fiber = k.root.plugin(idle)
    assert fiber.state is FiberState.PENDING
    k.root.provide("foo", 1)
    await fiber.active()


async def test_debug_trees_remember_where_a_plugin_was_mounted() -> None:
    def failing(ctx: Context) -> None:
        raise ValueError("boom")

    async with Context(debug=True) as root:
        fiber = root.plugin(failing)
        await root.settle()
        assert fiber.site is not None
        assert __file__ in fiber.site
        assert fiber.error is not None
        assert any("mounted at" in note for note in fiber.error.__notes__)
        assert root.tree()["fibers"][1]["site"] == fiber.site


# -- inject ----------------------------------------------------------------------------------


@pytest.mark.spec("01-B19")
async def test_inject_mounts_a_callback(k: Kernel) -> None:
    log: list[Any] = []

    def callback(ctx: Context) -> Callable[[], None]:
        log.append(ctx.foo)
        return lambda: log.append("gone")

    fiber = k.root.inject(["foo"], callback)
    await k.settle()
    assert log == []
    assert fiber.name == "callback"
    binding = k.root.provide("foo", 1)
    await k.settle()
    assert log == [1]
    binding()
    await k.settle()
    assert log == [1, "gone"]


@pytest.mark.spec("01-B20")
async def test_method_injection_follows_its_service(k: Kernel) -> None:
    log: list[Any] = []

    class Base(Service):
        key = "host"

        @inject("foo")
        def use(self) -> Callable[[], None]:
            log.append(("use", self.caller.foo, self.ctx.name, self.caller is self.ctx))
            return lambda: log.append("gone")

        @inject("bar")
        def dropped(self) -> None:
            log.append("never")

        def start(self) -> None:
            log.append("start")

    class Host(Base):
        def dropped(self) -> None:
            """Not injected any more."""

    await k.root.plugin(Host)
    assert log == ["start"]
    binding = k.root.provide("foo", 1)
    k.root.provide("bar", 1)
    await k.settle()
    assert log == ["start", ("use", 1, "Host", False)]
    binding()
    await k.settle()
    assert log[2:] == ["gone"]


@pytest.mark.spec("01-B20")
async def test_method_injection_works_in_any_class(k: Kernel) -> None:
    seen: list[Any] = []

    class Host(Plugin):
        caller: Context

        @inject("foo")
        def use(self) -> None:
            seen.append((self.caller.foo, self.ctx.name))

    k.root.provide("foo", 1)
    await k.root.plugin(Host)
    await k.settle()
    assert seen == [(1, "Host")]


@pytest.mark.spec("01-B21")
@pytest.mark.parametrize(
    ("declaration", "expected"),
    [
        (["a", "b"], {"a": InjectSpec(), "b": InjectSpec()}),
        (("a",), {"a": InjectSpec()}),
        ({"a"}, {"a": InjectSpec()}),
        ({"a": {"x": 1}, "b": None}, {"a": InjectSpec({"x": 1}), "b": InjectSpec()}),
        (["a", "m?"], {"a": InjectSpec(), "m": InjectSpec(required=False)}),
        ({"m?": {"x": 1}}, {"m": InjectSpec({"x": 1}, required=False)}),
        (
            Inject(required=["a"], optional={"m": {"x": 1}}),
            {"a": InjectSpec(), "m": InjectSpec({"x": 1}, required=False)},
        ),
        (
            Inject(optional=["m"], reactive=False),
            {"m": InjectSpec(required=False, reactive=False)},
        ),
        ({"m": InjectSpec(required=False)}, {"m": InjectSpec(required=False)}),
        (None, {}),
    ],
)
async def test_inject_spellings(
    k: Kernel, declaration: Any, expected: dict[str, InjectSpec]
) -> None:
    def apply(ctx: Context) -> None: ...

    apply.inject = declaration
    assert k.root.plugin(apply).inject == expected


@pytest.mark.spec("01-B21")
async def test_class_inject_is_merged_over_the_bases(k: Kernel) -> None:
    class Base(Plugin):
        inject = ["a", "b"]  # noqa: RUF012
        optional = ["m"]  # noqa: RUF012

    class Middle(Base):
        b = Dep("b", config={"x": 1})

    class Leaf(Middle):
        inject = ["c", "m"]  # noqa: RUF012

    class Alone(Leaf):
        inject_inherit = False
        inject = ["z"]  # noqa: RUF012

    assert k.root.plugin(Leaf).inject == {
        "a": InjectSpec(),
        "b": InjectSpec({"x": 1}),
        "m": InjectSpec(),
        "c": InjectSpec(),
    }
    assert list(k.root.plugin(Alone).inject) == ["z"]
    assert list(k.root.plugin(Base).inject) == ["a", "b", "m"]


@pytest.mark.spec("01-B22")
async def test_a_name_is_required_or_optional(k: Kernel) -> None:
    def apply(ctx: Context) -> None: ...

    def other(ctx: Context) -> None: ...

    apply.inject = ["foo", "foo?"]
    other.inject = ["foo"]
    other.optional = ["foo"]
    for one in (apply, other):
        with pytest.raises(ValueError, match="both required and optional"):
            k.root.plugin(one)
    with pytest.raises(ValueError, match="both required and optional"):
        Inject(required=["foo"], optional=["foo"])
    assert k.root.registry.size == 0


async def test_one_string_is_no_inject_list(k: Kernel) -> None:
    with pytest.raises(TypeError, match="list or mapping"):
        k.root.inject("foo", idle)


# -- typed inject (01 section 17.2) ----------------------------------------------------------


class Llm(Service):
    key = "llm"

    def ask(self) -> str:
        return f"asked by {self.caller.name}"


class Metrics(Service):
    key = "metrics"


class Loop(Plugin):
    llm = Dep(Llm)
    metrics = Dep(Metrics, optional=True)
    tools = Dep("tools", config={"defer": True})


async def test_dep_declares_and_reads(k: Kernel) -> None:
    made: list[Loop] = []

    class Noted(Loop):
        def __init__(self, ctx: Context, config: Any) -> None:
            super().__init__(ctx, config)
            made.append(self)
            assert self.llm.ask() == "asked by Noted"

    fiber = k.root.plugin(Noted)
    assert fiber.inject == {
        "llm": InjectSpec(),
        "metrics": InjectSpec(required=False),
        "tools": InjectSpec({"defer": True}),
    }
    assert fiber.ctx.intercept_layers("tools") == [{"defer": True}]
    k.root.provide("tools", "the tools")
    llm = await k.root.plugin(Llm)
    await fiber.active()
    loop = made[0]
    assert loop.tools == "the tools"
    assert loop.llm.ask() == "asked by Noted"
    assert loop.metrics is None
    loop.ctx = loop.ctx.extend(tag=1)
    assert loop.llm.ask() == "asked by Noted"
    assert isinstance(Loop.llm, Dep)
    await k.root.plugin(Metrics)
    await k.settle()
    assert isinstance(made[1].metrics, Metrics)
    await llm.dispose()
    with pytest.raises(ServiceInactive, match=r"'llm' of Noted is not available.*PENDING"):
        _ = made[1].llm
    with pytest.raises(ServiceInactive):
        _ = made[1].metrics


@plugin(inject="signature", name="by-signature", Config=Keep)
def by_signature(
    ctx: Context, config: Any, *, llm: Llm, metrics: Metrics | None = None
) -> Callable[[], None]:
    seen = ctx.root.tags["seen"]
    seen.append((llm.ask(), metrics is None, config))
    return lambda: seen.append("gone")


async def test_signature_injection_passes_services_as_keywords() -> None:
    seen: list[Any] = []
    async with Context() as root:
        # The list travels as a tag of the root's derived context, read back through the parent.
        root.kernel.root = root.extend(seen=seen)
        fiber = root.plugin(by_signature, 4)
        assert fiber.name == "by-signature"
        assert fiber.inject == {"llm": InjectSpec(), "metrics": InjectSpec(required=False)}
        await root.plugin(Llm)
        await root.settle()
        assert seen == [("asked by by-signature", True, ("validated", 4))]
        await root.plugin(Metrics)
        await root.settle()
        assert seen[1:] == ["gone", ("asked by by-signature", False, ("validated", 4))]


@plugin(inject="signature")
def keyword_only(*, ctx: Context, llm: Llm) -> None:
    assert ctx.llm == llm


@plugin(inject="signature")
def untyped(ctx: Context, *, llm: int) -> None: ...


async def test_signature_injection_of_keyword_plugins(k: Kernel) -> None:
    fiber = k.root.plugin(keyword_only)
    await k.root.plugin(Llm)
    await fiber.active()
    with pytest.raises(TypeError, match="'llm' of untyped must be annotated"):
        k.root.plugin(untyped)


async def test_plugin_decorator_takes_any_inject(k: Kernel) -> None:
    @plugin(inject=["foo"])
    def waiting(ctx: Context) -> None: ...

    @plugin()
    def bare(ctx: Context) -> None: ...

    assert list(k.root.plugin(waiting).inject) == ["foo"]
    assert k.root.plugin(bare).inject == {}
