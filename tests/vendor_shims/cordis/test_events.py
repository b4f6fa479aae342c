"""Events: registration, the dispatch modes but the waterfall, and targets (01 section 15.F)."""

from __future__ import annotations

import asyncio
import copy
import functools
import pickle
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from vendor_shims.cordis import (
    Bail,
    Context,
    Emit,
    Fiber,
    InactiveEffect,
    Parallel,
    Serial,
    Waterfall,
    current_target,
    declared_events,
    described,
)
from vendor_shims.testing import Kernel, fake_service, kernel

SAID = Emit[[str]]("kernel-events/said")
FACT = Emit[[str]]("kernel-events/fact", contain=True, doc="What happened.")
ASK = Serial[[str], int]("kernel-events/ask")
PICK = Bail[[str], int]("kernel-events/pick")
FLUSH = Parallel[[str]]("kernel-events/flush")


async def mounted(parent: Context, setup: Callable[[Context], Any] = lambda _: None) -> Context:
    """Mount a plugin named `user` and return its context once it is active."""
    contexts: list[Context] = []

    def user(ctx: Context) -> Any:
        contexts.append(ctx)
        return setup(ctx)

    await parent.plugin(user)
    return contexts[0]


def noting(log: list[Any], item: Any, answer: Any = None) -> Callable[..., Any]:
    def listener(*args: Any) -> Any:
        log.append(item)
        return answer

    return listener


def noting_later(log: list[Any], item: Any, answer: Any = None) -> Callable[..., Awaitable[Any]]:
    async def listener(*args: Any) -> Any:
        await asyncio.sleep(0)
        log.append(item)
        return answer

    return listener


def failing(log: list[Any], item: Any) -> Callable[..., Any]:
    def listener(*args: Any) -> Any:
        log.append(item)
        raise ValueError(item)

    return listener


class Only:
    """A target that reaches the contexts with one tag."""

    def __init__(self, tag: str) -> None:
        self.tag = tag

    def __event_filter__(self, ctx: Context) -> bool:
        return ctx.tags.get("tag") == self.tag


async def dispatch(ctx: Context, mode: str, name: str, *args: Any, target: Any = None) -> Any:
    """Dispatch in any mode and await what is to be awaited."""
    answer = getattr(ctx, mode)(name, *args, target=target)
    return await answer if mode in ("parallel", "serial") else answer


MODES = ["emit", "parallel", "serial", "bail", "waterfall"]


# -- registration ----------------------------------------------------------------------------


@pytest.mark.spec("01-F01")
async def test_a_listener_hears_until_it_is_disposed(k: Kernel) -> None:
    log: list[Any] = []
    listener = k.root.on(SAID, log.append)
    k.root.emit(SAID, "a")
    k.root.emit("kernel-events/said", "b")
    listener()
    k.root.emit(SAID, "c")
    assert log == ["a", "b"]


@pytest.mark.spec("01-F01")
async def test_listeners_are_shared_by_all_contexts_of_a_tree(k: Kernel) -> None:
    log: list[Any] = []
    ctx = await mounted(k.root)
    ctx.on("event", noting(log, "plugin"))
    k.root.on("event", noting(log, "root"))
    ctx.extend(a=1).emit("event")
    k.root.emit("event")
    assert log == ["plugin", "root"] * 2


@pytest.mark.spec("01-F01")
async def test_registration_is_a_decorator_without_listener(k: Kernel) -> None:
    log: list[Any] = []

    @k.root.on("event", prepend=True)
    def often() -> None:
        log.append("on")

    @k.root.once("event")
    def once() -> None:
        log.append("once")

    k.root.emit("event")
    k.root.emit("event")
    assert log == ["on", "once", "on"]
    often()
    assert k.root.off("event", often)
    assert not k.root.off("event", once)


@pytest.mark.spec("01-F02")
async def test_once_fires_once_even_when_it_emits_again(k: Kernel) -> None:
    log: list[Any] = []

    def again() -> None:
        log.append("once")
        k.root.emit("event")

    k.root.once("event", again)
    k.root.emit("event")
    k.root.emit("event")
    assert log == ["once"]
    assert k.root.fiber.effects() == []


