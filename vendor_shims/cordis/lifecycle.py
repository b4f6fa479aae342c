"""The life of a fiber: a small state machine that follows its target.

A fiber compares what it has loaded with its *target*: nothing, or its revision together with
the numbers of the bindings it needs. Whenever the two differ it moves: it unloads, it loads, and
it looks again. At most one transition of a fiber is under way at any time.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from enum import IntEnum
from typing import TYPE_CHECKING, Any, ClassVar, cast

from .errors import InvalidEffect
from .events import INTERNAL_STATUS
from .latch import Latch
from .owned import Owned, Returned
from .setup import Setup
from .unwind import Unwind
from .waits import Drain, must_wait

if TYPE_CHECKING:
    from .context import Context
    from .fiber import Fiber
    from .inject import InjectSpec
    from .plugin import Runtime
    from .realm import Binding, Realm
    from .tree import Tree

Target = tuple[int, ...]


class FiberState(IntEnum):
    """Where a fiber stands; the numbers appear on the wire in tooling."""

    PENDING = 0
    LOADING = 1
    ACTIVE = 2
    FAILED = 3
    DISPOSED = 4
    UNLOADING = 5


_MOVING = (FiberState.LOADING, FiberState.UNLOADING)


class Lifecycle(Owned):
    """The moving half of a fiber: its data, its target, and its transitions.

    Invariants:
        - `loaded` is the target that the committed `view` belongs to; it is only meaningful
          in LOADING, ACTIVE and UNLOADING.
        - exactly one continuation (a queued step, a setup task, or an unwinding) exists while
          the state is LOADING or UNLOADING, and none otherwise.
        - `table` holds the registrations to undo, oldest first.
        - `uid` is `None` from the request to dispose on and never comes back.
    """

    __slots__ = (
        "__weakref__",
        "_end",
        "_idle",
        "_is_tearing_root",
        "_setup",
        "bindings",
        "cleanup_errors",
        "config",
        "ctx",
        "deps",
        "dispose_timeout_s",
        "drains",
        "entry",
        "error",
        "failed_target",
        "inject",
        "last_progress",
        "loaded",
        "raw_config",
        "revision",
        "runtime",
        "serial",
        "since",
        "state",
        "table",
        "target",
        "tree",
        "uid",
        "unwinding",
        "view",
    )
    label = "ctx.plugin()"
    is_fiber: ClassVar[bool] = True
    owner: Fiber | None

    def __init__(
        self, tree: Tree, parent: Fiber | None, runtime: Runtime | None, raw_config: Any
    ) -> None:
        super().__init__(parent)
        self.tree = tree
        self.runtime = runtime
        self.raw_config = raw_config
        self.config: Any = None
        self.inject: dict[str, InjectSpec] = {}
        self.ctx: Context  # the mounting context sets it at once
        self.uid: int | None = 0 if parent is None else tree.next_uid()
        self.serial = self.uid
        self.state = FiberState.ACTIVE if parent is None else FiberState.PENDING
        self.error: BaseException | None = None
        self.revision = 0
        self.entry: Any = None
        self.since = self.last_progress = tree.clock.time()
        self.dispose_timeout_s = tree.dispose_timeout_s
        self.cleanup_errors: list[BaseException] = []
        self.table: dict[Owned, None] = {}
        self.bindings: dict[Realm, Binding] = {}
        self.deps: tuple[tuple[str, Realm, InjectSpec], ...] = ()
        self.view: dict[Realm, Binding] = {}
        self.target: Target | None = None
        self.loaded: Target | None = None
        self.failed_target: Target | None = None
        self.drains: tuple[Drain, ...] = ()
        self.unwinding: Unwind | None = None
        self._setup: Setup | None = None
        self._idle: Latch | None = None
        self._end: Latch | None = None
        self._is_tearing_root = False

    @property
    def _me(self) -> Fiber:
        return self  # pyright: ignore[reportReturnType] - nothing else derives; asked very often

    @property
    def is_active(self) -> bool:
        """Whether setup is complete, so that the fiber's bindings count as available."""
        return self.state is FiberState.ACTIVE and not self._is_tearing_root

    @property
    def is_moving(self) -> bool:
        """Whether a transition is under way."""
        return self.state in _MOVING or self._is_tearing_root

    @property
    def is_ending(self) -> bool:
        """Whether the fiber undoes, or is about to undo, what is registered on it."""
        return self.state is FiberState.UNLOADING or self._is_tearing_root

    def lineage(self) -> Iterator[Fiber]:
        """Return the fiber and its ancestors, nearest first."""
        fiber: Fiber | None = self._me
        while fiber is not None:
            yield fiber
            fiber = fiber.owner

    def watch_dependencies(self) -> None:
        """Resolve the inject declaration against the realms of the fiber's context."""
        for name, spec in self.inject.items():
            if spec.is_followed:
                realm = self.ctx.realm(name)
                self.deps = (*self.deps, (name, realm, spec))
                realm.watchers[self._me] = None
        self.retarget()

    def resolve_dependencies(self) -> bool:
        """Look every dependency up again; return whether one stands in another realm now."""
        deps = self.deps
        self.deps = tuple([(name, self.ctx.realm(name), spec) for name, _, spec in deps])
        for (_, realm, _), (_, found, _) in zip(deps, self.deps, strict=True):
            if found is not realm:
                realm.watchers.pop(self._me, None)
                found.watchers[self._me] = None
        return self.deps != deps

    def retarget(self) -> None:
        """Compute the target anew and start the transition that it asks for, if any."""
        target = self.target = self._compute_target()
        state = self.state
        if state is FiberState.ACTIVE:
            if target != self.loaded:
                self._begin_unload()
        elif state is FiberState.LOADING:
            if target != self.loaded and self._setup is not None:
                self._setup.cancel()
        elif state in (FiberState.PENDING, FiberState.FAILED):
            if self.uid is None:
                self._begin_unload()
            elif target is not None and target != self.failed_target:
                self._begin_load(target)

    def note_progress(self) -> None:
        """Tell those who wait for this fiber that it moves."""
        self.last_progress = self.tree.clock.time()

    def wait_for_committers(self, bindings: list[Binding], done: Callable[[], None]) -> None:
        """Call `done` once no fiber that must go first still uses any of `bindings`."""
        pending = {
            fiber: None
            for binding in bindings
            for fiber in binding.committers
            if must_wait(self._me, fiber)
        }
        if pending:
            Drain(self._me, pending, done)
        else:
            done()

    def materialise(self, name: str, binding: Binding) -> None:
        """Put a committed service into the context's dictionary, where reads find it at once."""
        self.ctx.__dict__[name] = binding.value_for(self.ctx)

    def add(self, item: object) -> None:
        """Collect one disposer of the setup."""
        if isinstance(item, Owned):
            if item.leave_for(self._me):
                self.table[item] = None
        elif callable(item):
            self.table[Returned(self._me, item)] = None
        else:
            raise InvalidEffect(f"expected a disposer or None, got {type(item).__name__}")

    def is_stale(self) -> bool:
        """Return whether the running setup no longer leads where the fiber should be."""
        return self.target != self.loaded

    def next_transition(self) -> Latch:
        """Return a latch that opens when the fiber next comes to rest in a state."""
        if self._idle is None:
            self._idle = Latch()
        return self._idle

    def crash(self, error: BaseException) -> None:
        """Unload a loaded fiber and leave it failed with `error`, until it gets a new target."""
        if self._setup is not None:
            self._setup.fail(error)
        elif self.state is FiberState.ACTIVE and self.owner is not None:
            self.error = error
            self.failed_target = self.loaded
            self._begin_unload()
            self.tree.drain()

    def forget_failure(self) -> None:
        """Make a failed fiber wait for its next target as if it had never been loaded."""
        self.error = None
        if self.state is FiberState.FAILED:
            self._enter(FiberState.PENDING)

    # -- transitions -------------------------------------------------------------------------

    def _compute_target(self) -> Target | None:
        if self.uid is None:
            return None
        numbers = [self.revision]
        for _, realm, spec in self.deps:
            binding = realm.binding
            if binding is None or not binding.available_to(self._me):
                if spec.required:
                    return None
                numbers.append(0)
            elif spec.required or not binding.rests_on(self._me):
                numbers.append(binding.number)
            else:
                numbers.append(0)
        return tuple(numbers)

    def _enter(self, state: FiberState) -> None:
        old, self.state = self.state, state
        self.since = self.last_progress = self.tree.clock.time()
        if state in _MOVING:
            self.tree.busy[self._me] = None
        else:
            self.tree.busy.pop(self._me, None)
        self.tree.bus.emit(INTERNAL_STATUS, (self._me, old), None, contain=True)
        if state not in _MOVING:
            self._come_to_rest()

    def _come_to_rest(self) -> None:
        if self._idle is not None:
            idle, self._idle = self._idle, None
            idle.open()

    def _begin_load(self, target: Target) -> None:
        self.loaded = target
        self.error = self.failed_target = None
        for number, (name, realm, _) in zip(target[1:], self.deps, strict=True):
            binding = realm.binding
            if number and binding is not None:
                self.view[realm] = binding
                binding.committers[self._me] = None
                self.materialise(name, binding)
        self._setup = Setup(self._me)
        self._enter(FiberState.LOADING)
        self.tree.next_turn(self._setup.run)

    def setup_ended(self, error: BaseException | None) -> None:
        """Go on after a setup: become active, or undo what it did.

        A cancelled setup is stale even if the target has come back to what it loads.
        """
        setup, self._setup = cast("Setup", self._setup), None
        is_cancelled = isinstance(error, asyncio.CancelledError)
        if self.is_stale() or (is_cancelled and setup.was_cancelled):
            if error is not None and not is_cancelled:
                self.ctx.logger.error(error)
            self._begin_unload()
        elif error is not None:
            self.error = error
            self.failed_target = self.loaded
            if self.site is not None:
                error.add_note(f"mounted at {self.site} by {cast('Fiber', self.owner).name}")
            self.ctx.logger.error(error)
            self._begin_unload()
        else:
            self._enter(FiberState.ACTIVE)
            for realm in self.bindings:
                self.tree.notify(realm)
        self.tree.drain()

    def _begin_unload(self) -> None:
        self._enter(FiberState.UNLOADING)
        self._withdraw_bindings()

    def _withdraw_bindings(self) -> None:
        for realm in self.bindings:
            self.tree.notify(realm)
        self.tree.post(self._unload)

    def _unload(self) -> None:
        self.wait_for_committers(list(self.bindings.values()), self._undo_table)

    def _undo_table(self) -> None:
        self.unwinding = Unwind(
            self._me,
            lambda: self.table.popitem()[0] if self.table else None,
            on_error=self._cleanup_failed,
            done=self._root_empty if self.owner is None else self._unloaded,
            timeout_s=self.dispose_timeout_s,
        )
        self.unwinding.run()

    def _cleanup_failed(self, error: BaseException, label: str | None) -> None:
        error.add_note(f"raised while undoing {label or 'a disposer'} of {self._me.name!r}")
        self.cleanup_errors.append(error)
        self.ctx.logger.error(error)

    def _unloaded(self) -> None:
        self.unwinding = None
        self._drop_view()
        self.loaded = None
        if self.uid is None:
            cast("Fiber", self.owner).table.pop(self, None)
            self._enter(FiberState.DISPOSED)
            cast("Latch", self._end).open()
        elif self.target is not None and self.target != self.failed_target:
            self._begin_load(self.target)
        elif self.error is not None:
            self._enter(FiberState.FAILED)
        else:
            self._enter(FiberState.PENDING)

    def _drop_view(self) -> None:
        for realm, binding in self.view.items():
            self.ctx.__dict__.pop(realm.name, None)
            binding.committers.pop(self._me, None)
            for drain in binding.provider.drains:
                drain.left(self._me)
        self.view.clear()

    # -- the root ----------------------------------------------------------------------------

    def _dispose_root(self) -> Latch:
        if not self._is_tearing_root and self.state is not FiberState.DISPOSED:
            if self.table:
                self.tree.bind_loop()
                self.tree.busy[self._me] = None
            self._is_tearing_root = True
            self._end = Latch(self._me)
            if self.table:
                self._withdraw_bindings()
                self.tree.drain()
            else:
                self._root_empty()
        return cast("Latch", self._end)

    def _root_empty(self) -> None:
        self.unwinding = None
        self._is_tearing_root = False
        self.tree.busy.pop(self._me, None)
        if self.tree.is_closing:
            self._enter(FiberState.DISPOSED)
        else:
            self._come_to_rest()
        cast("Latch", self._end).open()
