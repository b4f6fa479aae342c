"""What all contexts of one root share: the bus, the realms, the clock, and the work queues.

Lifecycle work never recurses. A change of a service is queued and drained by the outermost
kernel call that caused it; unloading and loading continue as small steps in a queue that one
callback of the event loop runs, so that no fiber needs a task of its own.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine
from contextvars import copy_context
from typing import TYPE_CHECKING, Any, NamedTuple

from vendor_shims.logger import LoggerCore

from .bus import EventBus
from .clock import Clock, LoopClock
from .collect import discard
from .events import INTERNAL_SERVICE
from .latch import Latch
from .realm import Realm
from .registry import Registry
from .stack import STACK, TARGET, Frame

if TYPE_CHECKING:
    from .accessors import Forward
    from .context import Context
    from .fiber import Fiber


class Accessor(NamedTuple):
    """A computed attribute of all contexts of a tree."""

    get: Callable[[Any], Any]
    set: Callable[[Any, Any], None] | None
    forward: Forward | None = None


class Tree:
    """The shared state of one root context.

    Invariants: `busy` holds exactly the fibers in a transition; every task the kernel started
    and that has not ended is in `tasks` with the fiber it belongs to.
    """

    root: Context

    def __init__(
        self, *, clock: Clock | None, dispose_timeout_s: float | None, debug: bool
    ) -> None:
        self.clock: Clock = clock or LoopClock()
        self.dispose_timeout_s = dispose_timeout_s
        self.debug = debug
        self.loop: asyncio.AbstractEventLoop | None = None
        self.is_closing = False
        self.log = LoggerCore()
        self.bus = EventBus(self)
        self.registry = Registry()
        self.declared: set[str] = set()
        self.accessors: dict[str, Accessor] = {}
        self.busy: dict[Fiber, None] = {}
        self.tasks: dict[asyncio.Task[Any], Fiber] = {}
        self._realms: dict[str, Realm] = {}
        self._labelled: dict[tuple[str, Any], Realm] = {}
        self._changed: deque[Realm] = deque()
        self._is_draining = False
        self._work: deque[Callable[[], None]] = deque()
        self._next_turn: list[Callable[[], None]] = []
        self._is_scheduled = False
        self._quiet: Latch | None = None
        self._fibers = 0
        self._bindings = 0

    def next_uid(self) -> int:
        """Return a fiber id that was never used in this tree."""
        self._fibers += 1
        return self._fibers

    def next_binding_number(self) -> int:
        """Return a binding number above all earlier ones."""
        self._bindings += 1
        return self._bindings

    def default_realm(self, name: str) -> Realm:
        """Return the realm of `name` for contexts that isolate nothing."""
        realm = self._realms.get(name)
        if realm is None:
            realm = self._realms[name] = Realm(name)
        return realm

    def labelled_realm(self, name: str, label: object) -> Realm:
        """Return the realm that everybody who isolates `name` with this label shares."""
        realm = self._labelled.get((name, label))
        if realm is None:
            realm = self._labelled[name, label] = Realm(name, label)
        return realm

    def realms(self) -> list[Realm]:
        """Return the realms that can be named: defaults, then labelled ones."""
        return [*self._realms.values(), *self._labelled.values()]

    def bind_loop(self) -> asyncio.AbstractEventLoop:
        """Return the running loop, which from the first use on is the tree's only one."""
        try:
            running = asyncio.get_running_loop()
        except RuntimeError:
            raise RuntimeError(
                "this needs a running event loop; call it from a coroutine or a loop callback"
            ) from None
        if self.loop is not running:
            if self.loop is not None:
                raise RuntimeError(
                    f"this context tree belongs to {self.loop!r} and was used from {running!r};"
                    " use ctx.call_threadsafe from other threads"
                )
            self.loop = running
        return running

    def require_own_loop(self) -> None:
        """Raise `RuntimeError` when the tree has a loop and it is not the running one."""
        if self.loop is not None:
            self.bind_loop()

    def notify(self, realm: Realm) -> None:
        """Queue every fiber that declared the realm's name for another look at it."""
        self._changed.append(realm)

    def drain(self) -> None:
        """Re-evaluate queued realms until none is left; inside a drain only the outermost does."""
        if self._is_draining:
            return
        self._is_draining = True
        try:
            while self._changed:
                realm = self._changed.popleft()
                for fiber in tuple(realm.watchers):
                    fiber.retarget()
                value = None if realm.binding is None else realm.binding.value
                self.bus.emit(INTERNAL_SERVICE, (realm.name, value), realm, contain=True)
        finally:
            self._is_draining = False

    def post(self, step: Callable[[], None]) -> None:
        """Run `step` as soon as the current kernel step has ended."""
        self._work.append(step)
        self._schedule()

    def next_turn(self, step: Callable[[], None]) -> None:
        """Run `step` after at least one turn of the event loop."""
        self._next_turn.append(step)
        self._schedule()

    def _schedule(self) -> None:
        if not self._is_scheduled:
            loop = self.bind_loop()
            context = copy_context()
            context.run(STACK.set, ())
            context.run(TARGET.set, None)
            loop.call_soon(self._run, context=context)
            self._is_scheduled = True

    def _run(self) -> None:
        turn, self._next_turn = self._next_turn, []
        steps = deque(turn)
        try:
            while steps or self._work:
                step = self._work.popleft() if self._work else steps.popleft()
                try:
                    step()
                except Exception:  # steps contain plugin code; a failure here is a kernel bug
                    logging.getLogger(__name__).exception("a kernel step failed")
        finally:  # a plugin may end the program; what is left of the loop still runs the rest
            self._is_scheduled = False
            self._next_turn[:0] = steps
            if self._work or self._next_turn:
                self._schedule()
        if self._quiet is not None and self.is_quiet:
            quiet, self._quiet = self._quiet, None
            quiet.open()

    @property
    def is_quiet(self) -> bool:
        """Whether no fiber is in transition and nothing is queued."""
        return not (self.busy or self._changed or self._work or self._next_turn)

    def quiet(self) -> Latch:
        """Return a latch that opens when the tree has come to rest."""
        if self._quiet is None:
            self._quiet = Latch()
            self._schedule()
        return self._quiet

    def create_task(
        self,
        coroutine: Coroutine[Any, Any, Any],
        *,
        owner: Fiber,
        stack: tuple[Frame, ...] | None = None,
        target: object = None,
        name: str | None = None,
    ) -> asyncio.Task[Any]:
        """Start a task that belongs to `owner`; `stack` replaces frames and current target."""
        try:
            loop = self.bind_loop()
        except RuntimeError:
            coroutine.close()
            raise
        context = copy_context()
        if stack is not None:
            context.run(STACK.set, stack)
            context.run(TARGET.set, target)
        task = loop.create_task(coroutine, name=name, context=context)
        self.tasks[task] = owner
        task.add_done_callback(self._forget)
        return task

    def _forget(self, task: asyncio.Task[Any]) -> None:
        self.tasks.pop(task, None)
        if not task.cancelled():
            task.exception()  # whoever started the task deals with it; the loop need not warn
        if self._quiet is not None and not self._is_scheduled:
            self._schedule()

    def cancel(self, task: asyncio.Task[Any]) -> None:
        """Cancel `task`, but not before it had its first step: its code must see the request."""
        self.bind_loop().call_soon(task.cancel)

    def run_bounded(
        self, awaitable: Awaitable[Any], *, owner: Fiber, timeout_s: float | None, label: str
    ) -> Latch:
        """Run a disposer's awaitable; the latch opens at its end, or soon after `timeout_s`."""
        try:
            task = self.create_task(_await(awaitable), owner=owner)
        except RuntimeError:
            discard(awaitable)
            raise
        return self.end_of(task, owner=owner, timeout_s=timeout_s, label=label)

    def end_of(
        self, task: asyncio.Task[Any], *, owner: Fiber, timeout_s: float | None, label: str
    ) -> Latch:
        """Return a latch that opens at the end of `task`, or soon after `timeout_s`.

        At the timeout it is cancelled, the owner's log names it, and the teardown goes on.
        """
        latch = Latch()

        def finished(task: asyncio.Task[Any]) -> None:
            latch.open(None if task.cancelled() else task.exception())

        def expire() -> None:
            owner.ctx.logger.warn(
                "%s of %s did not finish within %s s and was cancelled",
                label,
                owner.name,
                timeout_s,
            )
            task.cancel()
            # Two turns let a well-behaved disposer end; one that swallows the request is left.
            loop = self.bind_loop()
            loop.call_soon(lambda: loop.call_soon(latch.open))

        task.add_done_callback(finished)
        if timeout_s is not None:
            timer = self.clock.call_later(timeout_s, expire)
            task.add_done_callback(lambda _: timer.cancel())
        return latch


async def _await(awaitable: Awaitable[Any]) -> Any:
    return await awaitable