@pytest.mark.spec("01-F02")
async def test_once_fires_once_in_concurrent_dispatches(k: Kernel) -> None:
    log: list[Any] = []
    k.root.on("event", noting_later(log, "first"))
    k.root.once("event", noting_later(log, "once", answer="answer"))
    answers = await asyncio.gather(*(k.root.serial("event") for _ in range(3)))
    assert sorted(map(str, answers)) == ["None", "None", "answer"]
    assert log.count("once") == 1


@pytest.mark.spec("01-F03")
async def test_each_prepended_listener_goes_to_the_front(k: Kernel) -> None:
    log: list[int] = []
    k.root.on("event", noting(log, 1))
    k.root.on("event", noting(log, 2), prepend=True)
    k.root.on("event", noting(log, 3), prepend=True)
    k.root.on("event", noting(log, 4))
    k.root.emit("event")
    assert log == [3, 2, 1, 4]


@pytest.mark.spec("01-F04")
async def test_one_function_may_listen_twice(k: Kernel) -> None:
    log: list[Any] = []
    listener = noting(log, "heard")
    first, second = k.root.on("event", listener), k.root.on("event", listener)
    k.root.emit("event")
    assert log == ["heard"] * 2
    first()
    k.root.emit("event")
    assert log == ["heard"] * 3
    assert second.active
    assert not first.active


@pytest.mark.spec("01-F32")
async def test_the_disposer_tells_whether_it_removed(k: Kernel) -> None:
    listener = k.root.on("event", print)
    assert listener() is True
    assert listener() is False


@pytest.mark.spec("01-F32")
async def test_off_removes_the_newest_registration_of_the_own_fiber(k: Kernel) -> None:
    log: list[Any] = []
    heard = noting(log, "heard")
    ctx = await mounted(k.root)
    ctx.on("event", heard)
    first, second = k.root.on("event", heard), k.root.on("event", heard)
    assert k.root.off("event", heard)
    assert (first.active, second.active) == (True, False)
    assert k.root.off("event", heard)
    assert not k.root.off("event", heard)
    assert not ctx.off("other", heard)
    k.root.emit("event")
    assert log == ["heard"]


@pytest.mark.spec("01-F32")
async def test_off_finds_what_an_effect_collected(k: Kernel) -> None:
    heard = noting([], "heard")
    listener = k.root.on("event", heard)
    k.root.effect(lambda: [k.root.effect(lambda: listener), k.root.on("event", print)])
    assert k.root.off("event", heard)
    assert not listener.active
    assert not k.root.off("event", heard)


@pytest.mark.spec("01-F28")
async def test_a_waiting_fiber_may_listen_and_stops_when_disposed(k: Kernel) -> None:
    log: list[Any] = []
    contexts: list[Context] = []
    k.root.once("internal/plugin", lambda fiber: contexts.append(fiber.ctx))
    fiber = k.root.inject(["missing"], print)
    [ctx] = contexts
    ctx.on("event", noting(log, "heard"))
    k.root.emit("event")
    await fiber.dispose()
    k.root.emit("event")
    assert log == ["heard"]
    with pytest.raises(InactiveEffect):
        ctx.on("event", print)


@pytest.mark.spec("01-F27")
async def test_listeners_vanish_with_their_plugin_and_its_children(k: Kernel) -> None:
    log: list[Any] = []
    children: list[Context] = []

    def child(ctx: Context) -> None:
        children.append(ctx)
        ctx.on("event", noting(log, "child"))

    def parent(ctx: Context) -> None:
        ctx.on("event", noting(log, "parent"))
        ctx.plugin(child)

    ctx = await mounted(k.root, parent)
    await k.settle()
    k.root.emit("event")
    assert log == ["parent", "child"]
    await ctx.fiber.dispose()
    k.root.emit("event")
    assert log == ["parent", "child"]
    assert not k.root.events.has_listeners("event")


