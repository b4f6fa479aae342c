"""Use foreign models and plain functions where a config class is expected."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar, cast

import attrs

from vendor_shims.cordis.errors import Issue, ValidationError
from vendor_shims.schema.errors import SchemaError
from vendor_shims.schema.shapes import Raw
from vendor_shims.schema.structure import structure

T_co = TypeVar("T_co", covariant=True)


class Validator(Protocol[T_co]):
    """What the kernel needs of a `Config`: anything with this method works."""

    def validate(self, raw: Raw) -> T_co:
        """Return the normalised value.

        Raises:
            ValidationError: `raw` does not match.
        """
        ...


@attrs.frozen
class Adapter:
    """A validator made of a function; errors of other libraries become issues."""

    convert: Callable[[Raw], Raw]

    def validate(self, raw: Raw) -> Raw:
        """Return the converted value, None converted like an empty mapping.

        Raises:
            ValidationError: The function raised TypeError or ValueError, or anything that lists its
                problems in `errors()`.
        """
        try:
            return self.convert({} if raw is None else raw)
        except ValidationError:
            raise
        except Exception as error:
            issues = _issues(error)
            if issues is None:
                raise
            raise ValidationError(issues) from error


def adapt(model: Raw) -> Validator[Raw]:
    """Return a validator for a model of another library.

    Accepts what validates already, attrs classes, Pydantic models and functions from raw to value,
    such as `lambda raw: msgspec.convert(raw, Model)`.

    Raises:
        SchemaError: The object is none of these.
    """
    if callable(getattr(model, "model_validate", None)):
        return Adapter(model.model_validate)
    if callable(getattr(model, "validate", None)):
        return cast("Validator[Raw]", model)
    if isinstance(model, type) and attrs.has(model):
        return Adapter(lambda raw: structure(model, raw))
    if callable(model) and not isinstance(model, type):
        return Adapter(model)
    raise SchemaError(f"{model!r} cannot validate configuration")


def _issues(error: Exception) -> Sequence[Issue] | None:
    listed = getattr(error, "errors", None)
    if callable(listed):
        entries = cast("list[dict[str, Raw]]", listed())
        return [Issue(str(entry["msg"]), tuple(entry["loc"])) for entry in entries]
    return [Issue(str(error))] if isinstance(error, TypeError | ValueError) else None
