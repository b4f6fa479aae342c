"""What a fiber owns: registrations that know how to undo themselves."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, cast

from .errors import InvalidEffect
from .stack import call_site

if TYPE_CHECKING:
    from .effect import Effect
    from .fiber import Fiber
    from .latch import Latch
    from .stack import Frame


class EffectMeta(NamedTuple):
    """What `fiber.effects()` shows of one labelled registration."""

    label: str
    children: list[EffectMeta]


class Owned:
    """A registration on a fiber; the fiber undoes it in reverse order of registration.

    Invariants: a registration is either in its fiber's table or a child of one effect of the
    same fiber, its `collector`, never both; undoing happens at most once.
    """

    __slots__ = ("collector", "owner", "site")
    is_owned_effect: ClassVar[bool] = True
    is_fiber: ClassVar[bool] = False
    label: str | None

    def __init__(self, owner: Fiber | None) -> None:
        self.owner = owner
        self.collector: Effect | None = None
        # File and line where it was registered; kept in debug trees only.
        self.site = call_site() if owner is not None and owner.tree.debug else None

    @property
    def title(self) -> str:
        """What error messages call it."""
        return self.label or "a disposer"

    @abstractmethod
    def stands(self) -> bool:
        """Return whether nobody undid the registration."""
        ...

    @abstractmethod
    def undo(self) -> Latch | None:
        """Undo for the owner; returns a latch when that takes time. Joins a running undo."""
        ...

    @abstractmethod
    def waits_for(self, frame: Frame) -> bool:
        """Return whether the end of the registration waits for the code of `frame`."""
        ...

    def meta(self) -> list[EffectMeta]:
        """Return this registration as shown in the effect tree: one entry, or none."""
        label = self.label
        return [] if label is None or not self.stands() else [EffectMeta(label, self.submeta())]

    def submeta(self) -> list[EffectMeta]:
        """Return what was collected into this registration."""
        return []

    def leave_for(self, fiber: Fiber) -> bool:
        """Leave the table of `fiber` to be collected; False when it ended by itself before.

        Raises:
            InvalidEffect: it belongs to another fiber, or was collected before.
        """
        if self.owner is not fiber:
            raise InvalidEffect("cannot collect a disposer that belongs to another fiber")
        if self.collector is not None:
            raise InvalidEffect("cannot collect a disposer that was collected before")
        return fiber.table.pop(self, self) is None

    def _leave(self) -> None:
        cast("Fiber", self.owner).table.pop(self, None)


class Returned(Owned):
    """A plain disposer that a plugin setup returned or yielded; it has no label."""

    __slots__ = ("_fn",)
    label = None

    def __init__(self, owner: Fiber, fn: Callable[[], Any]) -> None:
        super().__init__(owner)
        self._fn = fn

    def undo(self) -> Any:
        """Call the disposer; whatever it returns may be awaitable."""
        return self._fn()