@pytest.mark.spec("01-F34")
async def test_a_disposer_reaches_the_listeners_registered_before_it(k: Kernel) -> None:
    log: list[Any] = []

    def setup(ctx: Context) -> None:
        ctx.on("event", noting(log, "earlier"))
        ctx.effect(lambda: lambda: ctx.emit("event"))
        ctx.on("event", noting(log, "later"))

    ctx = await mounted(k.root, setup)
    await ctx.fiber.dispose()
    assert log == ["earlier"]


# -- all modes -------------------------------------------------------------------------------


@pytest.mark.spec("01-F05")
async def test_without_listeners_there_is_no_answer(k: Kernel) -> None:
    for mode in MODES:
        assert await dispatch(k.root, mode, "event") is None
    assert k.root.waterfall("event", 2, inner=lambda value: value + 1) == 3


@pytest.mark.spec("01-F33")
@pytest.mark.parametrize("mode", MODES)
async def test_arguments_pass_untouched(k: Kernel, mode: str) -> None:
    seen: list[Any] = []
    args = ({"a": 1}, print, Only("a"), [1])
    k.root.on("event", lambda *got: seen.append(got))
    await dispatch(k.root, mode, "event", *args)
    [got] = seen
    assert all(one is other for one, other in zip(got, args, strict=False))
    assert len(got) == len(args) + (mode == "waterfall")


@pytest.mark.spec("01-F06")
@pytest.mark.parametrize("mode", MODES)
async def test_a_target_reaches_whom_its_filter_passes(k: Kernel, mode: str) -> None:
    log: list[str] = []
    one, other = k.root.extend(tag="a"), k.root.extend(tag="b")

    def hears(name: str) -> Callable[..., Any]:
        def listener(*args: Any) -> Any:
            log.append(name)
            return args[-1]() if mode == "waterfall" else None

        return listener

    one.on("event", hears("a"))
    other.on("event", hears("b"))
    other.on("event", hears("unfiltered"), unfiltered=True)
    await dispatch(k.root, mode, "event", target=Only("a"))
    assert log == ["a", "unfiltered"]
    log.clear()
    await dispatch(k.root, mode, "event")
    assert log == ["a", "b", "unfiltered"]
    log.clear()
    await dispatch(k.root, mode, "event", target="without a filter")
    assert log == ["a", "b", "unfiltered"]
    assert k.root.events.has_listeners("event", Only("c"))
    assert not k.root.events.has_listeners("nothing", Only("c"))


@pytest.mark.spec("01-F06")
async def test_a_service_as_target_reaches_its_own_realm(k: Kernel) -> None:
    log: list[Any] = []
    hub = fake_service("hub")
    isolated = k.root.isolate("hub", "elsewhere")
    isolated.plugin(hub)
    k.root.plugin(hub)
    await k.settle()
    k.root.on("event", noting(log, "default"))
    isolated.on("event", noting(log, "elsewhere"))
    k.root.emit("event", target=k.root.get("hub"))
    assert log == ["default"]
    k.root.emit("event", target=isolated.get("hub"))
    assert log == ["default", "elsewhere"]


@pytest.mark.spec("01-F07")
@pytest.mark.parametrize("mode", MODES)
async def test_a_failing_filter_reaches_the_dispatcher(k: Kernel, mode: str) -> None:
    class Broken:
        def __event_filter__(self, ctx: Context) -> bool:
            raise ValueError("filter")

    log: list[Any] = []
    k.root.on("event", noting(log, "heard"))
    with pytest.raises(ValueError, match="filter"):
        await dispatch(k.root, mode, "event", target=Broken())
    assert log == []


@pytest.mark.spec("01-F22")
@pytest.mark.parametrize("mode", MODES)
async def test_a_listener_added_meanwhile_waits_for_the_next_dispatch(k: Kernel, mode: str) -> None:
    log: list[Any] = []

    def adding(*args: Any) -> Any:
        log.append("adding")
        k.root.on("event", passing(log, "added"))
        return args[-1]() if args else None

    def passing(log: list[Any], item: Any) -> Callable[..., Any]:
        def listener(*args: Any) -> Any:
            log.append(item)
            return args[-1]() if args else None

        return listener

    k.root.once("event", adding)
    await dispatch(k.root, mode, "event")
    assert log == ["adding"]
    await dispatch(k.root, mode, "event")
    assert log == ["adding", "added"]


