"""Services: named values with a caller-bound view for every reader."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Self, cast

if TYPE_CHECKING:
    from .context import Context


class Service:
    """A value that one fiber provides under `key` and others inject.

    Constructing it registers it; it becomes available when its fiber is active, that is after
    `start()` (sync, async or generator; its result is collected like a plugin setup's) ended.

    What others read is a *view*: the same class, sharing all state, that differs only in
    `caller`, the context it was read from. In a method, register for `self.caller` and use
    your own dependencies through `self.ctx`.

    Invariants: all views of a service share one `__dict__`; views compare and hash like their
    `origin`.
    """

    __slots__ = ("__dict__", "__weakref__", "_caller", "_origin")

    key: ClassVar[str] = ""
    ctx: Context
    name: str
    config: Any
    _caller: Context | None
    _origin: Service | None

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        slots = cls.__dict__.get("__slots__", ())
        names = (slots,) if isinstance(slots, str) else tuple(cast("tuple[str, ...]", slots))
        if names:
            raise TypeError(
                f"{cls.__name__} keeps state in __slots__ {sorted(names)}, which views cannot"
                " share; use ordinary attributes"
            )

    def __init__(self, ctx: Context, key: str | None = None) -> None:
        name = key or type(self).key
        if not name:
            raise ValueError(f"{type(self).__name__} needs a key: set the class attribute `key`")
        self._caller = None
        self._origin = None
        self.ctx = ctx
        self.name = name
        self.config = None
        overrides_check = type(self).check is not Service.check
        ctx.provide(
            name,
            self,
            check=(lambda reader: self.as_caller(reader).check()) if overrides_check else None,
        )

    def check(self) -> bool:
        """Return whether the service is available to `self.caller`; override to decide."""
        return True

    @property
    def caller(self) -> Context:
        """The context this view was read from; on the service itself its own context."""
        return self._caller or self.ctx

    @property
    def origin(self) -> Self:
        """The service itself, behind whatever view this is."""
        return cast("Self", self._origin or self)

    def as_caller(self, ctx: Context) -> Self:
        """Return a view that acts for `ctx`."""
        view = object.__new__(type(self))
        view.__dict__ = self.__dict__
        view._caller = ctx
        view._origin = self._origin or self
        return view

    def derive(self, **overrides: Any) -> Self:
        """Return a shallow copy with its own `overrides` that shares the other state's values."""
        derived = object.__new__(type(self))
        derived.__dict__ = {**self.__dict__, **overrides}
        derived._caller = self._caller
        derived._origin = None
        return derived

    def resolve_config(
        self, base: Mapping[str, Any] | None = None, head: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        """Return base, the caller's intercept layers root first, then head, later ones winning."""
        layers = [base or {}, *self.caller.intercept_layers(self.name), head or {}]
        merge: Callable[..., dict[str, Any]] | None = getattr(
            getattr(self, "Config", None), "merge", None
        )
        if merge is not None:
            return merge(*layers)
        merged: dict[str, Any] = {}
        for layer in layers:
            merged.update(layer)
        return merged

    def __event_filter__(self, ctx: Context) -> bool:
        return ctx.realm(self.name) is self.ctx.realm(self.name)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Service) and self.origin is other.origin

    def __hash__(self) -> int:
        return object.__hash__(self._origin or self)

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise TypeError(
            f"a {type(self).__name__} belongs to a running context and cannot be copied or"
            " pickled; pass its name and read it from a context"
        )
