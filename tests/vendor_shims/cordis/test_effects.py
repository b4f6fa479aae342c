"""Effects: what a body may return, when it is undone, in which order (01 section 15.D)."""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest

from vendor_shims.cordis import (
    Context,
    Effect,
    EffectMeta,
    Fiber,
    FiberState,
    InactiveEffect,
    InvalidEffect,
    ReentrantAwait,
    current_fiber,
)
from vendor_shims.logger import LogRecord
from vendor_shims.testing import Kernel, fake_service
from vendor_shims.timer import TimerService


async def mounted(k: Kernel, body: Callable[[Context], Any] = lambda _: None) -> Context:
    """Mount a plugin named `user` and return its context once it is active."""
    contexts: list[Context] = []

    def user(ctx: Context) -> Any:
        contexts.append(ctx)
        return body(ctx)

    await k.root.plugin(user)
    return contexts[0]


def appending(log: list[Any], item: Any) -> Callable[[], None]:
    return lambda: log.append(item)


def failing(log: list[Any], item: Any) -> Callable[[], None]:
    def disposer() -> None:
        log.append(item)
        raise ValueError(item)

    return disposer


def slowly(k: Kernel, log: list[Any], item: Any, *, seconds: float = 1.0) -> Callable[[], Any]:
    async def disposer() -> None:
        await k.root.kernel.clock.sleep(seconds)
        log.append(item)

    return disposer


async def joined(waiting: Any) -> Any:
    return await waiting


# -- one effect ------------------------------------------------------------------------------


@pytest.mark.spec("01-D01")
async def test_an_effect_of_a_plugin_is_undone_once_with_it(k: Kernel) -> None:
    log: list[str] = []
    ctx = await mounted(k, lambda ctx: ctx.effect(lambda: appending(log, "undone"), "test"))
    assert ctx.fiber.effects() == [("test", [])]
    await ctx.fiber.dispose()
    await ctx.fiber.dispose()
    assert log == ["undone"]
    assert ctx.fiber.effects() == []


@pytest.mark.spec("01-D02")
async def test_an_effect_is_undone_by_calling_it(k: Kernel) -> None:
    log: list[str] = []
    disposer = k.root.effect(lambda: appending(log, "undone"))
    assert k.root.fiber.effects() == [EffectMeta("anonymous", [])]
    assert disposer.active
    assert disposer() is None
    assert disposer() is None
    assert not disposer.active
    assert log == ["undone"]
    assert k.root.fiber.effects() == []


@pytest.mark.spec("01-D03")
async def test_a_generator_collects_what_it_yields_and_returns(k: Kernel) -> None:
    log: list[int] = []

    def inner() -> Iterator[Any]:
        yield k.root.on("inner", print)
        yield appending(log, 3)

    def outer() -> Iterator[Any]:
        yield appending(log, 1)
        yield k.root.on("outer", print)
        yield appending(log, 2)
        return k.root.effect(inner)

    disposer = k.root.effect(outer)
    later = k.root.on("later", print)
    inside = [('ctx.on("outer")', []), ("anonymous", [('ctx.on("inner")', [])])]
    assert k.root.fiber.effects() == [("anonymous", inside), ('ctx.on("later")', [])]
    assert [child.label for child in disposer.children] == ['ctx.on("outer")', "anonymous"]
    disposer()
    disposer()
    assert log == [3, 2, 1]
    assert k.root.fiber.effects() == [('ctx.on("later")', [])]
    assert not k.root.events.has_listeners("inner")
    later()


@pytest.mark.spec("01-D04")
async def test_asynchronous_setup_returns_a_disposer(k: Kernel) -> None:
    log: list[int] = []

    async def body() -> Callable[[], None]:
        await k.root.kernel.clock.sleep(0.1)
        log.append(1)
        return appending(log, 2)

    disposer = k.root.effect(body)
    await k.advance(0.1)
    assert log == [1]
    assert disposer() is None
    assert log == [1, 2]


@pytest.mark.spec("01-D04")
async def test_a_coroutine_may_stand_for_its_function(k: Kernel) -> None:
    async def body() -> None:
        await asyncio.sleep(0)

    disposer = k.root.effect(body())
    assert await disposer is disposer
    disposer()


