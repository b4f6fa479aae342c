"""Waterfalls and dispatches against pure models (01 section 15.N, N04 and N05)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any, Literal

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vendor_shims.cordis import ListenerEffect, SyncWaterfall, Waterfall
from vendor_shims.testing import Kernel, kernel

# -- waterfalls ------------------------------------------------------------------------------

LATER = Waterfall[[int], str]("kernel-algebra/later", is_async=True)
NOW = SyncWaterfall[[int], str]("kernel-algebra/now")

Move = Literal["pass", "wrap", "cut", "retry", "twice", "raise before", "raise after", "recover"]
MOVES: tuple[Move, ...] = (
    "pass", "pass", "wrap", "cut", "retry", "twice", "raise before", "raise after", "recover"
)  # fmt: skip


class Refused(Exception):
    """What listeners and the innermost function raise."""


@attrs.define
class Inner:
    """The innermost function: raises for the first calls, then answers with their number."""

    n_failures: int
    trace: list[str]
    n_calls: int = 0

    def __call__(self, value: int) -> str:
        self.n_calls += 1
        self.trace.append(f"inner{self.n_calls}({value})")
        if self.n_calls <= self.n_failures:
            raise Refused(f"inner{self.n_calls}")
        return f"i{self.n_calls}"


def act(move: Move, number: int, go_on: Callable[[], str], trace: list[str]) -> str:
    """Be listener `number`: what a move means, for the model and for synchronous listeners."""
    trace.append(f"{move}{number}")
    match move:
        case "pass":
            return go_on()
        case "wrap":
            return f"{number}({go_on()})"
        case "cut":
            return f"cut{number}"
        case "twice":
            return f"{go_on()}+{go_on()}"
        case "raise before":
            raise Refused(f"before{number}")
        case "raise after":
            raise Refused(f"after{number} {go_on()}")
        case "retry" | "recover":
            try:
                return go_on()
            except Refused as error:
                return go_on() if move == "retry" else f"recovered{number} {error}"


async def act_later(move: Move, number: int, go_on: Callable[[], Any], trace: list[str]) -> str:
    """Be the same listener, asynchronously."""
    trace.append(f"{move}{number}")
    await asyncio.sleep(0)
    match move:
        case "pass":
            # Without awaiting: the kernel follows what the listener hands on.
            return go_on()
        case "wrap":
            return f"{number}({await go_on()})"
        case "cut":
            return f"cut{number}"
        case "twice":
            return f"{await go_on()}+{await go_on()}"
        case "raise before":
            raise Refused(f"before{number}")
        case "raise after":
            raise Refused(f"after{number} {await go_on()}")
        case "retry" | "recover":
            try:
                return await go_on()
            except Refused as error:
                return await go_on() if move == "retry" else f"recovered{number} {error}"


def model(moves: Sequence[Move], inner: Inner, trace: list[str]) -> str:
    """Run the chain as plain recursion."""

    def run(index: int) -> str:
        if index == len(moves):
            return inner(7)
        return act(moves[index], index, lambda: run(index + 1), trace)

    return run(0)


def outcome_of(run: Callable[[], str]) -> str:
    try:
        return run()
    except Refused as error:
        return f"refused: {error}"


@pytest.mark.spec("01-N04")
@given(st.lists(st.sampled_from(MOVES), max_size=6), st.integers(0, 3))
async def test_a_synchronous_chain_is_plain_recursion(moves: list[Move], n_failures: int) -> None:
    expected: list[str] = []
    answer = outcome_of(lambda: model(moves, Inner(n_failures, expected), expected))
    trace: list[str] = []
    async with kernel() as k:
        for number, move in enumerate(moves):
            k.root.on(
                NOW,
                lambda _, go_on, move=move, number=number: act(move, number, go_on, trace),
            )
        inner = Inner(n_failures, trace)
        assert outcome_of(lambda: k.root.waterfall(NOW, 7, inner=inner)) == answer
    assert trace == expected


@pytest.mark.spec("01-N04")
@given(
    chain=st.lists(st.tuples(st.sampled_from(MOVES), st.booleans()), max_size=6),
    n_failures=st.integers(0, 3),
    is_inner_async=st.booleans(),
)
async def test_an_asynchronous_chain_is_the_same_recursion(
    chain: list[tuple[Move, bool]], n_failures: int, *, is_inner_async: bool
) -> None:
    expected: list[str] = []
    moves: list[Move] = [move for move, _ in chain]
    answer = outcome_of(lambda: model(moves, Inner(n_failures, expected), expected))
    trace: list[str] = []
    inner = Inner(n_failures, trace)

    async def inner_later(value: int) -> str:
        await asyncio.sleep(0)
        return inner(value)

    def listener(number: int, move: Move, *, is_sync: bool) -> Callable[..., Any]:
        if is_sync and move in ("pass", "cut", "raise before"):  # what needs no awaiting
            return lambda _, go_on: act(move, number, go_on, trace)
        return lambda _, go_on: act_later(move, number, go_on, trace)

    async with kernel() as k:
        for number, (move, is_sync) in enumerate(chain):
            k.root.on("kernel-algebra/later", listener(number, move, is_sync=is_sync))
        try:
            result = await k.root.waterfall(
                LATER, 7, inner=inner_later if is_inner_async else inner
            )
        except Refused as error:
            result = f"refused: {error}"
    assert result == answer
    assert trace == expected


# -- membership ------------------------------------------------------------------------------

Mode = Literal["emit", "parallel", "serial", "bail", "waterfall"]
MODES: tuple[Mode, ...] = ("emit", "parallel", "serial", "bail", "waterfall")


@attrs.frozen
class Change:
    """One thing that a listener does when it is called, or that happens between dispatches."""

    kind: Literal["add", "prepend", "once", "remove", "off", "dispatch"]
    pick: int


CHANGES = st.builds(
    Change,
    kind=st.sampled_from(("add", "add", "prepend", "once", "remove", "remove", "off", "dispatch")),
    pick=st.integers(0, 9),
)
SCRIPTS = st.lists(st.lists(CHANGES, max_size=3), min_size=1, max_size=8)


class Listeners:
    """The same program on a model and, with a kernel, on the real thing.

    Invariants: `live` is the delivery order that 01 section 7.2 asks for.
    """

    def __init__(self, scripts: list[list[Change]], k: Kernel | None, mode: Mode) -> None:
        self.scripts = scripts
        self.k = k
        self.mode = mode
        self.live: list[int] = []
        self.once: set[int] = set()
        self.handles: dict[int, ListenerEffect] = {}
        self.functions: dict[int, Callable[..., Any]] = {}
        self.trace: list[Any] = []
        self.n_made = 0
        self.depth = 0
        self.fuel = 60

    def do(self, change: Change) -> None:
        if self.fuel == 0:
            return
        self.fuel -= 1
        number = change.pick % max(1, self.n_made)
        match change.kind:
            case "add" | "prepend" | "once":
                self.add(prepend=change.kind == "prepend", once=change.kind == "once")
            case "remove" | "off" if self.n_made:
                self.trace.append((change.kind, number, self.remove(number, change.kind)))
            case "dispatch" if self.depth < 2:
                self.dispatch()
            case _:
                pass

    def add(self, *, prepend: bool, once: bool) -> None:
        number, self.n_made = self.n_made, self.n_made + 1
        self.live.insert(0 if prepend else len(self.live), number)
        if once:
            self.once.add(number)
        if self.k is not None:
            listener = self.functions[number] = self.listener(number)
            register = self.k.root.once if once else self.k.root.on
            self.handles[number] = register("event", listener, prepend=prepend)

    def remove(self, number: int, kind: str) -> bool:
        is_live = number in self.live
        if is_live:
            self.live.remove(number)
        if self.k is None:
            return is_live
        if kind == "off":
            return self.k.root.off("event", self.functions[number])
        return self.handles[number]()

    def called(self, number: int) -> None:
        self.trace.append(("called", number))
        if number in self.once:
            self.live.remove(number)
        self.depth += 1
        for change in self.scripts[number % len(self.scripts)]:
            self.do(change)
        self.depth -= 1

    def listener(self, number: int) -> Callable[..., Any]:
        def listener(*args: Any) -> Any:
            self.called(number)
            return args[-1]() if args else None

        return listener

    def dispatch(self) -> None:
        self.trace.append("dispatch")
        if self.k is None:
            for number in tuple(self.live):
                if number in self.live:
                    self.called(number)
        elif self.mode in ("parallel", "serial"):
            dispatched = getattr(self.k.root, self.mode)("event")
            with pytest.raises(StopIteration):
                dispatched.send(None)
        else:
            getattr(self.k.root, self.mode)("event")


@pytest.mark.spec("01-N05")
@pytest.mark.parametrize("mode", MODES)
@given(SCRIPTS, st.lists(CHANGES, max_size=8))
async def test_membership_changes_during_a_dispatch(
    mode: Mode, scripts: list[list[Change]], changes: list[Change]
) -> None:
    program = [Change("add", 0), *changes, Change("dispatch", 0), Change("dispatch", 0)]
    modelled = Listeners(scripts, None, mode)
    for change in program:
        modelled.do(change)
    async with kernel() as k:
        real = Listeners(scripts, k, mode)
        for change in program:
            real.do(change)
        assert real.trace == modelled.trace
        assert [one.active for one in real.handles.values()] == [
            number in modelled.live for number in range(modelled.n_made)
        ]
