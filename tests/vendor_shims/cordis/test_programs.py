"""Random plugin programs against independent books (01 section 15.N: N01, N03, N08).

Plugins of a program mount, provide, withdraw, replace, update, restart, isolate, listen and
dispose, at the top and in their setups, listeners and disposers, some of them slow or failing.
"""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from vendor_shims.testing import kernel
from vendor_shims.testing.strategies import (
    AT_TOP,
    Act,
    Blueprint,
    Program,
    Step,
    World,
    acts,
    blueprints,
    check,
    programs,
    run_program,
)


@pytest.mark.spec("01-N01", "01-N03", "01-N08")
@given(program=programs())
def test_programs_keep_every_promise_and_repeat_exactly(program: Program) -> None:
    first = asyncio.run(run_program(program))
    assert asyncio.run(run_program(program)) == first


class KernelPrograms(RuleBasedStateMachine):
    """The same step by step, so that a failing program shrinks to the steps that matter."""

    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.stack = AsyncExitStack()
        self.steps: list[Step] = []

    @initialize(plugins=st.lists(blueprints(), min_size=2, max_size=8))
    def start(self, plugins: list[Blueprint]) -> None:
        async def enter() -> World:
            made = await self.stack.enter_async_context(kernel())
            return World(made, tuple(plugins))

        self.plugins = tuple(plugins)
        self.world = self.runner.run(enter())

    @rule(act=acts(AT_TOP))
    def do(self, act: Act) -> None:
        self._run(Step(act))

    @rule(act=acts(AT_TOP))
    def do_and_settle(self, act: Act) -> None:
        self._run(Step(act, settles=True))

    @rule(act=acts(AT_TOP), turns=st.integers(0, 12))
    def do_and_cancel(self, act: Act, turns: int) -> None:
        self._run(Step(act, cancel_after=turns))

    def _run(self, step: Step) -> None:
        self.steps.append(step)
        self.runner.run(self.world.run(step))
        if step.settles:
            check(self.world.books)

    def teardown(self) -> None:
        try:
            if self.steps:
                self.runner.run(self._finish())
        finally:
            self.runner.close()

    async def _finish(self) -> None:
        await self.world.settle()
        check(self.world.books)
        await self.world.close()
        await self.stack.aclose()
        assert self.world.books.broken == []


TestKernelPrograms = pytest.mark.spec("01-N01", "01-N03", "01-N08")(KernelPrograms.TestCase)