@pytest.mark.spec("01-D05")
async def test_an_undo_waits_for_the_asynchronous_setup(k: Kernel) -> None:
    log: list[int] = []

    async def body() -> Callable[[], None]:
        await k.root.kernel.clock.sleep(0.1)
        log.append(1)
        return appending(log, 2)

    disposer = k.root.effect(body)
    undone = disposer()
    assert undone is not None
    assert log == []
    assert k.root.fiber.effects() == []
    await k.advance(0.1)
    assert log == [1, 2]
    await undone
    assert disposer() is undone


def three_steps(k: Kernel, log: list[Any]) -> Callable[[], AsyncIterator[Any]]:
    async def body() -> AsyncIterator[Any]:
        for step in (1, 3, 5):
            await k.root.kernel.clock.sleep(0.1)
            log.append(step)
            yield appending(log, step + 1)

    return body


@pytest.mark.spec("01-D06")
async def test_an_asynchronous_generator_is_collected_to_its_end(k: Kernel) -> None:
    log: list[int] = []
    disposer = k.root.effect(three_steps(k, log))
    await k.advance(0.3)
    assert log == [1, 3, 5]
    disposer()
    assert log == [1, 3, 5, 6, 4, 2]


@pytest.mark.spec("01-D07")
@pytest.mark.parametrize(("at", "expected"), [(0.05, [1, 2]), (0.15, [1, 3, 4, 2])])
async def test_an_asynchronous_generator_stops_at_its_next_step(
    k: Kernel, at: float, expected: list[int]
) -> None:
    log: list[int] = []
    disposer = k.root.effect(three_steps(k, log))
    await k.advance(at)
    disposer()
    await k.advance(1)
    assert log == expected


@pytest.mark.spec("01-D08")
@pytest.mark.parametrize("at", [0.05, 0.15, 1.0])
async def test_a_generator_is_closed_before_its_disposers_run(k: Kernel, at: float) -> None:
    log: list[Any] = []

    async def body() -> AsyncIterator[Any]:
        try:
            async for step in three_steps(k, log)():
                yield step
        finally:
            log.append("finally")

    disposer = k.root.effect(body)
    await k.advance(at)
    disposer()
    await k.advance(1)
    assert log.count("finally") == 1
    n_steps = log.index("finally")
    assert log[:n_steps] == [1, 3, 5][:n_steps]
    assert log[n_steps + 1 :] == [6, 4, 2][3 - n_steps :]


@pytest.mark.spec("01-D08")
async def test_a_synchronous_generator_runs_to_its_end_and_is_closed(k: Kernel) -> None:
    log: list[Any] = []

    def body() -> Iterator[Any]:
        try:
            yield appending(log, "undone")
            yield 5
        finally:
            log.append("finally")

    with pytest.raises(InvalidEffect):
        k.root.effect(body)
    assert log == ["finally", "undone"]


@pytest.mark.spec("01-D09")
async def test_awaiting_an_effect_gives_the_disposer_after_setup(k: Kernel) -> None:
    log: list[Any] = []

    async def body() -> AsyncIterator[Any]:
        await asyncio.sleep(0)
        yield slowly(k, log, 1)
        yield slowly(k, log, 2)
        log.append("ready")

    disposer = await k.root.effect(body)
    assert isinstance(disposer, Effect)
    assert log == ["ready"]
    undone = disposer()
    await k.advance(2)
    await joined(undone)
    assert log == ["ready", 2, 1]


@pytest.mark.spec("01-D09")
async def test_any_iterator_is_collected(k: Kernel) -> None:
    log: list[Any] = []

    class Steps:
        def __init__(self) -> None:
            self.left = [1, 2]

        def __aiter__(self) -> Any:
            return self

        async def __anext__(self) -> Any:
            if not self.left:
                raise StopAsyncIteration
            return appending(log, self.left.pop(0))

    first = await k.root.effect(Steps)
    second = k.root.effect(lambda: iter([appending(log, 3), None, appending(log, 4)]))
    first()
    second()
    assert log == [2, 1, 4, 3]


# -- failing setup ---------------------------------------------------------------------------


@pytest.mark.spec("01-D10")
async def test_a_failing_body_registers_nothing(k: Kernel) -> None:
    def body() -> None:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        k.root.effect(body)
    assert k.root.fiber.effects() == []
    assert k.logged() == []


