"""Blueprints of plugin programs as plugins that run on a kernel."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Generator
from typing import Any

from vendor_shims.cordis import Context

from .acts import Acts
from .books import Load, name_of, number_of
from .program import SERVICES, Act, Blueprint


class BlueprintPlugin:
    """A blueprint as a plugin; its name stands in traces."""

    def __init__(self, acts: Acts, number: int, blueprint: Blueprint) -> None:
        self.name = f"p{number}"
        self.inject = {
            **{SERVICES[one]: None for one in blueprint.required},
            **{f"{SERVICES[one]}?": None for one in blueprint.optional},
        }
        self.cancel_stale_load = not blueprint.is_patient
        self._acts = acts
        self._blueprint = blueprint

    def apply(self, ctx: Context, config: object) -> object:
        """Set the plugin up in the form that the blueprint wants."""
        books = self._acts.books
        # What the fiber still provides itself, from before it failed, is not what it waits for.
        own = {binding.value for binding in ctx.fiber.bindings.values()}
        found = {name: getattr(ctx, name, None) for name in ctx.fiber.inject}
        seen = {name: None if one in own else number_of(one) for name, one in found.items()}
        load = Load(ctx.fiber, config, seen)
        books.loads.append(load)
        books.note(f"{name_of(ctx.fiber)} loads with {seen}")
        run = {
            "sync": self._run,
            "async": self._run_later,
            "generator": self._yield,
            "async generator": self._yield_later,
        }[self._blueprint.form]
        return run(ctx, load)

    def _act(self, ctx: Context, act: Act) -> None:
        is_free = act.kind in ("provide", "effect", "listen") and not act.where
        self._acts.perform(ctx, act, may_await=False, is_free=is_free)

    def _run(self, ctx: Context, load: Load) -> None:
        with _Ending(load):
            for act in self._blueprint.setup:
                self._act(ctx, act)
            self._end(ctx, load)

    async def _run_later(self, ctx: Context, load: Load) -> None:
        with _Ending(load):
            for act in self._blueprint.setup:
                # Only the end of others may be awaited: two setups could wait for each other.
                if act.kind != "dispose" or self._blueprint.is_patient:
                    self._act(ctx, act)
                elif (awaited := self._acts.perform(ctx, act)) is not None:
                    await awaited
            await self._acts.kernel.clock.sleep(self._blueprint.delay_s)
            self._end(ctx, load)

    def _yield(self, ctx: Context, load: Load) -> Generator[Callable[[], Any]]:
        with _Ending(load):
            for act in self._blueprint.setup:
                if act.kind == "effect" and not act.where:
                    yield self._acts.register_yielded(ctx, act)
                else:
                    self._act(ctx, act)
            self._end(ctx, load)

    async def _yield_later(self, ctx: Context, load: Load) -> AsyncGenerator[Callable[[], Any]]:
        with _Ending(load):
            for act in self._blueprint.setup:
                if act.kind == "effect" and not act.where:
                    yield self._acts.register_yielded(ctx, act)
                    await asyncio.sleep(0)
                else:
                    self._act(ctx, act)
            await self._acts.kernel.clock.sleep(self._blueprint.delay_s)
            self._end(ctx, load)

    def _end(self, ctx: Context, load: Load) -> None:
        for name, spec in ctx.fiber.inject.items():
            expected = load.seen[name]
            if spec.required and number_of(getattr(ctx, name)) != expected:
                self._acts.books.broken.append(
                    f"{name} changed during the load of {name_of(ctx.fiber)}"
                )
        fails = self._blueprint.fails
        if fails == "always" or (fails == "when told" and load.config["fails"]):
            raise ValueError("a setup fails")


class _Ending:
    """Notes how a load ended."""

    def __init__(self, load: Load) -> None:
        self._load = load

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            self._load.result = "ok"
        elif issubclass(kind, Exception):
            self._load.result = "failed"
        else:
            self._load.result = "stopped"