@pytest.mark.spec("01-F23")
@pytest.mark.parametrize("mode", MODES)
async def test_a_listener_removed_before_its_turn_is_skipped(k: Kernel, mode: str) -> None:
    log: list[Any] = []

    def removing(*args: Any) -> Any:
        log.append("removing")
        removed()
        return args[-1]() if args else None

    k.root.on("event", removing)
    removed = k.root.on("event", noting(log, "removed"))
    k.root.on("event", noting(log, "last"))
    await dispatch(k.root, mode, "event")
    assert log == ["removing", "last"]


@pytest.mark.spec("01-F23")
async def test_a_plugin_disposed_meanwhile_is_not_called(k: Kernel) -> None:
    log: list[Any] = []

    async def disposing() -> None:
        await ctx.fiber.dispose()

    k.root.on("event", disposing)
    ctx = await mounted(k.root, lambda ctx: ctx.on("event", noting(log, "disposed")))
    k.root.on("event", noting_later(log, "last"))
    await k.root.serial("event")
    assert log == ["last"]


@pytest.mark.spec("01-F36")
async def test_an_event_inside_the_same_event_has_its_own_order(k: Kernel) -> None:
    log: list[Any] = []

    def nesting(depth: int) -> None:
        log.append(("first", depth))
        if depth < 2:
            added = k.root.on("event", lambda depth: log.append(("added", depth)))
            k.root.emit("event", depth + 1)
            added()

    k.root.on("event", nesting)
    k.root.on("event", lambda depth: log.append(("last", depth)))
    k.root.emit("event", 1)
    assert log == [("first", 1), ("first", 2), ("last", 2), ("added", 2), ("last", 1)]


@pytest.mark.spec("01-F38")
@pytest.mark.parametrize("mode", MODES)
async def test_a_listener_can_ask_for_the_target(k: Kernel, mode: str) -> None:
    log: list[Any] = []

    def listener(*args: Any) -> Any:
        log.append(current_target())
        k.root.emit("inner", target="inner")
        k.root.emit("inner")
        log.append(current_target())
        return args[-1]() if args else None

    async def listener_later(*args: Any) -> Any:
        log.append(current_target())
        await asyncio.sleep(0)
        await k.root.serial("inner", target="inner later")
        log.append(current_target())
        return await args[-1]() if args else None

    k.root.on("event", listener)
    if mode != "bail":
        k.root.on("event", listener_later)
    k.root.on("inner", lambda: log.append(current_target()))

    async def inner() -> None:
        await asyncio.sleep(0)
        log.append(current_target())

    if mode == "waterfall":
        await k.root.waterfall("event", inner=inner, target="outer")
    else:
        await dispatch(k.root, mode, "event", target="outer")
    await k.settle()
    later = [] if mode == "bail" else ["outer", "inner later", "outer"]
    innermost = ["outer"] if mode == "waterfall" else []
    assert log == ["outer", "inner", None, "outer", *later, *innermost]
    assert current_target() is None


@pytest.mark.spec("01-F38")
async def test_a_spawned_task_has_no_target(k: Kernel) -> None:
    log: list[Any] = []

    async def work() -> None:
        log.append(current_target())

    k.root.on("event", lambda: k.root.spawn(work) and None)
    k.root.emit("event", target="target")
    await k.settle()
    assert log == [None]


# -- emit ------------------------------------------------------------------------------------


@pytest.mark.spec("01-F09")
async def test_emit_reaches_all_listeners_and_then_raises(k: Kernel) -> None:
    log: list[Any] = []
    k.root.on("event", noting(log, 1))
    k.root.on("event", failing(log, 2))
    k.root.on("event", noting(log, 3))
    with pytest.raises(ValueError, match="2"):
        k.root.emit("event")
    assert log == [1, 2, 3]
    k.root.on("event", failing(log, 4))
    with pytest.raises(ExceptionGroup) as caught:
        k.root.emit("event")
    assert [str(error) for error in caught.value.exceptions] == ["2", "4"]
    assert k.logged() == []