@pytest.mark.spec("01-D10")
async def test_a_failing_generator_undoes_what_it_yielded(k: Kernel) -> None:
    log: list[Any] = []

    def body() -> Iterator[Any]:
        yield appending(log, 1)
        yield failing(log, 2)
        yield slowly(k, log, 3)
        raise LookupError("no")

    with pytest.raises(LookupError, match="no"):
        k.root.effect(body)
    assert log == []
    assert k.root.fiber.effects() == []
    await k.advance(1)
    assert log == [3, 2, 1]
    assert k.logged() == ["root: ValueError: 2"]


@pytest.mark.spec("01-D10")
async def test_unload_joins_the_rollback_of_a_failed_body(k: Kernel) -> None:
    log: list[Any] = []

    def body() -> Iterator[Any]:
        yield slowly(k, log, 1)
        raise LookupError("no")

    ctx = await mounted(k)
    with pytest.raises(LookupError):
        ctx.effect(body)
    end = ctx.fiber.dispose()
    await k.settle()
    assert not end.is_open
    await k.advance(1)
    assert end.is_open
    assert log == [1]


@pytest.mark.spec("01-D11")
async def test_failing_asynchronous_setup_undoes_and_is_logged_once(k: Kernel) -> None:
    log: list[Any] = []

    async def body() -> AsyncIterator[Any]:
        yield appending(log, 1)
        yield slowly(k, log, 2)
        raise ValueError("no")

    ctx = await mounted(k)
    disposer = ctx.effect(body)
    with pytest.raises(ValueError, match="no"):
        await disposer
    assert ctx.fiber.effects() == []
    await k.advance(1)
    assert log == [2, 1]
    assert k.logged() == ["user: ValueError: no"]
    assert ctx.fiber.state is FiberState.ACTIVE
    assert ctx.fiber.table == {}


@pytest.mark.spec("01-D11")
async def test_cancellation_that_a_setup_raises_itself_is_its_failure(k: Kernel) -> None:
    async def body() -> None:
        raise asyncio.CancelledError

    disposer = k.root.effect(body)
    with pytest.raises(asyncio.CancelledError):
        await disposer
    assert len(k.logged()) == 1


@pytest.mark.spec("01-D12")
async def test_an_undo_that_was_asked_for_raises_the_late_setup_error(k: Kernel) -> None:
    log: list[Any] = []

    async def body() -> AsyncIterator[Any]:
        try:
            yield appending(log, 1)
        finally:
            await k.root.kernel.clock.sleep(1)
            raise ValueError("no")

    disposer = k.root.effect(body)
    undone = disposer()
    waiting = asyncio.ensure_future(joined(undone))
    await k.advance(1)
    with pytest.raises(ValueError, match="no"):
        await waiting
    assert log == [1]
    assert k.logged() == []


@pytest.mark.spec("01-D12")
async def test_an_error_that_nobody_waits_for_is_logged(k: Kernel) -> None:
    async def body() -> None:
        await k.root.kernel.clock.sleep(1)
        raise ValueError("setup")

    async def disposer() -> None:
        await k.root.kernel.clock.sleep(1)
        raise ValueError("undo")

    k.root.effect(body)()
    k.root.effect(lambda: disposer)()
    await k.advance(1)
    assert sorted(k.logged()) == ["root: ValueError: setup", "root: ValueError: undo"]


# -- undoing ---------------------------------------------------------------------------------


@pytest.mark.spec("01-D13")
async def test_every_disposer_runs_and_the_caller_gets_the_errors(k: Kernel) -> None:
    log: list[int] = []
    one = k.root.effect(lambda: [appending(log, 1), failing(log, 2), appending(log, 3)])
    with pytest.raises(ValueError, match="2"):
        one()
    assert log == [3, 2, 1]
    assert one() is None
    log.clear()
    two = k.root.effect(lambda: (failing(log, 1), appending(log, 2), failing(log, 3)))
    with pytest.raises(ExceptionGroup) as caught:
        two()
    assert [str(error) for error in caught.value.exceptions] == ["3", "1"]
    assert log == [3, 2, 1]
    assert k.root.fiber.effects() == []
    assert k.logged() == []


