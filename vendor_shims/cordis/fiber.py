"""Fibers: running instances of plugins, as others see and command them."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any, Self

from .collect import is_awaitable
from .effect import EffectMeta, Owned
from .errors import InactiveEffect
from .events import INTERNAL_CONFIG, INTERNAL_PLUGIN
from .latch import Latch, forbid_reentrant_await
from .lifecycle import FiberState, Lifecycle
from .update import apply_update
from .waiting import wait_active


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

    def stands(self) -> bool:
        """Return whether nobody asked to dispose the fiber."""
        return self.uid is not None

    @property
    def is_loaded(self) -> bool:
        """Whether the fiber holds a committed view of its services."""
        return self.state in (FiberState.LOADING, FiberState.ACTIVE, FiberState.UNLOADING)

    @property
    def accepts(self) -> bool:
        """Whether something may be registered on the fiber now."""
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
        Config = None if self.runtime is None else self.runtime.Config
        if Config is None:
            return raw
        if raw is None and isinstance(Config, type):
            raw = {}
        validate = getattr(Config, "validate", None)
        if validate is None:
            raise TypeError(f"Config of {self.name!r} has no validate method: {Config!r}")
        validated = validate(raw)
        if is_awaitable(validated):
            if hasattr(validated, "close"):
                validated.close()
            raise TypeError("async config validation is not supported")
        return validated

    def require_accepting(self) -> None:
        """Raise `InactiveEffect` unless the fiber takes registrations now."""
        if not self.accepts:
            raise InactiveEffect(
                f"cannot register on fiber {self.name!r}: it is"
                f" {'being disposed' if self.uid is None else self.state.name}"
            )

    def __await__(self) -> Generator[Any, None, Self]:
        forbid_reentrant_await(self)
        while self.is_moving:
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
            self._end = Latch(self)
            self.uid = None
            self.tree.bus.emit(INTERNAL_PLUGIN, (self,), None, contain=True)
            if self.runtime is not None:
                self.tree.registry.discard(self.runtime, self)
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


def _unchanged(fiber: Fiber, raw: Any) -> Any:
    """Be the innermost part of `internal/config`: the raw config as it is."""
    return raw
