"""Where a service can stand: a realm is one place for one name, a binding what stands there."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .errors import ServiceConflict
from .latch import Latch
from .owned import Owned
from .service import Service
from .waits import must_wait

if TYPE_CHECKING:
    from .context import Context
    from .fiber import Fiber
    from .stack import Frame

Check = Callable[["Context"], bool]
"""An availability predicate; it gets the context of the fiber that wants the service."""


class Realm:
    """One place where a service of one name can be bound.

    Two names never share a realm, so the realm itself is the key of the service store.

    Invariants: `watchers` holds exactly the undisposed fibers whose inject resolves here, in
    the order they were mounted.
    """

    __slots__ = ("binding", "label", "name", "watchers")

    def __init__(self, name: str, label: object = None) -> None:
        self.name = name
        self.label = label
        self.binding: Binding | None = None
        self.watchers: dict[Fiber, None] = {}

    def __repr__(self) -> str:
        return f"<Realm {self.name!r} {self.label!r}>"

    def __event_filter__(self, ctx: Context) -> bool:
        return ctx.realm(self.name) is self


class Binding(Owned):
    """A provided service: the value, its provider, and who uses it. Calling it withdraws it.

    Invariants: `committers` are the fibers whose committed view holds this binding; `number`
    is unique and increasing within a tree; the provider keeps access to its own binding until
    the last committer has left.
    """

    __slots__ = ("_latch", "check", "committers", "number", "realm", "value")

    def __init__(self, owner: Fiber, realm: Realm, value: Any, check: Check | None) -> None:
        super().__init__(owner)
        self.realm = realm
        self.value = value
        self.check = check
        self.number = owner.tree.next_binding_number()
        self.committers: dict[Fiber, None] = {}
        self._latch: Latch | None = None

    @property
    def provider(self) -> Fiber:
        """The fiber that provides the value."""
        assert self.owner is not None  # a binding is always made with an owner
        return self.owner

    @property
    def label(self) -> str:  # pyright: ignore[reportIncompatibleVariableOverride] - computed
        """The label in the effect tree."""
        return f'ctx.provide("{self.realm.name}")'

    @property
    def active(self) -> bool:
        """Whether the binding still stands in its realm."""
        return self._latch is None

    def stands(self) -> bool:
        """Return whether the binding still stands in its realm."""
        return self._latch is None

    def waits_for(self, frame: Frame) -> bool:
        """Return whether the withdrawal waits for the code of `frame` to end."""
        return frame.phase == "cleanup" and any(
            fiber in self.committers and must_wait(self.provider, fiber)
            for fiber in frame.fiber.lineage()
        )

    def bind(self) -> None:
        """Stand in the realm; raises `ServiceConflict` when it is taken.

        A holder that is being disposed makes room: it only waits for its dependents to leave.
        """
        holder = self.realm.binding
        if holder is not None and holder.provider.uid is not None:
            raise ServiceConflict(
                f'service "{self.realm.name}" has been registered at {holder.provider.name}'
            )
        self.realm.binding = self
        self.provider.bindings[self.realm] = self
        self.provider.tree.declared.add(self.realm.name)

    def stand_in(self, realm: Realm) -> None:
        """Change the realm; the fibers that use the binding and now look there keep it."""
        old, self.realm = self.realm, realm
        realm.binding = self
        del self.provider.bindings[old]
        self.provider.bindings[realm] = self
        for fiber in self.committers:
            if fiber.ctx.realm(realm.name) is realm:
                del fiber.view[old]
                fiber.view[realm] = self

    def available_to(self, fiber: Fiber) -> bool:
        """Return whether `fiber` may commit this binding now."""
        if not self.provider.is_active:
            return False
        if self.check is None:
            return True
        try:
            return bool(self.check(fiber.ctx))
        except (Exception, asyncio.CancelledError) as error:
            self.provider.ctx.logger.error(error)
            return False

    def rests_on(self, fiber: Fiber) -> bool:
        """Return whether the provider lives below `fiber` or uses, even indirectly, its services.

        Such a binding goes when `fiber` reloads, so `fiber` cannot reload because it came.
        """
        todo = [self.provider]
        seen = {self.provider: None}
        while todo:
            one = todo.pop()
            if one is fiber:
                return True
            above = () if one.owner is None else (one.owner,)
            for other in (*above, *(binding.provider for binding in one.view.values())):
                if other not in seen:
                    seen[other] = None
                    todo.append(other)
        return False

    def value_for(self, ctx: Context) -> Any:
        """Return the value as read from `ctx`: services as a view bound to the reader."""
        value = self.value
        return value.as_caller(ctx) if isinstance(value, Service) else value

    def replace(self, value: Any) -> None:
        """Change the value in place; consumers read the new one and are not restarted."""
        self.value = value
        for fiber in self.committers:
            fiber.materialise(self.realm.name, self)

    def undo(self) -> Latch | None:
        """Withdraw: leave the store, let dependents go, then end the provider's own access."""
        if self._latch is None:
            tree = self.provider.tree
            tree.require_own_loop()
            self._latch = Latch(self)
            if self.realm.binding is self:
                self.realm.binding = None
            tree.notify(self.realm)
            tree.drain()
            if self.provider.unwinding is not None:
                self._finish()  # the provider has waited for everybody already
            else:
                self.provider.wait_for_committers([self], self._finish)
        return None if self._latch.is_open else self._latch

    def __call__(self) -> Latch | None:
        """Withdraw the binding; returns an awaitable when dependents need time to leave."""
        return self.undo()

    def _finish(self) -> None:
        if self.provider.bindings.get(self.realm) is self:
            del self.provider.bindings[self.realm]
        self._leave()
        assert self._latch is not None  # set before waiting began
        self._latch.open()