@pytest.mark.spec("01-D13", "01-D14")
async def test_a_cancellation_that_a_disposer_raises_stops_nothing(k: Kernel) -> None:
    log: list[int] = []

    def cancelled() -> None:
        raise asyncio.CancelledError

    async def slow_and_cancelled() -> None:
        raise asyncio.CancelledError

    disposer = k.root.effect(lambda: [appending(log, 1), cancelled, slow_and_cancelled])
    waiting = disposer()
    with pytest.raises(asyncio.CancelledError):
        await joined(waiting)
    assert log == [1]


@pytest.mark.spec("01-D14")
async def test_every_asynchronous_disposer_runs_in_turn(k: Kernel) -> None:
    log: list[Any] = []

    def failing_slowly(item: int) -> Callable[[], Any]:
        async def disposer() -> None:
            log.append((item, "start"))
            await k.root.kernel.clock.sleep(1)
            log.append((item, "end"))
            raise ValueError(item)

        return disposer

    disposer = k.root.effect(lambda: [failing_slowly(1), slowly(k, log, 2), failing_slowly(3)])
    waiting = asyncio.ensure_future(joined(disposer()))
    await k.advance(3)
    with pytest.raises(ExceptionGroup) as caught:
        await waiting
    assert [str(error) for error in caught.value.exceptions] == ["3", "1"]
    assert log == [(3, "start"), (3, "end"), 2, (1, "start"), (1, "end")]


@pytest.mark.spec("01-D14")
async def test_errors_at_unload_are_logged_with_their_label(k: Kernel) -> None:
    log: list[Any] = []

    def body(ctx: Context) -> Any:
        ctx.effect(lambda: failing(log, 1), "first")
        return failing(log, 2)

    ctx = await mounted(k, body)
    await ctx.fiber.dispose()
    assert log == [2, 1]
    assert [str(error) for error in ctx.fiber.cleanup_errors] == ["2", "1"]
    assert len(k.logged()) == 2
    assert "undoing a disposer of 'user'" in k.logged()[0]
    assert "undoing first of 'user'" in k.logged()[1]


@pytest.mark.spec("01-D18")
async def test_unload_from_inside_a_body_waits_for_the_body(k: Kernel) -> None:
    log: list[Any] = []
    ctx = await mounted(k)

    def body() -> Iterator[Any]:
        ctx.fiber.dispose()
        log.append("body goes on")
        yield appending(log, "undone")

    ctx.effect(body)
    assert log == ["body goes on"]
    await k.settle()
    assert log == ["body goes on", "undone"]
    assert ctx.fiber.state is FiberState.DISPOSED


@pytest.mark.spec("01-D18")
async def test_unload_from_inside_an_asynchronous_body_waits_for_the_body(k: Kernel) -> None:
    log: list[Any] = []
    ctx = await mounted(k)

    async def body() -> Callable[[], None]:
        ctx.fiber.dispose()
        await k.root.kernel.clock.sleep(1)
        log.append("body goes on")
        return appending(log, "undone")

    ctx.effect(body)
    await k.advance(1)
    assert log == ["body goes on", "undone"]
    assert ctx.fiber.state is FiberState.DISPOSED


@pytest.mark.spec("01-D18")
async def test_an_undo_that_is_asked_for_inside_a_body_runs_after_it(k: Kernel) -> None:
    log: list[Any] = []

    def body() -> Callable[[], None]:
        [itself] = k.root.fiber.table
        assert itself.undo() is not None
        log.append("body goes on")
        return appending(log, "undone")

    assert k.root.effect(body)() is not None
    assert log == ["body goes on", "undone"]
    assert k.root.fiber.table == {}


@pytest.mark.spec("01-D18")
async def test_a_body_may_ask_for_its_own_undo(k: Kernel) -> None:
    log: list[Any] = []
    made: list[Effect] = []

    async def body() -> Callable[[], None]:
        made[0]()
        log.append("body goes on")
        return appending(log, "undone")

    made.append(k.root.effect(body))
    await k.settle()
    assert log == ["body goes on", "undone"]


@pytest.mark.spec("01-D20")
async def test_a_hanging_disposer_is_cancelled_after_its_time(k: Kernel) -> None:
    log: list[Any] = []

    async def hanging() -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            log.append("cancelled")
            raise

    def body(ctx: Context) -> Any:
        ctx.effect(lambda: appending(log, 1), "first")
        ctx.effect(lambda: hanging, "the hanging one", dispose_timeout=2)

    ctx = await mounted(k, body)
    end = ctx.fiber.dispose()
    await k.advance(1.9)
    assert log == []
    await k.advance(0.1)
    assert log == ["cancelled", 1]
    assert end.is_open
    [warning] = k.logged("warn")
    assert "the hanging one" in warning


