"""Fibers: running instances of plugins, as others see and command them."""

from __future__ import annotations

import inspect
from collections.abc import Generator
from typing import TYPE_CHECKING, Any, Self, cast

from .collect import discard, is_awaitable
from .errors import InactiveEffect
from .events import INTERNAL_CONFIG, INTERNAL_PLUGIN
from .latch import Latch, forbid_waiting_for
from .lifecycle import FiberState, Lifecycle
from .owned import EffectMeta, Owned
from .stack import Frame
from .update import apply_update
from .waiting import wait_active

if TYPE_CHECKING:
    from .plugin import Runtime


class Fiber(Lifecycle):
    """One running instance of one plugin: its state, its effects, and requests to it."""

    __slots__ = ()

    @property
    def parent(self) -> Fiber | None:
        """The fiber that mounted this one; `None` for the root."""
        return self.owner

    @property
    def name(self) -> str:
        """The plugin's name, else that of the nearest named ancestor, else `root`."""
        for fiber in self.lineage():
            if fiber.runtime is not None and fiber.runtime.name:
                return fiber.runtime.name
        return "root"

    @property
    def title(self) -> str:
        """The fiber's name."""
        return self.name

    def stands(self) -> bool:
        """Return whether nobody asked to dispose the fiber."""
        return self.uid is not None

    def waits_for(self, frame: Frame) -> bool:
        """Return whether the end of the fiber waits for the code of `frame`."""
        is_cancelled = frame.phase == "setup" and frame.fiber.cancels_stale_load
        return not is_cancelled and self in frame.fiber.lineage()

    @property
    def is_loaded(self) -> bool:
        """Whether the fiber holds a committed view of its services."""
        return self.state in (FiberState.LOADING, FiberState.ACTIVE, FiberState.UNLOADING)

    @property
    def accepts(self) -> bool:
        """Whether something may be registered on the fiber now."""
        if self.owner is None and self.tree.is_closing:
            return False
        return self.uid is not None and self.state not in (
            FiberState.UNLOADING,
            FiberState.DISPOSED,
        )

    @property
    def cancels_stale_load(self) -> bool:
        """Whether a setup that became stale is cancelled rather than run to its end."""
        return self.runtime is None or self.runtime.cancels_stale_load

    @property
    def unsatisfied(self) -> dict[str, str]:
        """The required names that keep the fiber from loading, each with the reason."""
        reasons: dict[str, str] = {}
        for name, realm, spec in self.deps:
            binding = realm.binding
            if not spec.required or (binding is not None and binding.available_to(self)):
                continue
            if binding is None:
                reasons[name] = "nothing provides it"
            elif binding.provider.is_active:
                reasons[name] = f"{binding.provider.name} says it is unavailable"
            else:
                reasons[name] = f"{binding.provider.name} is {binding.provider.state.name}"
        return reasons

    def children(self) -> list[Fiber]:
        """Return the fibers mounted by this one, in the order of mounting."""
        found: list[Fiber] = []
        todo: list[Owned] = list(reversed(self.table))
        while todo:
            item = todo.pop()
            if isinstance(item, Fiber):
                found.append(item)
            else:
                todo.extend(reversed(getattr(item, "children", ())))
        return [fiber for fiber in found if fiber.stands()]

    def effects(self) -> list[EffectMeta]:
        """Return the labelled registrations as a tree, in the order of registration."""
        return [meta for item in self.table for meta in item.meta()]

    def __repr__(self) -> str:
        return f"<Fiber {self.name!r} uid={self.serial} {self.state.name}>"

    def resolve_config(self, raw: Any) -> Any:
        """Return the validated config for `raw`; raises `ValidationError`."""
        raw = self.tree.bus.waterfall(INTERNAL_CONFIG, (self, raw), _unchanged, None)
        model = None if self.runtime is None else self.runtime.Config
        if model is None:
            return raw
        if raw is None and isinstance(model, type):
            raw = {}
        validate = getattr(model, "validate", None)
        if validate is None:
            hint = "the decorator `vendor_shims.schema.config` makes a class that has one"
            raise TypeError(f"Config of {self.name!r} has no validate method; {hint}: {model!r}")
        validated = validate(raw)
        if is_awaitable(validated):
            discard(validated)
            raise TypeError("async config validation is not supported")
        return validated

    def require_accepting(self, refused: object = None) -> None:
        """Raise `InactiveEffect` unless the fiber takes registrations now.

        `refused` is what cannot be registered then: a coroutine is closed.
        """
        if not self.accepts:
            if inspect.iscoroutine(refused):
                refused.close()
            raise InactiveEffect(
                f"cannot register on fiber {self.name!r}: it is"
                f" {'being disposed' if self.uid is None else self.state.name}"
            )

    def __await__(self) -> Generator[Any, None, Self]:
        while self.is_moving:
            forbid_waiting_for(self)
            yield from self.next_transition().__await__()
        if self.state is FiberState.FAILED and self.error is not None:
            raise self.error
        return self

    async def wait(self) -> Self:
        """Follow transitions until none is running; raise the error of a failed fiber."""
        return await self

    async def active(self, timeout: float | None = None) -> Self:
        """Wait until the fiber is active.

        Raises:
            TimeoutError: it was not within `timeout` seconds; names the missing services.
            InactiveEffect: it was disposed.
            Exception: its setup failed with this.
        """
        await wait_active(self, timeout)
        return self

    def dispose(self) -> Latch:
        """Request the end of the fiber; await the result for its complete cleanup.

        Every call joins the same cleanup, which never raises: errors of disposers are logged
        and kept in `cleanup_errors`. On the root this unloads everything and stays usable.
        """
        if self.owner is None:
            return self._dispose_root()
        if self._end is None:
            self.tree.require_own_loop()
            self._end = Latch(self)
            self.uid = None
            self.tree.bus.emit(INTERNAL_PLUGIN, (self,), None, contain=True)
            self.tree.registry.discard(cast("Runtime", self.runtime), self)
            for _, realm, _ in self.deps:
                realm.watchers.pop(self, None)
            self.retarget()
            self.tree.drain()
        return self._end

    def undo(self) -> Latch | None:
        """Dispose for the owner."""
        latch = self.dispose()
        return None if latch.is_open else latch

    def restart(self) -> Self:
        """Unload and load again, superseding a load that is running; await it for the outcome.

        Raises:
            InactiveEffect: the fiber was disposed.
        """
        self._require_undisposed()
        self.tree.require_own_loop()
        self.revision += 1
        self.retarget()
        self.tree.drain()
        return self

    async def update(self, config: Any, *, save: bool = True) -> Self:
        """Give the fiber a new config and wait until it runs with it.

        An active fiber validates first and changes nothing when that fails; listeners of
        `internal/update` may then handle the change in place.

        Raises:
            InactiveEffect: the fiber was disposed.
            ValidationError: the config is invalid.
            Exception: the setup failed with the new config.
        """
        self._require_undisposed()
        await apply_update(self, config, save=save)
        return self

    def _require_undisposed(self) -> None:
        if self.uid is None:
            raise InactiveEffect(f"fiber {self.name!r} is disposed")
        if self.owner is None:
            raise TypeError("the root fiber runs no plugin")


def _unchanged(_: Fiber, raw: Any) -> Any:
    """Be the innermost part of `internal/config`: the raw config as it is."""
    return raw
