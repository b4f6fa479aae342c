"""Compose layers into rows, and say where everything came from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from vendor_shims.expressions import Place

from .document import Document, Row
from .layers import Layer, LayerKind
from .patching import Patch, Patcher, Problem, Source
from .values import Value


@dataclass(frozen=True, slots=True)
class Skipped:
    """A patch, or a key in one, that was not applied; its text is `[layer] message`.

    Attributes:
        layer: the name of its layer, and `kind` where that comes from.
        message: why; it starts with `patch: unknown key` for a key.
        id: the id that no row has, or whose row does not fit.
        place: where the patch stands, if its layer is a file.
        nearest: up to three ids of rows that look alike.
        is_applied: whether the patch was applied apart from a key that means nothing.
    """

    layer: str
    kind: LayerKind
    message: str
    id: str | None = None
    place: Place | None = None
    nearest: tuple[str, ...] = ()
    is_applied: bool = False

    def __str__(self) -> str:
        return f"[{self.layer}] {self.message}"


class Supplier(NamedTuple):
    """The layer that a value comes from, and where it stands if that layer is a file."""

    layer: str
    place: Place | None

    def __str__(self) -> str:
        return self.layer if self.place is None else str(self.place)


@dataclass(frozen=True, slots=True)
class Composed:
    """The rows that layers make.

    Attributes:
        rows: every one with an id.
        layers: the weakest first; a file of rows below them is one of kind `rows`.
        patches: those of all layers that were applied, in order; they make the same rows again.
        skipped: the patches that were not, and keys that mean nothing.
    """

    rows: Sequence[Row]
    layers: tuple[Layer, ...]
    patches: tuple[Patch, ...] = field(repr=False)
    skipped: tuple[Skipped, ...]
    sources: Mapping[str, Sequence[Source]] = field(repr=False)

    def origin(self, entry_id: str) -> tuple[str, ...]:
        """Return the names of the layers that touched a row, the one that made it first."""
        sources = self.sources.get(entry_id, ())
        return tuple(dict.fromkeys(self.layers[source.origin].name for source in sources))

    def place(self, entry_id: str, *keys: str | int) -> Place | None:
        """Return where a row or a value in it stands; None when no file supplied it."""
        supplier = self.supplier(entry_id, *keys)
        return None if supplier is None else supplier.place

    def supplier(self, entry_id: str, *keys: str | int) -> Supplier | None:
        """Return who supplied a value: `supplier("web", "config", "port")`.

        Of a value that nobody gave, who gave what is around it; None when there is no such row.
        """
        sources = self.sources.get(entry_id, ())
        for length in range(len(keys), -1, -1):
            wanted = keys[:length]
            for source in reversed(sources):
                if wanted[: len(source.keys)] != source.keys:
                    continue
                layer = self.layers[source.origin]
                path = (*source.path, *wanted[len(source.keys) :])
                place = layer.document and layer.document.place(*path)
                if place is not None:
                    return Supplier(layer.name, place)
                # What merges some keys into a config has not supplied the config.
                is_around = not source.is_whole and wanted == source.keys
                if layer.document is None and not is_around and _holds(layer.patches, path):
                    return Supplier(layer.name, None)
                if source.is_whole:
                    break
        return None


def _holds(value: Value, path: tuple[str | int, ...]) -> bool:
    """Return whether there is something at a path of keys and indexes."""
    for step in path:
        try:
            value = value[step]
        except (LookupError, TypeError):
            return False
    return True


def compose(layers: Sequence[Layer], *, rows: Document | None = None) -> Composed:
    """Return the rows that layers make, each over the ones before it.

    Args:
        layers: the weakest first.
        rows: a file of rows that is below them all; they begin with nothing without one.
    """
    patcher = Patcher()
    if rows is not None:
        layers = (Layer(rows.path, "rows", (), file=rows.path, document=rows), *layers)
        patcher.add(rows.rows, origin=0)
    applied = [
        patch
        for origin, layer in enumerate(layers)
        for number, patch in enumerate(layer.patches)
        if patcher.apply(patch, origin=origin, number=number)
    ]
    return Composed(
        rows=patcher.rows,
        layers=tuple(layers),
        patches=tuple(applied),
        skipped=tuple(_skipped(one, layers[one.origin], patcher) for one in patcher.problems),
        sources={entry_id: tuple(slot.sources) for entry_id, slot in patcher.slots.items()},
    )


def _skipped(problem: Problem, layer: Layer, patcher: Patcher) -> Skipped:
    nearest: list[str] = []
    if problem.id is not None and problem.id not in patcher.slots:
        from difflib import get_close_matches

        nearest = get_close_matches(problem.id, list(patcher.slots), n=3)
    place = None if layer.document is None else layer.document.place(problem.number)
    return Skipped(
        layer=layer.name,
        kind=layer.kind,
        message=problem.message,
        id=problem.id,
        place=place,
        nearest=tuple(nearest),
        is_applied=not problem.is_skipped,
    )