@pytest.mark.spec("01-D20")
async def test_a_disposer_that_ignores_its_cancellation_is_left(k: Kernel) -> None:
    release = asyncio.Event()
    log: list[Any] = []

    async def stubborn() -> None:
        while not release.is_set():
            try:
                await release.wait()
            except asyncio.CancelledError:
                log.append("ignored")

    def body(ctx: Context) -> Any:
        return [appending(log, 1), stubborn]

    ctx = await mounted(k, body)
    end = ctx.fiber.dispose()
    await k.advance(10)
    assert end.is_open
    assert log == ["ignored", 1]
    release.set()


@pytest.mark.spec("01-D20")
async def test_a_disposer_without_limit_is_waited_for(k: Kernel) -> None:
    log: list[Any] = []
    disposer = k.root.effect(lambda: slowly(k, log, 1, seconds=1000), dispose_timeout=None)
    disposer()
    await k.advance(999)
    assert log == []
    await k.advance(1)
    assert log == [1]


@pytest.mark.spec("01-D20")
async def test_a_setup_that_hangs_or_ignores_its_cancellation_stops_no_undo(k: Kernel) -> None:
    log: list[Any] = []
    release = asyncio.Event()

    async def hanging() -> AsyncIterator[Any]:
        yield appending(log, "undone")
        await asyncio.Event().wait()

    async def stubborn() -> Callable[[], None]:
        while not release.is_set():
            try:
                await release.wait()
            except asyncio.CancelledError:
                log.append("ignored")
        return appending(log, "undone late")

    ctx = await mounted(k)
    ctx.effect(stubborn, "stubborn")
    slow = ctx.effect(hanging, "hanging", dispose_timeout=1)
    await k.settle()
    end = ctx.fiber.dispose()
    await k.advance(1)
    assert log == ["undone"]
    assert not slow.active
    await k.advance(10)
    assert end.is_open
    assert log == ["undone", "ignored"]
    release.set()
    await k.settle()
    assert log == ["undone", "ignored", "undone late"]
    assert [text for text in k.logged("warn") if "setup of" in text] == k.logged("warn")


@pytest.mark.spec("01-D21")
async def test_two_callers_wait_for_the_same_undo(k: Kernel) -> None:
    log: list[Any] = []
    disposer = k.root.effect(lambda: slowly(k, log, "undone"))
    waiting = [asyncio.ensure_future(joined(disposer())) for _ in range(2)]
    await k.settle()
    assert not any(one.done() for one in waiting)
    await k.advance(1)
    await asyncio.gather(*waiting)
    assert log == ["undone"]


@pytest.mark.spec("01-D21")
async def test_cancelling_a_caller_does_not_cancel_the_undo(k: Kernel) -> None:
    log: list[Any] = []
    disposer = k.root.effect(lambda: slowly(k, log, "undone"))
    waiting = asyncio.ensure_future(joined(disposer()))
    await k.settle()
    waiting.cancel()
    await k.advance(1)
    assert waiting.cancelled()
    assert log == ["undone"]


