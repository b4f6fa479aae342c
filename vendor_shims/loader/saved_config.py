"""What a row keeps of a config that code gave to its plugin."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeAlias, cast

from vendor_shims.cordis import Fiber
from vendor_shims.loader.options import same

Value: TypeAlias = Any

_MISSING: Any = object()


def saved_config(
    fiber: Fiber, written: Value, evaluate: Callable[[Value], Value], *, templates: bool
) -> Value:
    """Return the config that a row is to have after its plugin took another one.

    What equals a default is left out. An expression stays where it means what the code gave, so
    that a value of the environment, which may be a secret, is not written into a file.

    Args:
        fiber: the plugin's, with the new config.
        written: the config that the row had.
        evaluate: returns what a config with expressions means.
        templates: whether `${…}` in texts counts as an expression.
    """
    from vendor_shims.expressions import ExpressionError, has_expressions

    raw = fiber.raw_config
    if has_expressions(raw, templates=templates):
        return raw
    lean = full = raw
    model = None if fiber.runtime is None else fiber.runtime.Config
    if isinstance(model, type) and hasattr(model, "__attrs_attrs__"):
        from vendor_shims.schema import simplify, unstructure

        lean, full = simplify(model, fiber.config), unstructure(fiber.config, reveal=True)
    if not has_expressions(written, templates=templates):
        return lean
    try:
        meant = evaluate(written)
    except ExpressionError:
        return lean
    return _Part(written, meant, lean, full).saved(
        lambda value: has_expressions(value, templates=templates)
    )


class _Part(NamedTuple):
    """A value of the row, or one inside it.

    Attributes:
        written: as the row has it, and `meant` with the values of its expressions.
        lean: as the code gave it, without defaults, and `full` with them.
    """

    written: Value
    meant: Value
    lean: Value
    full: Value

    def saved(self, is_expression: Callable[[Value], bool]) -> Value:
        """Return the lean value, but as it is written where that is an expression of the same."""
        if all(isinstance(one, Mapping) for one in (self.written, self.meant, self.full)):
            parts = {key: self._member(key).saved(is_expression) for key in self.full}
            found = {key: part for key, part in parts.items() if part is not _MISSING}
            return found or self.lean
        if all(isinstance(one, list | tuple) for one in self) and len({*map(len, self)}) == 1:
            return [_Part(*one).saved(is_expression) for one in zip(*self, strict=True)]
        is_same = any(same(self.meant, given) for given in (self.lean, self.full))
        return self.written if is_same and is_expression(self.written) else self.lean

    def _member(self, key: str) -> _Part:
        return _Part(*(_member(one, key) for one in self))


def _member(value: Value, key: str) -> Value:
    if not isinstance(value, Mapping):
        return _MISSING
    return cast("Mapping[str, Any]", value).get(key, _MISSING)