@pytest.mark.spec("01-F09")
async def test_contained_errors_are_logged_by_the_listener(k: Kernel) -> None:
    log: list[Any] = []
    ctx = await mounted(k.root)
    ctx.on("event", failing(log, 1))
    ctx.on(FACT, failing(log, 2))
    k.root.on("event", noting(log, 3))
    k.root.emit("event", contain=True)
    k.root.emit(FACT, "a")
    k.root.emit("kernel-events/fact", "a")
    assert log == [1, 3, 2, 2]
    assert [text.split("\n")[0] for text in k.logged()] == [
        "user: ValueError: 1",
        "user: ValueError: 2",
        "user: ValueError: 2",
    ]
    assert "failing" in k.logged()[0]
    assert "'kernel-events/fact'" in k.logged()[1]
    with pytest.raises(ValueError, match="2"):
        k.root.emit(FACT, "a", contain=False)


@pytest.mark.spec("01-F10")
async def test_an_asynchronous_listener_runs_later_and_its_error_is_logged(k: Kernel) -> None:
    log: list[Any] = []

    async def broken() -> None:
        await asyncio.sleep(0)
        raise ValueError("later")

    ctx = await mounted(k.root)
    ctx.on("event", broken)
    ctx.on("event", noting_later(log, "later"))
    k.root.emit("event")
    assert log == []
    await k.settle()
    assert log == ["later"]
    [text] = k.logged()
    assert text.startswith("user: ValueError: later")
    assert "broken of event 'event'" in text


@pytest.mark.spec("01-F10")
@pytest.mark.parametrize("register", ["on", "once"])
async def test_an_asynchronous_listener_is_cancelled_with_its_plugin(
    k: Kernel, register: str
) -> None:
    log: list[Any] = []

    async def waiting() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            log.append("cleaned up")

    def setup(ctx: Context) -> Any:
        getattr(ctx, register)("event", waiting)
        return lambda: log.append("disposer")

    ctx = await mounted(k.root, setup)
    k.root.emit("event")
    k.root.emit("event")
    await k.settle()
    await ctx.fiber.dispose()
    n_running = 2 if register == "on" else 1
    assert sorted(log) == ["cleaned up"] * n_running + ["disposer"]
    assert k.logged() == []


@pytest.mark.spec("01-F10")
async def test_removing_a_listener_cancels_what_it_runs(k: Kernel) -> None:
    log: list[Any] = []

    async def waiting() -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            log.append("cancelled")
            await k.root.kernel.clock.sleep(1)

    ctx = await mounted(k.root)
    listener = ctx.on("event", waiting)
    k.root.emit("event")
    assert listener()
    assert ctx.fiber.effects() == []
    end = ctx.fiber.dispose()
    await k.settle()
    assert log == ["cancelled"]
    assert not end.is_open
    await k.advance(1)
    assert end.is_open


@pytest.mark.spec("01-F10")
async def test_a_collected_listener_is_undone_with_what_it_runs(k: Kernel) -> None:
    log: list[Any] = []

    async def waiting() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            log.append("cancelled")

    group = k.root.effect(lambda: k.root.on("event", waiting))
    k.root.emit("event")
    assert k.root.fiber.effects() == [("anonymous", [('ctx.on("event")', [])])]
    undone = group()
    assert undone is not None
    await undone
    assert log == ["cancelled"]


@pytest.mark.spec("01-F10")
async def test_a_listener_that_ignores_its_cancellation_stops_no_unload(k: Kernel) -> None:
    release = asyncio.Event()

    async def stubborn() -> None:
        while not release.is_set():
            try:
                await release.wait()
            except asyncio.CancelledError:
                continue

    ctx = await mounted(k.root, lambda ctx: ctx.on("event", stubborn))
    k.root.emit("event")
    end = ctx.fiber.dispose()
    await k.advance(10)
    assert end.is_open
    [warning] = k.logged("warn")
    assert 'ctx.on("event") of user' in warning
    release.set()