@pytest.mark.spec("01-D22")
async def test_thousands_of_effects_are_undone_in_any_order(k: Kernel) -> None:
    log: list[int] = []
    n_effects = 5000
    made = [k.root.effect(lambda item=item: appending(log, item)) for item in range(n_effects)]
    assert len(k.root.fiber.effects()) == n_effects
    half = made[: n_effects // 2]
    random.Random(5).shuffle(half)
    for disposer in half:
        disposer()
    assert sorted(log) == list(range(n_effects // 2))
    log.clear()
    await k.root.fiber.dispose()
    assert log == list(reversed(range(n_effects // 2, n_effects)))


@pytest.mark.spec("01-D23")
async def test_an_effect_is_an_asynchronous_context_manager(k: Kernel) -> None:
    log: list[Any] = []

    async def body() -> Callable[[], Any]:
        await asyncio.sleep(0)
        log.append("set up")
        return lambda: log.append("undone")

    async with k.root.effect(body) as disposer:
        assert isinstance(disposer, Effect)
        assert log == ["set up"]
    assert log == ["set up", "undone"]
    with pytest.raises(LookupError):
        async with k.root.effect(body):
            raise LookupError
    assert log == ["set up", "undone"] * 2


@pytest.mark.spec("01-D23")
async def test_leaving_the_block_waits_for_an_asynchronous_undo(k: Kernel) -> None:
    log: list[Any] = []

    async def disposer() -> None:
        await asyncio.sleep(0)
        log.append("undone")

    async with k.root.effect(lambda: disposer):
        pass
    assert log == ["undone"]


@pytest.mark.spec("01-D24")
async def test_an_effect_during_unload_is_refused_and_during_undo_allowed(k: Kernel) -> None:
    log: list[Any] = []
    ctx = await mounted(k)

    def disposer() -> None:
        ctx.effect(lambda: appending(log, "second"), "second")

    ctx.effect(lambda: disposer)()
    assert ctx.fiber.effects() == [("second", [])]
    ctx.effect(lambda: disposer, "third")
    await ctx.fiber.dispose()
    [error] = ctx.fiber.cleanup_errors
    assert isinstance(error, InactiveEffect)
    assert error.code == "INACTIVE_EFFECT"
    assert log == ["second"]


# -- results ---------------------------------------------------------------------------------


@pytest.mark.spec("01-D15")
@pytest.mark.parametrize("result", [1, "s", {}, True, [1], {1}, range(2), (1,), iter([1])])
async def test_what_cannot_be_undone_is_refused(k: Kernel, result: Any) -> None:
    with pytest.raises(InvalidEffect, match="expected a disposer"):
        k.root.effect(lambda: result)
    assert k.root.fiber.effects() == []


@pytest.mark.spec("01-D15")
@pytest.mark.parametrize("result", [5, "s", [print]])
async def test_an_asynchronous_result_is_a_disposer_or_nothing(k: Kernel, result: Any) -> None:
    async def body() -> Any:
        return result

    disposer = k.root.effect(body)
    with pytest.raises(InvalidEffect):
        await disposer
    assert len(k.logged()) == 1


@pytest.mark.spec("01-D15")
async def test_context_managers_are_named_with_the_way_to_use_them(k: Kernel) -> None:
    with pytest.raises(InvalidEffect, match=r"ctx\.enter or ctx\.adopt"):
        k.root.effect(contextlib.nullcontext)


@pytest.mark.spec("01-D15")
async def test_nothing_and_lists_of_functions_are_fine(k: Kernel) -> None:
    log: list[Any] = []
    nothing = k.root.effect(lambda: None, "nothing")
    several = k.root.effect(lambda: [appending(log, 1), None, appending(log, 1)])
    assert nothing.children == several.children == []
    nothing()
    several()
    assert log == [1, 1]


@pytest.mark.spec("01-D16")
async def test_a_disposer_is_collected_once_by_its_own_fiber(k: Kernel) -> None:
    foreign = (await mounted(k)).on("event", print)
    own = k.root.effect(lambda: None, "own")
    with pytest.raises(InvalidEffect, match="another fiber"):
        k.root.effect(lambda: foreign)
    with pytest.raises(InvalidEffect, match="collected before"):
        k.root.effect(lambda: [own, own])
    assert not own.active
    again = k.root.effect(lambda: None, "again")
    k.root.effect(lambda: again, "holder")
    with pytest.raises(InvalidEffect, match="collected before"):
        k.root.effect(lambda: again)
    assert ("holder", [("again", [])]) in k.root.fiber.effects()
    assert foreign.active


@pytest.mark.spec("01-D16")
async def test_an_effect_collects_neither_itself_nor_what_contains_it(k: Kernel) -> None:
    made: list[Effect] = []
    errors: list[InvalidEffect] = []

    async def selfish() -> Any:
        return made[0]

    made.append(k.root.effect(selfish))
    with pytest.raises(InvalidEffect, match="itself"):
        await made[0]

    async def inner() -> AsyncIterator[Any]:
        yield None
        await k.root.kernel.clock.sleep(1)
        yield made[2]

    made.append(k.root.effect(inner, "inner"))
    made.append(k.root.effect(lambda: made[1], "outer"))
    await k.advance(1)
    with pytest.raises(InvalidEffect, match="what contains it"):
        await made[1]
    assert errors == []


@pytest.mark.spec("01-D16")
async def test_what_ended_by_itself_leaves_nothing_to_collect(k: Kernel) -> None:
    log: list[Any] = []

    def body() -> Iterator[Any]:
        listener = k.root.once("event", log.append)
        k.root.emit("event", 1)
        yield listener

    disposer = k.root.effect(body)
    assert disposer.children == []

    def plugin(ctx: Context) -> Any:
        ended = ctx.effect(lambda: appending(log, 2))
        ended()
        return ended

    await k.root.plugin(plugin)
    assert log == [1, 2]


@pytest.mark.spec("01-D16")
async def test_a_setup_collects_by_the_same_rules(k: Kernel) -> None:
    own = k.root.on("event", print)
    contexts: list[Context] = []

    def taking(item: Callable[[Context], Any]) -> Any:
        def plugin(ctx: Context) -> Any:
            contexts.append(ctx)
            return item(ctx)

        return plugin

    def twice(ctx: Context) -> Any:
        inner = ctx.effect(lambda: None)
        ctx.effect(lambda: inner)
        return inner

    for item in (lambda _: own, lambda ctx: ctx.fiber, twice):
        fiber = k.root.plugin(taking(item))
        with pytest.raises(InvalidEffect):
            await fiber
    assert own.active


@pytest.mark.spec("01-D17")
async def test_an_effect_that_is_not_yielded_stays_at_the_top(k: Kernel) -> None:
    def body() -> Iterator[Any]:
        k.root.on("loose", print)
        yield k.root.on("kept", print)

    disposer = k.root.effect(body, "body")
    assert k.root.fiber.effects() == [
        ("body", [('ctx.on("kept")', [])]),
        ('ctx.on("loose")', []),
    ]
    disposer()
    assert k.root.fiber.effects() == [('ctx.on("loose")', [])]


class Exporter:
    def export(self, record: LogRecord) -> None: ...


@pytest.mark.spec("01-D19")
async def test_registrations_of_the_kernel_have_their_labels(k: Kernel) -> None:
    await k.root.plugin(TimerService)
    k.root.plugin(fake_service("src", member=print))
    contexts: list[Context] = []

    def user(ctx: Context) -> Any:
        contexts.append(ctx)
        ctx.on("event", print)
        ctx.provide("thing")
        ctx.plugin(lambda _: None)
        ctx.accessor("computed", lambda _: 1)
        ctx.mixin("src", ["member"])
        ctx.timeout(1, print)
        ctx.interval(1, print)
        ctx.logger.exporter(Exporter())
        ctx.spawn(asyncio.Event().wait, name="work")
        return lambda: None

    fiber = k.root.inject(["timer", "src"], user)
    await k.settle()
    assert fiber.effects() == [
        ('ctx.on("event")', []),
        ('ctx.provide("thing")', []),
        ("ctx.plugin()", []),
        ('ctx.accessor("computed")', []),
        ('ctx.mixin("src")', [('ctx.accessor("member")', [])]),
        ("ctx.timeout()", []),
        ("ctx.interval()", []),
        ("ctx.logger.exporter()", []),
        ('ctx.spawn("work")', []),
    ]


# -- awaiting from inside --------------------------------------------------------------------


@pytest.mark.spec("01-D21")
async def test_a_disposer_may_wait_for_another_effect_of_its_fiber(k: Kernel) -> None:
    log: list[Any] = []

    def body(ctx: Context) -> Any:
        connection = ctx.effect(lambda: slowly(k, log, "closed"), "connection")

        async def stop() -> None:
            await joined(connection())
            log.append("stopped")

        return stop

    ctx = await mounted(k, body)
    end = ctx.fiber.dispose()
    await k.advance(1)
    assert end.is_open
    assert log == ["closed", "stopped"]
    assert ctx.fiber.cleanup_errors == []


@pytest.mark.spec("01-D21")
async def test_a_disposer_must_not_wait_for_what_waits_for_it(k: Kernel) -> None:
    made: dict[str, Effect] = {}

    def waiting_for(name: str) -> Callable[[], Any]:
        async def disposer() -> None:
            await joined(made[name]())

        return disposer

    made["self"] = k.root.effect(lambda: waiting_for("self"), "self")
    with pytest.raises(ReentrantAwait, match="'self'"):
        await joined(made["self"]())

    async def pausing() -> None:
        await asyncio.sleep(0)

    for disposers in ([waiting_for("outer")], [waiting_for("outer"), pausing]):
        made["inner"] = k.root.effect(lambda disposers=disposers: disposers, "inner")
        made["outer"] = k.root.effect(lambda: made["inner"], "outer")
        with pytest.raises(ReentrantAwait, match="'outer'"):
            await joined(made["outer"]())


@pytest.mark.spec("01-D21")
async def test_a_disposer_cannot_be_the_end_of_its_own_fiber(k: Kernel) -> None:
    log: list[Any] = []
    ctx = await mounted(k, lambda ctx: [appending(log, 1), ctx.fiber.dispose])
    await ctx.fiber.dispose()
    assert [type(error) for error in ctx.fiber.cleanup_errors] == [ReentrantAwait]
    assert log == [1]


@pytest.mark.spec("01-D21")
async def test_the_end_of_another_fiber_may_be_a_disposer(k: Kernel) -> None:
    log: list[Any] = []
    other = await mounted(k, lambda _: slowly(k, log, "other"))
    ctx = await mounted(k, lambda _: [appending(log, "last"), other.fiber.dispose])
    ctx.fiber.dispose()
    await k.advance(1)
    assert log == ["other", "last"]
    assert ctx.fiber.state is other.fiber.state is FiberState.DISPOSED


@pytest.mark.spec("01-D21")
async def test_disposers_run_for_their_fiber(k: Kernel) -> None:
    seen: list[Fiber | None] = []

    async def slow() -> None:
        await asyncio.sleep(0)
        seen.append(current_fiber())

    ctx = await mounted(k)
    await joined(ctx.effect(lambda: [lambda: seen.append(current_fiber()), slow])())
    assert seen == [ctx.fiber, ctx.fiber]
    assert current_fiber() is None


# -- without a loop --------------------------------------------------------------------------


@pytest.mark.spec("01-D15")
def test_asynchronous_parts_need_a_running_loop() -> None:
    log: list[Any] = []
    root = Context()

    async def body() -> None: ...

    with pytest.raises(RuntimeError, match="running event loop"):
        root.effect(body)
    with pytest.raises(RuntimeError, match="running event loop"):
        root.spawn(body)
    assert root.fiber.effects() == []
    disposer = root.effect(lambda: [appending(log, 1), body])
    with pytest.raises(RuntimeError, match="running event loop"):
        disposer()
    assert log == [1]


@pytest.mark.spec("01-D21")
async def test_a_provider_waits_for_a_consumer_that_undoes_an_effect(k: Kernel) -> None:
    log: list[Any] = []

    def child(ctx: Context) -> Any:
        return slowly(k, log, "child")

    def consumer(ctx: Context) -> Any:
        with ctx.group("group"):
            ctx.plugin(child)
        ctx.effect(lambda: appending(log, "consumer"))

    provider = await mounted(k, lambda ctx: [ctx.provide("hub"), appending(log, "provider")])
    fiber = k.root.inject(["hub"], consumer)
    await k.settle()
    fiber.dispose()
    await k.settle()
    end = provider.fiber.dispose()
    await k.settle()
    assert log == ["consumer"]
    await k.advance(1)
    assert end.is_open
    assert log == ["consumer", "child", "provider"]


@pytest.mark.spec("01-D21")
async def test_a_withdrawal_is_awaited_by_anybody_it_does_not_wait_for(k: Kernel) -> None:
    log: list[Any] = []
    hub = k.root.provide("hub")

    def withdrawing(item: str) -> Callable[[], Any]:
        async def disposer() -> None:
            log.append(item)
            pending = hub()
            if pending is not None:
                await pending
            log.append("withdrawn")

        return disposer

    def consumer(ctx: Context) -> Any:
        return withdrawing("consumer")

    fiber = k.root.inject(["hub"], consumer)
    await k.settle()
    await fiber.dispose()
    assert log == ["consumer"]
    assert [type(error) for error in fiber.cleanup_errors] == [ReentrantAwait]
    assert "'ctx.provide(\"hub\")'" in str(fiber.cleanup_errors[0])
    hub = k.root.provide("hub")
    slow = k.root.inject(["hub"], lambda _: slowly(k, log, "slow"))
    own = k.root.effect(lambda: withdrawing("provider"))
    await k.settle()
    own()
    await k.advance(1)
    assert log == ["consumer", "provider", "slow", "withdrawn"]
    assert slow.state is FiberState.PENDING
