"""Settings that change under a running plugin without restarting it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from vendor_shims.cordis import Context, Fiber, ValidationError
from vendor_shims.loader.events import VOLATILE_UPDATE
from vendor_shims.loader.options import changed_keys


def apply_in_place(fiber: Fiber, raw: object) -> bool:
    """Apply a raw config that differs from the running one in volatile settings alone.

    Return False, with nothing changed, when an ordinary setting differs too, so that the fiber
    has to be updated. A config that is invalid in volatile settings alone is logged and kept for
    the next load; the running settings stay.
    """
    if not fiber.is_active or not _differs_in_volatile_keys(fiber, raw):
        return False
    from vendor_shims.schema import update_volatile

    try:
        candidate = fiber.resolve_config(raw)
        paths = update_volatile(fiber.config, candidate)
    except ValidationError as error:
        fiber.ctx.logger.error(error)
        paths = ()
    if paths is None:
        return False
    fiber.raw_config = raw
    if paths:
        fiber.ctx.emit(VOLATILE_UPDATE, list(paths), target=_OwnFiber(fiber))
    return True


def _differs_in_volatile_keys(fiber: Fiber, raw: object) -> bool:
    model = None if fiber.runtime is None else fiber.runtime.Config
    if not isinstance(model, type) or not hasattr(model, "__attrs_attrs__"):
        return False
    from vendor_shims.schema import json_schema

    old, new = cast("object", fiber.raw_config or {}), cast("object", raw or {})
    if not isinstance(old, Mapping) or not isinstance(new, Mapping):
        return False
    changed = changed_keys(cast("Mapping[str, Any]", old), cast("Mapping[str, Any]", new))
    properties = json_schema(model).get("properties", {})
    return bool(changed) and all(
        properties.get(key, {}).get("x-volatile") is True for key in changed
    )


class _OwnFiber:
    """The target of an event that only listeners of one fiber get."""

    __slots__ = ("_fiber",)

    def __init__(self, fiber: Fiber) -> None:
        self._fiber = fiber

    def __event_filter__(self, ctx: Context) -> bool:
        return ctx.fiber is self._fiber