@pytest.mark.spec("01-F10")
def test_an_asynchronous_listener_needs_a_running_loop() -> None:
    async def listener() -> None: ...

    root = Context()
    root.on("event", listener)
    with pytest.raises(RuntimeError, match="running event loop") as caught:
        root.emit("event")
    assert "asynchronous listener" in "".join(caught.value.__notes__)


@pytest.mark.spec("01-F10")
async def test_a_listener_that_gives_a_fiber_or_an_effect_is_synchronous(k: Kernel) -> None:
    def mounting() -> Fiber:
        return k.root.plugin(print)

    k.root.on("event", mounting)
    k.root.on("event", lambda: k.root.effect(lambda: None))
    k.root.emit("event")
    assert len(k.root.kernel.tasks) == 0
    assert isinstance(k.root.bail("event"), Fiber)
    await k.settle()


# -- parallel --------------------------------------------------------------------------------


@pytest.mark.spec("01-F08")
async def test_parallel_waits_for_all_and_groups_all_failures(k: Kernel) -> None:
    log: list[Any] = []

    async def broken() -> None:
        await k.root.kernel.clock.sleep(2)
        raise ValueError("slow")

    async def slow() -> None:
        await k.root.kernel.clock.sleep(3)
        log.append("slow")

    k.root.on("event", broken)
    k.root.on("event", failing(log, "quick"))
    k.root.on("event", slow)
    dispatched = asyncio.ensure_future(k.root.parallel("event"))
    await k.advance(2)
    assert not dispatched.done()
    await k.advance(1)
    with pytest.raises(ExceptionGroup) as caught:
        await dispatched
    assert [str(error) for error in caught.value.exceptions] == ["slow", "quick"]
    assert log == ["quick", "slow"]


@pytest.mark.spec("01-F08")
@pytest.mark.parametrize("is_async", [False, True])
async def test_parallel_groups_even_one_failure(k: Kernel, *, is_async: bool) -> None:
    async def broken() -> None:
        raise ValueError("one")

    k.root.on("event", broken if is_async else failing([], "one"))
    with pytest.raises(ExceptionGroup) as caught:
        await k.root.parallel("event")
    assert [str(error) for error in caught.value.exceptions] == ["one"]


@pytest.mark.spec("01-F08")
async def test_parallel_runs_its_listeners_at_the_same_time(k: Kernel) -> None:
    met = asyncio.Barrier(3)

    async def meeting() -> None:
        await met.wait()

    for _ in range(3):
        k.root.on(FLUSH, lambda _: meeting())
    await asyncio.wait_for(k.root.parallel(FLUSH, "a"), 5)


@pytest.mark.spec("01-F08")
@pytest.mark.parametrize("n_others", [0, 1])
async def test_a_listener_that_ends_the_program_ends_the_dispatch(k: Kernel, n_others: int) -> None:
    async def cancelled() -> None:
        raise asyncio.CancelledError

    for _ in range(n_others):
        k.root.on("event", noting_later([], "other"))
    k.root.on("event", cancelled)
    with pytest.raises(asyncio.CancelledError):
        await k.root.parallel("event")


@pytest.mark.spec("01-F08")
async def test_a_program_that_ends_while_listeners_start_drops_no_coroutine(k: Kernel) -> None:
    def ending() -> None:
        raise KeyboardInterrupt

    k.root.on("event", noting_later([], "never"))
    k.root.on("event", ending)
    with pytest.raises(KeyboardInterrupt):
        await k.root.parallel("event")


@pytest.mark.spec("01-F37")
@pytest.mark.parametrize("n_listeners", [1, 3])
async def test_cancelling_the_dispatcher_cancels_its_listeners(k: Kernel, n_listeners: int) -> None:
    log: list[Any] = []

    async def waiting() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            log.append("cleaned up")

    for _ in range(n_listeners):
        k.root.on("event", functools.partial(waiting))
    dispatched = asyncio.ensure_future(k.root.parallel("event"))
    await k.settle()
    dispatched.cancel()
    await k.settle()
    assert dispatched.cancelled()
    assert log == ["cleaned up"] * n_listeners


