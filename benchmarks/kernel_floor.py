"""The least work that could do what the kernel does: plain calls, closures, tuples and lists.

A limit to divide by, not a design: nothing here is ordered, filtered, isolated or observed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any


def emit(listeners: Sequence[Callable[..., Any]], count: int) -> None:
    """Call every listener, `count` times over."""
    for _ in range(count):
        for listener in listeners:
            listener(1, 2)


async def serial(listeners: Sequence[Callable[..., Awaitable[Any]]], count: int) -> None:
    """Await one listener after another."""
    for _ in range(count):
        for listener in listeners:
            await listener(1)


async def gather(listeners: Sequence[Callable[..., Any]], count: int) -> None:
    """Run all listeners at once."""
    for _ in range(count):
        await asyncio.gather(*[listener(1) for listener in listeners])


def waterfall(chain: Sequence[Callable[..., Any]], count: int) -> None:
    """Run synchronous middleware by one shared cursor."""
    for _ in range(count):
        value = [0]
        index = 0

        def step() -> object:
            nonlocal index
            if index == len(chain):
                return 1
            index += 1
            return chain[index - 1](value, step)  # noqa: B023 - called within the same turn

        step()


async def waterfall_later(chain: Sequence[Callable[..., Awaitable[Any]]], count: int) -> None:
    """Run asynchronous middleware by one shared cursor."""

    async def core() -> int:
        return 1

    for _ in range(count):
        value = [0]
        index = 0

        def step() -> Awaitable[object]:
            nonlocal index
            if index == len(chain):
                return core()
            index += 1
            return chain[index - 1](value, step)  # noqa: B023 - awaited within the same turn

        await step()


class Unit:
    """One mounted thing: what it needs, what undoes it."""

    __slots__ = ("disposers", "needs", "setup")

    def __init__(self, setup: Callable[[Unit], object], needs: str | None = None) -> None:
        self.setup = setup
        self.needs = needs
        self.disposers: list[Callable[[], object]] = []

    def unload(self) -> None:
        """Undo everything, newest first."""
        while self.disposers:
            self.disposers.pop()()


class Bench:
    """A handful of tables: listeners, services, and who needs which service."""

    def __init__(self) -> None:
        self.listeners: dict[int, Callable[..., Any]] = {}
        self.services: dict[str, object] = {}
        self.needing: dict[str, list[Unit]] = {}

    def listen(self, unit: Unit, listener: Callable[..., Any]) -> None:
        """Register a listener of `unit`."""
        key = id(unit)
        self.listeners[key] = listener
        unit.disposers.append(lambda: self.listeners.pop(key))

    def mount(self, unit: Unit) -> Unit:
        """Run the setup of `unit`, now or once its service is there."""
        if unit.needs is not None:
            self.needing.setdefault(unit.needs, []).append(unit)
        if unit.needs is None or unit.needs in self.services:
            unit.setup(unit)
        return unit

    def provide(self, unit: Unit, name: str, value: object) -> None:
        """Bind a service and load everything that waits for it, one after another."""
        self.services[name] = value
        unit.disposers.append(lambda: self.withdraw(name))
        for user in self.needing.get(name, ()):
            user.setup(user)

    def withdraw(self, name: str) -> None:
        """Take a service away and unload its users."""
        for user in self.needing.get(name, ()):
            user.unload()
        del self.services[name]
