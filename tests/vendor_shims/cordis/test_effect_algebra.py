"""Any tree of effects, failing anywhere, undone at any time (01 section 15.N, N02)."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from typing import Any, Literal

import attrs
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from vendor_shims.cordis import Context, Effect, Fiber, InactiveEffect
from vendor_shims.testing import Kernel, kernel

Kind = Literal["list", "generator", "async generator", "coroutine"]


@attrs.frozen
class Undo:
    """A step that hands over a plain disposer."""

    is_slow: bool = False
    fails: bool = False


@attrs.frozen
class Wait:
    """A step that takes a second of virtual time; nothing in a synchronous body."""


@attrs.frozen
class Nested:
    """A step that makes an effect, and hands it over unless it is loose."""

    body: Body
    is_loose: bool = False


@attrs.frozen
class Body:
    """What an effect does: its steps in order, and whether it fails after them."""

    kind: Kind
    steps: tuple[Undo | Wait | Nested, ...]
    fails: bool = False


class Broken(Exception):
    """What failing disposers and bodies raise; `key` tells which."""

    def __init__(self, key: int) -> None:
        super().__init__(f"broken-{key}-")
        self.key = key


@attrs.define(eq=False)
class Made:
    """One effect that was made: what it handed over so far, oldest first."""

    key: int
    items: list[int | Made] = attrs.Factory(list)
    effect: Effect | None = None
    has_failed: bool = False

    def undo_order(self) -> list[int]:
        """Return the disposers in the order in which they must run."""
        order: list[int] = []
        for item in reversed(self.items):
            if isinstance(item, int):
                order.append(item)
            elif not item.has_failed:
                order += item.undo_order()
        return order


class Stage:
    """Makes effects on a fiber and writes down what happens."""

    def __init__(self, k: Kernel, ctx: Context) -> None:
        self.clock = k.root.kernel.clock
        self.ctx = ctx
        self.keys = iter(range(10_000))
        self.made: list[Made] = []
        self.failing: set[int] = set()
        self.started: list[int] = []
        self.running: dict[int, Made] = {}
        self.overlaps: list[tuple[int, int]] = []
        self.seen: list[BaseException] = []
        self.waiting: list[asyncio.Future[None]] = []

    def effect(self, body: Body) -> Made:
        made = Made(next(self.keys))
        self.made.append(made)
        run = {
            "list": self._list,
            "generator": self._generator,
            "async generator": self._async_generator,
            "coroutine": self._coroutine,
        }[body.kind]
        try:
            made.effect = self.ctx.effect(lambda: run(body, made), f"effect {made.key}")
        except (Broken, InactiveEffect):
            made.has_failed = True
            raise
        return made

    def _list(self, body: Body, made: Made) -> list[Any]:
        pairs = [self._item(step, made) for step in body.steps]
        self._end(body, made)
        made.items += [key for key, _ in pairs if key is not None]
        return [item for _, item in pairs]

    def _generator(self, body: Body, made: Made) -> Iterator[Any]:
        for step in body.steps:
            key, item = self._item(step, made)
            if key is not None:
                made.items.append(key)
            yield item
        self._end(body, made)

    async def _async_generator(self, body: Body, made: Made) -> AsyncIterator[Any]:
        try:
            for step in body.steps:
                if isinstance(step, Wait):
                    await self.clock.sleep(1)
                    continue
                key, item = self._item(step, made)
                if key is not None:
                    made.items.append(key)
                yield item
            self._end(body, made)
        except (Broken, InactiveEffect):
            made.has_failed = True
            raise

    async def _coroutine(self, body: Body, made: Made) -> Any:
        try:
            for step in body.steps:
                if not isinstance(step, Wait):
                    key, item = self._item(step, made)
                    if key is not None:
                        made.items.append(key)
                        return item
                await self.clock.sleep(1)
            self._end(body, made)
        except (Broken, InactiveEffect):
            made.has_failed = True
            raise

    def _end(self, body: Body, made: Made) -> None:
        if body.fails:
            raise Broken(made.key)

    def _item(self, step: Undo | Wait | Nested, made: Made) -> tuple[int | Made | None, Any]:
        if isinstance(step, Wait):
            return None, None
        if isinstance(step, Nested):
            child = self.effect(step.body)
            return (None, None) if step.is_loose else (child, child.effect)
        key = next(self.keys)
        if step.fails:
            self.failing.add(key)

        async def slow() -> None:
            self._start(key, made)
            await self.clock.sleep(1)
            self._stop(key)

        def quick() -> None:
            self._start(key, made)
            self._stop(key)

        return key, slow if step.is_slow else quick

    def _start(self, key: int, made: Made) -> None:
        self.started.append(key)
        self.overlaps += [(other, key) for other, owner in self.running.items() if owner is made]
        self.running[key] = made

    def _stop(self, key: int) -> None:
        del self.running[key]
        if key in self.failing:
            raise Broken(key)

    def undo(self, made: Made) -> None:
        """Ask for the undo of an effect and keep the error that the caller gets."""
        if made.effect is None:
            return
        try:
            pending = made.effect()
        except (Broken, InactiveEffect, ExceptionGroup) as error:
            self.seen.append(error)
        else:
            if pending is not None:
                self.waiting.append(asyncio.ensure_future(self._join(pending)))

    async def _join(self, pending: Any) -> None:
        try:
            await pending
        except (Broken, InactiveEffect, ExceptionGroup) as error:
            self.seen.append(error)


def keys_of(errors: list[BaseException]) -> set[int]:
    """Return the keys of all `Broken` in errors and groups of them."""
    found: set[int] = set()
    for error in errors:
        if isinstance(error, BaseExceptionGroup):
            found |= keys_of(list(error.exceptions))
        elif isinstance(error, Broken):
            found.add(error.key)
    return found


def bodies() -> st.SearchStrategy[Body]:
    """Generate effect trees up to a few levels deep."""
    undo = st.builds(Undo, is_slow=st.booleans(), fails=st.booleans())
    kinds = st.sampled_from(("list", "generator", "async generator", "coroutine"))
    fails = st.sampled_from((False, False, True))

    def grow(smaller: st.SearchStrategy[Body]) -> st.SearchStrategy[Body]:
        nested = st.builds(Nested, body=smaller, is_loose=st.booleans())
        steps = st.lists(undo | st.builds(Wait) | nested, max_size=4).map(tuple)
        return st.builds(Body, kind=kinds, steps=steps, fails=fails)

    flat = st.lists(undo | st.builds(Wait), max_size=3).map(tuple)
    return st.recursive(st.builds(Body, kind=kinds, steps=flat, fails=fails), grow, max_leaves=6)


PLANS = st.lists(
    st.one_of(
        st.tuples(st.just("advance"), st.integers(0, 4)),
        st.tuples(st.just("undo"), st.integers(0, 7)),
        st.tuples(st.just("unload"), st.just(0)),
    ),
    max_size=8,
)


async def play(k: Kernel, trees: list[Body], plan: list[tuple[str, int]]) -> tuple[Stage, Fiber]:
    """Make the effects on a plugin, follow the plan, then unload and wait for the end."""
    contexts: list[Context] = []
    fiber = await k.root.plugin(contexts.append)
    stage = Stage(k, contexts[0])
    for tree in trees:
        try:
            stage.effect(tree)
        except Broken as error:
            stage.seen.append(error)
    for what, number in plan:
        if what == "advance":
            await k.advance(number * 0.5)
        elif what == "unload":
            fiber.dispose()
        elif stage.made:
            stage.undo(stage.made[number % len(stage.made)])
    fiber.dispose()
    await k.advance(200)
    return stage, fiber


@pytest.mark.spec("01-N02")
@given(st.lists(bodies(), min_size=1, max_size=4), PLANS)
@example([Body("async generator", (Undo(), Wait(), Undo(fails=True)))], [("undo", 0)])
@example([Body("list", (Nested(Body("coroutine", (Wait(), Undo(True)), True)), Undo()))], [])
async def test_every_disposer_runs_once_in_reverse_order(
    trees: list[Body], plan: list[tuple[str, int]]
) -> None:
    async with kernel() as k:
        stage, fiber = await play(k, trees, plan)
        texts = "".join([*k.logged("error"), *k.logged("warn")])
        assert fiber.effects() == []
        assert fiber.table == {}
    handed_over = [key for made in stage.made for key in made.items if isinstance(key, int)]
    assert Counter(stage.started) == Counter(handed_over)
    assert stage.running == {}
    assert stage.overlaps == []
    for made in stage.made:
        own = [key for key in stage.started if key in made.undo_order()]
        # An effect that was undone by itself before its collector ran ahead of that order.
        plain = [key for key in reversed(made.items) if isinstance(key, int)]
        assert [key for key in own if key in plain] == plain
    observed = keys_of(stage.seen) | keys_of(fiber.cleanup_errors)
    missing = {key for key in stage.failing if key in handed_over} - observed
    assert all(f"broken-{key}-" in texts for key in missing)
    assert "did not finish" not in texts


@pytest.mark.spec("01-N02")
@given(st.lists(bodies(), min_size=1, max_size=4), st.integers(0, 8))
async def test_unload_undoes_effect_by_effect_newest_first(trees: list[Body], steps: int) -> None:
    async with kernel() as k:
        stage, _ = await play(k, trees, [("advance", steps)])
    collected = {item.key for made in stage.made for item in made.items if isinstance(item, Made)}
    top = [made for made in stage.made if made.key not in collected and not made.has_failed]
    expected = [key for made in reversed(top) for key in made.undo_order()]
    assert [key for key in stage.started if key in set(expected)] == expected