@pytest.mark.spec("01-F37")
async def test_unloading_a_listener_leaves_it_to_the_dispatcher(k: Kernel) -> None:
    log: list[Any] = []

    async def slow() -> None:
        await k.root.kernel.clock.sleep(5)
        log.append("slow")

    ctx = await mounted(k.root, lambda ctx: ctx.on("event", slow))
    dispatched = asyncio.ensure_future(k.root.parallel("event"))
    await k.settle()
    await ctx.fiber.dispose()
    await k.advance(5)
    await dispatched
    assert log == ["slow"]


# -- serial and bail -------------------------------------------------------------------------


@pytest.mark.spec("01-F11")
@pytest.mark.parametrize("answer", [0, "", []])
async def test_the_first_answer_ends_a_serial_dispatch(k: Kernel, answer: Any) -> None:
    log: list[Any] = []
    k.root.on("event", noting(log, 1, answer=None))
    k.root.on("event", noting_later(log, 2, answer=False))
    k.root.on("event", noting_later(log, 3, answer=answer))
    k.root.on("event", noting(log, 4, answer=True))
    assert await k.root.serial("event") is answer
    assert log == [1, 2, 3]


@pytest.mark.spec("01-F11")
async def test_bail_follows_the_same_rule_synchronously(k: Kernel) -> None:
    log: list[Any] = []
    k.root.on("event", noting(log, 1, answer=None))
    k.root.on("event", noting(log, 2, answer=False))
    k.root.on("event", noting(log, 3, answer=0))
    k.root.on("event", noting(log, 4, answer=True))
    answer = k.root.bail("event")
    assert answer == 0
    assert answer is not False
    assert log == [1, 2, 3]
    k.root.on(PICK, lambda _: None)
    assert k.root.bail(PICK, "a") is None


@pytest.mark.spec("01-F12")
@pytest.mark.parametrize("mode", ["serial", "bail"])
async def test_an_error_ends_the_dispatch(k: Kernel, mode: str) -> None:
    log: list[Any] = []
    k.root.on("event", failing(log, 1))
    k.root.on("event", noting(log, 2))
    with pytest.raises(ValueError, match="1"):
        await dispatch(k.root, mode, "event")
    assert log == [1]


@pytest.mark.spec("01-F13")
async def test_bail_refuses_an_asynchronous_listener(k: Kernel) -> None:
    k.root.on("event", noting_later([], "never"))
    with pytest.raises(TypeError, match=r"noting_later.*listener of the synchronous event 'event'"):
        k.root.bail("event")


# -- descriptors -----------------------------------------------------------------------------


@pytest.mark.spec("01-F35")
async def test_debug_mode_refuses_the_wrong_mode() -> None:
    async with kernel(debug=True) as k:
        for mode in MODES:
            name = f"kernel-events/{mode}-only"
            declared = [Emit, Parallel, Serial, Bail, Waterfall][MODES.index(mode)]
            declared[[], Any](name) if mode in MODES[2:] else declared[[]](name)
            for other in MODES:
                if other == mode:
                    await dispatch(k.root, other, name)
                else:
                    with pytest.raises(TypeError, match=f"declared as {mode}"):
                        await dispatch(k.root, other, name)
        k.root.emit("kernel-events/undeclared")


@pytest.mark.spec("01-F35")
async def test_an_event_has_one_mode() -> None:
    again = Emit[[str]]("kernel-events/said")
    assert again == SAID
    with pytest.raises(TypeError, match="already declared with mode 'emit', not 'bail'"):
        Bail[[str], int]("kernel-events/said")


@pytest.mark.spec("01-F35")
async def test_a_descriptor_describes_itself() -> None:
    assert described("kernel-events/fact") is FACT
    assert described("kernel-events/nobody") == "kernel-events/nobody"
    assert FACT.doc == "What happened."
    assert repr(ASK) == "Serial('kernel-events/ask')"
    assert str(ASK) == "kernel-events/ask"
    assert copy.copy(FACT) is FACT
    assert pickle.loads(pickle.dumps(FACT)) is FACT
    names = [str(event) for event in declared_events()]
    assert names == sorted(names)
    assert "kernel-events/ask" in names
