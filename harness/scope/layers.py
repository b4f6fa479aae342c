"""Stack registrations in one global layer and one lazy layer per scope key."""

from collections.abc import Callable, Generator, Mapping
from contextlib import suppress
from itertools import count
from typing import Any, Generic, Protocol, TypeVar, cast

import attrs

from harness.scope.chain import iter_scope_chain
from harness.scope.scope import scope_of
from vendor_shims.cordis import Context, Effect


class Layer(Protocol):
    """What a layer must tell about itself."""

    def is_empty(self) -> bool:
        """Return whether nothing is registered any more, so that the layer can go."""
        ...


L = TypeVar("L", bound=Layer)
T = TypeVar("T")
V = TypeVar("V")

_versions = count(1)


@attrs.define(eq=False)
class _Slot(Generic[L]):
    """Keep a layer with the version of its content and the folds that end in it.

    Invariant: `version` is never shared by two contents, of this layer or of any other.
    """

    layer: L
    key: object | None = None  # held, so that its id stays its own while the slot exists
    version: int = attrs.field(factory=lambda: next(_versions))
    folds: dict[object, tuple[tuple[int, ...], Any]] = attrs.field(factory=dict)


class ScopedLayers(Generic[L]):
    """Hold an eager global layer and lazy per-key layers that go when they are empty.

    Invariants: no scoped layer is empty; every change of a layer happens in `effect` and gives its
    slot a new version.
    """

    def __init__(self, create_layer: Callable[[], L], on_change: Callable[[], None]) -> None:
        """Make layers with `create_layer`; call `on_change` after each notified change."""
        self._create_layer = create_layer
        self._on_change = on_change
        self._global = _Slot(create_layer())
        self._slots: dict[int, _Slot[L]] = {}

    @property
    def global_layer(self) -> L:
        """Return the layer of unscoped registrations."""
        return self._global.layer

    def layer_of(self, key: object | None) -> L | None:
        """Return the layer of exactly this key, if it has one; the global layer for `None`."""
        if key is None:
            return self._global.layer
        slot = self._slots.get(id(key))
        return None if slot is None else slot.layer

    def chain_layers(self, key: object | None) -> list[L]:
        """Return the scoped layers along the chain of a key, farthest first."""
        return [slot.layer for slot in self._chain(key)[1:]]

    def merge(self, key: object | None, pick: Callable[[L], Mapping[str, V]]) -> dict[str, V]:
        """Merge what `pick` takes from the global layer and the chain; the nearest wins.

        A shadowed name keeps the position of its first insertion.
        """
        merged: dict[str, V] = {}
        for slot in self._chain(key):
            merged.update(pick(slot.layer))
        return merged

    def effect(
        self,
        ctx: Context,
        action: Callable[[L], Callable[[], None]],
        label: str,
        *,
        notify: bool = True,
    ) -> Effect:
        """Change the layer of `ctx`'s scope as an effect of `ctx`.

        `action(layer)` registers and returns its undo. The undo is installed before `on_change`
        runs; a raising `on_change` (a listener that vetoes) rolls the registration back and its
        error leaves this call.
        """
        key = scope_of(ctx)

        def register() -> Generator[Callable[[], None], None, None]:
            slot = self._open(key)
            try:
                undo = action(slot.layer)
            finally:
                self._touch(slot)
            refused = False

            def dispose() -> None:
                undo()
                self._touch(slot)
                if refused:
                    # The veto is already on its way to the caller; this one would say it again.
                    with suppress(Exception):
                        self._on_change()
                elif notify:
                    self._on_change()

            yield dispose
            if notify:
                refused = True
                self._on_change()
                refused = False

        return ctx.effect(register, label)

    def _chain(self, key: object | None) -> list[_Slot[L]]:
        """Return the slots from the global one to the nearest, skipping keys without a layer."""
        chain = [self._global]
        if key is not None and self._slots:
            found = [self._slots.get(id(link)) for link in iter_scope_chain(key)]
            chain.extend(slot for slot in reversed(found) if slot is not None)
        return chain

    def _open(self, key: object | None) -> _Slot[L]:
        if key is None:
            return self._global
        slot = self._slots.get(id(key))
        if slot is None:
            slot = self._slots[id(key)] = _Slot(self._create_layer(), key)
        return slot

    def _touch(self, slot: _Slot[L]) -> None:
        """Give a changed slot a new version, and drop it when nothing is left in it."""
        slot.version = next(_versions)
        slot.folds.clear()
        if slot.key is not None and slot.layer.is_empty():
            self._slots.pop(id(slot.key), None)


class LayerFold(Generic[L, T]):
    """Derive a value from the layers of a chain, once per content.

    The value is kept with the nearest layer of the chain, so that keys without registrations of
    their own share it and nothing outlives its layer.
    """

    def __init__(self, layers: ScopedLayers[L], build: Callable[[list[L]], T]) -> None:
        """Use `build(layers)` with the global layer first and the nearest last."""
        self._layers = layers
        self._build = build

    def of(self, key: object | None) -> T:
        """Return the derived value for a scope key, building it only after a change."""
        chain = self._layers._chain(key)  # pyright: ignore[reportPrivateUsage]  # one concept
        stamp = tuple([slot.version for slot in chain])
        folds = chain[-1].folds
        known = folds.get(self)
        if known is not None and known[0] == stamp:
            return cast("T", known[1])
        value = self._build([slot.layer for slot in chain])
        folds[self] = (stamp, value)
        return value
