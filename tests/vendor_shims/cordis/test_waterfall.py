"""Waterfalls: middleware around an innermost function (01 sections 7.5 and 15.F)."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Callable, Generator
from typing import Any

import pytest

from vendor_shims.cordis import (
    Context,
    Effect,
    Fiber,
    Next,
    SyncNext,
    SyncWaterfall,
    Waterfall,
    current_target,
)
from vendor_shims.testing import Kernel

ADD = SyncWaterfall[[int], int]("kernel-waterfall/add")
TEXT = Waterfall[[str], str]("kernel-waterfall/text", is_async=True)
STEP = Waterfall[[list[Any]], str]("kernel-waterfall/step", is_async=True, accepts_serial=True)


def adding(value: int, go_on: SyncNext[int]) -> int:
    return value + go_on()


async def passing(value: Any, go_on: Next[Any]) -> Any:
    return await go_on()


@pytest.mark.spec("01-F14")
async def test_listeners_wrap_the_innermost_function(k: Kernel) -> None:
    never: list[int] = []
    k.root.on(ADD, adding)
    k.root.on(ADD, adding)
    assert k.root.waterfall(ADD, 1, inner=lambda value: value + 1) == 4
    k.root.on(ADD, lambda value, _: value)
    k.root.on(ADD, lambda value, _: never.append(value) or 0)
    assert k.root.waterfall(ADD, 1, inner=lambda value: never.append(value) or 0) == 3
    assert never == []


@pytest.mark.spec("01-F15")
async def test_an_asynchronous_chain_can_be_cut_short(k: Kernel) -> None:
    called: list[str] = []

    async def upper(text: str, go_on: Next[str]) -> str:
        return (await go_on()).upper()

    async def refusing(text: str, go_on: Next[str]) -> str:
        return "refused" if text == "bad" else await go_on()

    async def inner(text: str) -> str:
        called.append(text)
        return f"<{text}>"

    k.root.on(TEXT, upper)
    k.root.on(TEXT, refusing)
    assert await k.root.waterfall(TEXT, "good", inner=inner) == "<GOOD>"
    assert await k.root.waterfall(TEXT, "bad", inner=inner) == "REFUSED"
    assert called == ["good"]


@pytest.mark.spec("01-F16")
async def test_an_outer_listener_catches_what_an_inner_one_raises(k: Kernel) -> None:
    async def recovering(text: str, go_on: Next[str]) -> str:
        try:
            return await go_on()
        except ValueError as error:
            return f"recovered from {error}"

    def raising(text: str, go_on: Next[str]) -> str:
        raise ValueError(text)

    k.root.on(TEXT, recovering)
    k.root.on(TEXT, raising)
    assert await k.root.waterfall(TEXT, "it", inner=lambda text: text) == "recovered from it"

    def outermost(value: int, go_on: SyncNext[int]) -> int:
        try:
            return go_on()
        except ZeroDivisionError:
            return -1

    k.root.on(ADD, outermost)
    assert k.root.waterfall(ADD, 0, inner=lambda value: 1 // value) == -1


@pytest.mark.spec("01-F17")
async def test_going_on_twice_runs_the_rest_twice(k: Kernel) -> None:
    counts = {"listener": 0, "inner": 0}

    async def twice(text: str, go_on: Next[str]) -> str:
        return f"{await go_on()} {await go_on()}"

    async def counting(text: str, go_on: Next[str]) -> str:
        counts["listener"] += 1
        return await go_on()

    async def inner(text: str) -> str:
        counts["inner"] += 1
        return f"{text}{counts['inner']}"

    k.root.on(TEXT, twice)
    k.root.on(TEXT, counting)
    assert await k.root.waterfall(TEXT, "x", inner=inner) == "x1 x2"
    assert counts == {"listener": 2, "inner": 2}


@pytest.mark.spec("01-F17")
async def test_the_rest_may_run_twice_at_once(k: Kernel) -> None:
    async def at_once(text: str, go_on: Next[str]) -> str:
        return "".join(await asyncio.gather(go_on(), go_on()))

    k.root.on(TEXT, at_once)
    k.root.on(TEXT, passing)
    assert await k.root.waterfall(TEXT, "x", inner=lambda text: text) == "xx"


@pytest.mark.spec("01-F18")
async def test_going_on_takes_no_arguments(k: Kernel) -> None:
    seen: list[Any] = []
    k.root.on("event", lambda value, go_on: go_on("x"))
    with pytest.raises(TypeError):
        k.root.waterfall("event", 1, inner=print)
    k.root.on("other", lambda *args: args[-1]())
    k.root.waterfall("other", 1, 2, inner=lambda *args: seen.append(args))
    assert seen == [(1, 2)]


@pytest.mark.spec("01-F18")
@pytest.mark.parametrize("ends_badly", [False, True])
async def test_going_on_after_the_listener_returned_is_an_error(
    k: Kernel, *, ends_badly: bool
) -> None:
    kept: list[Callable[[], Any]] = []

    def keeping(value: int, go_on: SyncNext[int]) -> int:
        kept.append(go_on)
        if ends_badly:
            raise ValueError
        return value

    async def keeping_later(value: int, go_on: Next[int]) -> int:
        return keeping(value, lambda: kept.append(go_on) or 0)

    k.root.on("sync", keeping)
    k.root.on("async", keeping_later)
    for name in ("sync", "async"):
        answer = None
        try:
            answer = k.root.waterfall(name, 1)
            answer = await answer if name == "async" else answer
        except ValueError:
            assert ends_badly
        else:
            assert answer == 1
    with pytest.raises(RuntimeError, match="after its listener returned"):
        kept[0]()
    kept[1]()
    with pytest.raises(RuntimeError, match="after its listener returned"):
        kept[2]()


@pytest.mark.spec("01-F19")
async def test_a_forgotten_await_changes_nothing(k: Kernel) -> None:
    async def forgetting(value: int, go_on: Next[int]) -> Any:
        return go_on()

    async def inner(value: int) -> Any:
        async def innermost() -> int:
            return value

        return innermost()

    k.root.on("event", lambda value, go_on: go_on())
    k.root.on("event", forgetting)
    k.root.on("event", forgetting)
    assert await k.root.waterfall("event", 5, inner=inner) == 5
    assert await k.root.waterfall("event", 5, inner=lambda value: value) == 5


@pytest.mark.spec("01-F19")
async def test_a_value_that_results_in_itself_is_awaited_once(k: Kernel) -> None:
    class Handle:
        def __await__(self) -> Generator[Any, Any, Handle]:
            yield from asyncio.sleep(0).__await__()
            return self

    handle = Handle()
    k.root.on("event", passing)
    assert await k.root.waterfall("event", 1, inner=lambda _: handle) is handle


@pytest.mark.spec("01-F19")
async def test_fibers_and_effects_are_values_of_a_synchronous_chain(k: Kernel) -> None:
    k.root.on("event", lambda value, go_on: go_on())
    made = k.root.waterfall("event", 1, inner=lambda _: k.root.effect(lambda: None))
    assert isinstance(made, Effect)
    fiber = k.root.waterfall("event", 1, inner=lambda _: k.root.plugin(print))
    assert isinstance(fiber, Fiber)
    k.root.on("event", passing)
    again = await k.root.waterfall("event", 1, inner=lambda _: fiber)
    assert again is fiber


@pytest.mark.spec("01-F20")
async def test_a_stream_is_a_plain_value(k: Kernel) -> None:
    async def numbers(limit: int) -> AsyncIterator[int]:
        for number in range(limit):
            yield number

    def doubling(limit: int, go_on: SyncNext[AsyncIterator[int]]) -> Any:
        async def doubled() -> AsyncIterator[int]:
            async for number in go_on():
                yield number * 2

        return doubled()

    made: list[Any] = []
    k.root.on("event", lambda limit, go_on: go_on())
    stream = k.root.waterfall(
        "event", 3, inner=lambda limit: made.append(numbers(limit)) or made[0]
    )
    assert stream is made[0]
    assert [number async for number in stream] == [0, 1, 2]

    def wrapping(limit: int, go_on: SyncNext[AsyncIterator[int]]) -> Any:
        inner = go_on()

        async def doubled() -> AsyncIterator[int]:
            async for number in inner:
                yield number * 2

        return doubled()

    k.root.on("event", wrapping)
    stream = k.root.waterfall("event", 3, inner=numbers)
    assert [number async for number in stream] == [0, 2, 4]
    k.root.on("event", doubling, prepend=True)
    late = k.root.waterfall("event", 3, inner=numbers)
    with pytest.raises(RuntimeError, match="after its listener returned"):
        await anext(late)


@pytest.mark.spec("01-F21")
async def test_four_hundred_listeners_fit_the_default_recursion_limit(k: Kernel) -> None:
    assert sys.getrecursionlimit() == 1000
    # While a tracer measures coverage each call counts twice.
    n_listeners = 400 if sys.gettrace() is None else 200
    for _ in range(n_listeners):
        k.root.on("sync", lambda value, go_on: go_on() + 1)
        k.root.on("async", passing)

    async def inner(value: int) -> int:
        await asyncio.sleep(0)
        return value

    assert k.root.waterfall("sync", 0, inner=lambda value: value) == n_listeners
    assert await k.root.waterfall("async", 7, inner=inner) == 7


@pytest.mark.spec("01-F05")
async def test_an_event_that_is_declared_asynchronous_is_always_awaitable(k: Kernel) -> None:
    async def later(text: str) -> str:
        return text

    for _ in range(2):
        for name in (TEXT, "kernel-waterfall/text"):
            assert await k.root.waterfall(name, "a", inner=lambda text: text) == "a"
            assert await k.root.waterfall(name, "a", inner=later) == "a"
            assert await k.root.waterfall(str(name), "a") is None
        k.root.on(TEXT, lambda text, go_on: go_on())
    k.root.on(TEXT, lambda text, _: text)
    assert await k.root.waterfall(TEXT, "b", inner=later) == "b"


@pytest.mark.spec("01-F23")
async def test_a_listener_removed_during_an_asynchronous_chain_is_skipped(k: Kernel) -> None:
    log: list[str] = []

    async def removing(text: str, go_on: Next[str]) -> str:
        await asyncio.sleep(0)
        removed()
        return await go_on()

    async def noting(text: str, go_on: Next[str]) -> str:
        log.append("called")
        return await go_on()

    k.root.on(TEXT, removing)
    removed = k.root.on(TEXT, noting)
    once = k.root.once(TEXT, noting)
    assert await k.root.waterfall(TEXT, "x", inner=lambda text: text) == "x"
    assert not once.active
    assert log == ["called"]


@pytest.mark.spec("01-F38")
async def test_each_dispatch_has_its_own_target_across_awaits(k: Kernel) -> None:
    log: list[Any] = []

    async def slow(text: str, go_on: Next[str]) -> str:
        await asyncio.sleep(0)
        log.append((text, current_target()))
        return await go_on()

    k.root.on(TEXT, slow)
    await asyncio.gather(
        *(
            k.root.waterfall(TEXT, text, inner=lambda text: text, target=target)
            for text, target in [("a", "one"), ("b", None), ("c", "two")]
        )
    )
    assert log == [("a", "one"), ("b", None), ("c", "two")]

    def nesting(value: int, go_on: SyncNext[int]) -> int:
        return k.root.waterfall(ADD, value, inner=lambda _: log.append(current_target()) or 0)

    k.root.on("outer", nesting)
    k.root.on(ADD, adding)
    log.clear()
    k.root.waterfall("outer", 1, target="outer")
    assert log == [None]


@pytest.mark.spec("01-O08")
async def test_a_listener_without_next_is_awaited_before_the_chain_goes_on(k: Kernel) -> None:
    async def first(log: list[Any]) -> str:
        await asyncio.sleep(0)
        log.append("first")
        return "ignored"

    async def around(log: list[Any], go_on: Next[str]) -> str:
        log.append("before")
        answer = await go_on()
        log.append("after")
        return f"<{answer}>"

    class Owner:
        def method(self, log: list[Any]) -> str:
            log.append("method")
            return "ignored"

    def anything(*args: Any) -> Any:
        args[0].append("anything")
        return args[-1]()

    for listener in (first, around, Owner().method, anything):
        k.root.on("kernel-waterfall/step", listener)
    log: list[Any] = []
    answer = await k.root.waterfall(STEP, log, inner=lambda log: log.append("inner") or "done")
    assert answer == "<done>"
    assert log == ["first", "before", "method", "anything", "inner", "after"]


@pytest.mark.spec("01-O08")
@pytest.mark.parametrize("calls_next", [True, False])
@pytest.mark.parametrize("is_async", [True, False])
async def test_a_listener_that_answers_nothing_leaves_the_decision_to_what_follows(
    k: Kernel, *, calls_next: bool, is_async: bool
) -> None:
    async def silent(log: list[Any], go_on: Next[str]) -> None:
        log.append("silent")
        if calls_next:
            assert await go_on() == "decided"

    k.root.on(STEP, silent if is_async else lambda log, go_on: log.append("silent"))
    k.root.on(STEP, lambda log, go_on: log.append("deciding") or "decided")
    k.root.on(STEP, lambda log: log.append("never"))
    log: list[Any] = []
    assert await k.root.waterfall(STEP, log, inner=lambda log: "inner") == "decided"
    assert log == ["silent", "deciding"]


@pytest.mark.spec("01-O08")
async def test_a_failing_listener_without_next_ends_the_chain(k: Kernel) -> None:
    log: list[Any] = []

    async def failing(log: list[Any]) -> None:
        raise ValueError("no")

    k.root.on("kernel-waterfall/step", failing)
    k.root.on("kernel-waterfall/step", lambda log: log.append("never"))
    with pytest.raises(ValueError, match="no"):
        await k.root.waterfall(STEP, log, inner=lambda log: "done")
    assert log == []


@pytest.mark.spec("01-O08")
async def test_a_builtin_without_a_signature_gets_everything(k: Kernel) -> None:
    k.root.on("kernel-waterfall/step", max)
    with pytest.raises(TypeError, match="not supported between"):
        await k.root.waterfall(STEP, [], inner=lambda log: "done")


def test_a_chain_needs_no_loop() -> None:
    root = Context()
    root.on(ADD, adding)
    assert root.waterfall(ADD, 1, inner=lambda value: value) == 2
