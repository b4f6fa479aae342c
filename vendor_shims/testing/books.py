"""Independent books about a program: what was registered, loaded and undone, in which order."""

from __future__ import annotations

from typing import Any

import attrs

from vendor_shims.cordis import Context, Fiber, FiberState

from .kernel import Kernel
from .program import SERVICES


@attrs.define(eq=False)
class Registered:
    """One registration that a program made, and what the books say about it.

    Attributes:
        kind: `effect`, `listener`, `binding` or `fiber`.
        owner: the fiber it was made on.
        handle: the kernel's object for it; `None` for a disposer that a setup yielded.
        unloads: how often the owner had unloaded before.
        is_gone: whether it was undone by itself, not with its owner.
        n_undone: how often its disposer began; effects only.
    """

    kind: str
    owner: Fiber
    handle: Any
    unloads: int
    number: int
    is_gone: bool = False
    n_undone: int = 0


@attrs.define(eq=False)
class Load:
    """One run of a setup: what it saw and how it ended."""

    fiber: Fiber
    config: Any
    seen: dict[str, int | None]
    result: str = "running"


@attrs.define(eq=False)
class Value:
    """What programs provide: the number of the binding it was made for, and a version."""

    number: int
    version: int = 0


class Violation(AssertionError):
    """Raised when the kernel breaks one of its promises; the trace says how it came to that."""


class Books:
    """What a program did on a kernel, and what it noticed meanwhile.

    Attributes:
        trace: what happened, in order; equal for equal programs.
        registered: every registration made so far.
        loads: every run of a setup so far.
        fibers: every fiber ever mounted, the root first.
        placement: for each fiber the label of its realm of each service it was isolated for.
        configs: the config that each fiber was last given.
        unloads: how often each fiber has unloaded.
        flags: for each service whether checks let it be used.
        undoing: for each fiber the slow disposer that is running.
        own: what the books registered themselves.
        broken: violations noticed inside plugin code, where raising would be contained.
    """

    def __init__(self, made: Kernel) -> None:
        self.kernel = made
        self.root: Context = made.root
        self.trace: list[str] = []
        self.registered: list[Registered] = []
        self.loads: list[Load] = []
        self.fibers: list[Fiber] = [made.root.fiber]
        self.placement: dict[Fiber, dict[str, int]] = {made.root.fiber: {}}
        self.configs: dict[Fiber, Any] = {}
        self.unloads: dict[Fiber, int] = {}
        self.flags: dict[str, bool] = dict.fromkeys(SERVICES, True)
        self.undoing: dict[Fiber, Registered] = {}
        self.broken: list[str] = []
        self.own = [made.root.on("internal/status", self._changed, unfiltered=True)]
        self._numbers = 0

    def next_number(self) -> int:
        """Return a number above all earlier ones."""
        self._numbers += 1
        return self._numbers

    def note(self, text: str) -> None:
        """Append a line to the trace."""
        self.trace.append(f"{self.kernel.clock.time():.1f} {text}")

    def register(self, kind: str, owner: Fiber, handle: object = None) -> Registered:
        """Book a registration on `owner`."""
        unloads = self.unloads.get(owner, 0)
        one = Registered(kind, owner, handle, unloads, self.next_number())
        self.registered.append(one)
        return one

    def gone(self, fiber: Fiber) -> None:
        """Book that the disposal of `fiber` was requested."""
        for one in self.registered:
            if one.handle is fiber:
                one.is_gone = True

    def living(self, pick: int) -> Fiber:
        """Choose one of the fibers that nobody disposed."""
        living = [fiber for fiber in self.fibers if fiber.uid is not None]
        return living[pick % len(living)]

    def pick(self, kind: str, pick: int) -> Registered | None:
        """Choose one of the registrations that stand, if there is any."""
        found = [one for one in self.live(kind) if one.handle is not None]
        return found[pick % len(found)] if found else None

    def live(self, kind: str | None = None) -> list[Registered]:
        """Return the registrations that must stand when the tree is at rest."""
        return [
            one
            for one in self.registered
            if (kind is None or one.kind == kind)
            and not one.is_gone
            and one.unloads == self.unloads.get(one.owner, 0)
            and one.owner.state is not FiberState.DISPOSED
        ]

    def violation(self, message: str) -> Violation:
        """Return an error that is also remembered, in case that the kernel contains it."""
        self.broken.append(message)
        return Violation(message)

    def undo_begins(self, one: Registered) -> None:
        """Book the start of a disposer and check that it is its turn."""
        self.note(f"undo {one.number} of {name_of(one.owner)}")
        one.n_undone += 1
        if one.n_undone > 1:
            raise self.violation(f"effect {one.number} is undone again")
        if one.is_gone:
            return
        running = self.undoing.get(one.owner)
        if running is not None:
            raise self.violation(f"effect {one.number} is undone during {running.number}")
        for other in self.registered:
            if (
                other.kind == "effect"
                and other.owner is one.owner
                and other.number > one.number
                and not (other.n_undone or other.is_gone)
            ):
                raise self.violation(f"effect {one.number} is undone before {other.number}")
        self._check_users(one)

    def _check_users(self, one: Registered) -> None:
        """Check that nobody uses the owner's services any more, who does not wait for it."""
        for binding in one.owner.bindings.values():
            for user in binding.committers:
                item = None if user.unwinding is None else user.unwinding.waiting_for
                is_waiting = bool(user.drains) or item is not None
                is_excused = is_waiting or user in one.owner.lineage() or self._gave_up()
                if not is_excused:
                    raise self.violation(f"effect {one.number} is undone before {user} left")

    def _gave_up(self) -> bool:
        return any("gave up waiting" in text for text in self.kernel.logged("warn"))

    def _changed(self, fiber: Fiber, old: FiberState) -> None:
        self.note(f"{name_of(fiber)} {old.name}->{fiber.state.name}")
        if old is FiberState.UNLOADING:
            tasks = self.root.kernel.tasks.items()
            for task in [task for task, owner in tasks if owner is fiber and not task.done()]:
                self.broken.append(f"{name_of(fiber)} unloaded before {task.get_coro()}")
            self.unloads[fiber] = self.unloads.get(fiber, 0) + 1


def name_of(fiber: Fiber) -> str:
    """Return what traces call a fiber."""
    return f"{fiber.name}#{fiber.serial}"


def number_of(value: object) -> int | None:
    """Return the number of a provided value, `None` for anything else."""
    return value.number if isinstance(value, Value) else None
