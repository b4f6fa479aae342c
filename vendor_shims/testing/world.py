"""Running plugin programs on a real kernel."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

from vendor_shims.cordis import Context, CordisError
from vendor_shims.timer import come_to_rest

from .acts import Acts, Awaited, follow
from .blueprint_plugin import BlueprintPlugin
from .books import Books, Violation, name_of
from .kernel import Kernel
from .program import Act, Blueprint, Step

_FUEL = 12
_STEP_S = 0.5
_MAX_STEPS = 2000


class World(Acts):
    """A kernel together with the books about a program that runs on it.

    Attributes:
        fuel: how many acts the step may still cause.
    """

    def __init__(self, made: Kernel, blueprints: tuple[Blueprint, ...]) -> None:
        super().__init__(Books(made))
        self.fuel = 0
        self.plugins = [BlueprintPlugin(self, *numbered) for numbered in enumerate(blueprints)]

    async def run(self, step: Step) -> None:
        """Do one step; come to rest afterwards if it says so."""
        self.fuel = _FUEL
        self.books.note(f"step {step.act.kind}")
        try:
            awaited = self.perform(self.root, step.act)
        except CordisError:  # a name that the step insists on is taken; the trace says so
            awaited = None
        if awaited is not None:
            self._operate(awaited, step.cancel_after)
        if step.settles:
            await self.settle()

    async def settle(self) -> None:
        """Let time pass until nothing moves any more."""
        tree = self.root.kernel
        for _ in range(_MAX_STEPS):
            await come_to_rest()
            if tree.is_quiet and not tree.tasks and not self.kernel.clock.n_pending:
                return
            await self.kernel.clock.advance(_STEP_S)
        raise Violation(f"never comes to rest: busy {list(tree.busy)}, tasks {tree.tasks}")

    async def close(self) -> None:
        """Close the root and wait for everything that its disposers started."""
        self.fuel = _FUEL
        self._operate(follow(self.root.close()), None)
        await self.settle()

    def _operate(self, awaited: Coroutine[Any, Any, Any], cancel_after: int | None) -> None:
        self._start(self._contained(self._start(awaited), cancel_after))

    def _start(self, awaited: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        """Start what nobody in the tree waits for; it counts as a task of the root."""
        return self.root.kernel.create_task(awaited, owner=self.root.fiber, stack=())

    async def _contained(self, operation: asyncio.Task[Any], cancel_after: int | None) -> None:
        for _ in range(cancel_after or 0):
            await asyncio.sleep(0)
        if cancel_after is not None:
            operation.cancel()
        await asyncio.wait((operation,))
        if operation.cancelled():
            self.books.note("operation cancelled")
        elif (error := operation.exception()) is not None:
            self.books.note(f"operation raised {type(error).__name__}")

    def perform(
        self, ctx: Context, act: Act, *, may_await: bool = True, is_free: bool = False
    ) -> Awaited:
        """Do `act` in `ctx`; returns what is to be awaited, or `None`.

        What the kernel refuses is noted and forgiven, except a name that a provide insists on.
        Acts that could go on for ever use up the fuel of the step; `is_free` ones do not.
        """
        if not is_free and self.fuel <= 0:
            return None
        self.fuel -= not is_free
        if act.where:
            ctx = self.books.living(act.where).ctx
        try:
            awaited = getattr(self, f"_{act.kind}")(ctx, act)
        except (CordisError, AttributeError, ExceptionGroup) as error:
            self.books.note(f"{act.kind} in {name_of(ctx.fiber)}: {type(error).__name__}")
            if act.kind == "provide" and act.is_bad:
                raise
            return None
        if awaited is None or (act.awaits and may_await):
            return awaited
        self._operate(awaited, None)
        return None
