"""Join raw configuration layers and apply volatile updates."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias, TypeVar

import attrs

from vendor_shims.schema.compile import object_node
from vendor_shims.schema.node import Dump, Node
from vendor_shims.schema.objects import ObjectNode, same
from vendor_shims.schema.report import MAX_DEPTH
from vendor_shims.schema.shapes import Raw, is_mapping, is_volatile
from vendor_shims.schema.values import Volatile
from vendor_shims.schema.wrappers import NullableNode

T = TypeVar("T")
_Moves: TypeAlias = list[tuple[str, Volatile[Raw], Volatile[Raw]]]


def merge(*layers: Mapping[str, Raw] | None) -> dict[str, Raw]:
    """Return raw layers joined, later ones winning.

    Mappings merge member by member; lists and scalars are replaced; None counts as an empty layer.
    The result shares members with the layers, which stay unchanged.
    """
    merged: dict[str, Raw] = {}
    for layer in layers:
        merged = _join(merged, layer or {}, 0)
    return merged


def merge_for(cls: type, *layers: object) -> dict[str, Raw]:
    """Return layers of a config class joined, every key in its camelCase spelling.

    Raises:
        TypeError: A layer is neither a mapping, an instance of the class nor None.
    """
    node = object_node(cls)
    return merge(*(_rename(node, _raw_layer(node, layer)) for layer in layers))


def update_volatile(running: T, candidate: T) -> tuple[str, ...] | None:
    """Move the volatile snapshots of `candidate` into the references of `running`.

    Returns:
        Dotted paths of the settings that changed; None, with nothing moved, when any ordinary field
        differs, so that only a restart can apply the candidate.
    """
    moves: _Moves = []
    if not _collect(object_node(type(running)), running, candidate, prefix="", moves=moves):
        return None
    for _, target, source in moves:
        target.replace(source.get())
    return tuple(path for path, _, _ in moves)


def _join(base: Mapping[str, Raw], layer: Mapping[str, Raw], depth: int) -> dict[str, Raw]:
    joined = dict(base)
    for key, value in layer.items():
        current = joined.get(key)
        if is_mapping(current) and is_mapping(value) and depth < MAX_DEPTH:
            joined[key] = _join(current, value, depth + 1)
        else:
            joined[key] = value
    return joined


def _raw_layer(node: ObjectNode, layer: object) -> Mapping[str, Raw]:
    if layer is None:
        return {}
    if isinstance(layer, node.cls):
        return node.dump(layer, Dump(lean=True, reveal=True))
    if is_mapping(layer):
        return layer
    raise TypeError(f"a layer must be a mapping, not {type(layer).__name__}")


def _rename(node: ObjectNode, raw: Mapping[str, Raw]) -> dict[str, Raw]:
    renamed: dict[str, Raw] = {}
    for key, value in raw.items():
        field = node.field(key)
        if field is None or (key != field.wire and field.wire in raw):
            renamed[key] = value
            continue
        inner = _object_of(field.node)
        renamed[field.wire] = _rename(inner, value) if inner and is_mapping(value) else value
    return renamed


def _object_of(node: Node) -> ObjectNode | None:
    inner = node.inner if isinstance(node, NullableNode) else node
    return inner if isinstance(inner, ObjectNode) else None


def _collect_inner(old: Raw, new: Raw, prefix: str, moves: _Moves) -> bool:
    cls: type[Raw] = old.__class__
    return attrs.has(cls) and _collect(object_node(cls), old, new, prefix=prefix, moves=moves)


def _collect(
    node: ObjectNode,
    running: Raw,
    candidate: Raw,
    *,
    prefix: str,
    moves: _Moves,
) -> bool:
    """Note the settings to move; return False when an ordinary field differs."""
    if type(running) is not type(candidate):
        return False
    for field in attrs.fields(node.cls):
        old, new = getattr(running, field.name), getattr(candidate, field.name)
        known = node.field(field.name)
        path = prefix + (known.wire if known is not None else field.name)
        if is_volatile(old) and is_volatile(new):
            if not same(old.get(), new.get()):
                moves.append((path, old, new))
        elif not (_collect_inner(old, new, f"{path}.", moves) or same(old, new)):
            return False
    return True
