"""Build converters between attrs records and wire JSON with camelCase member names."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

import attrs

if TYPE_CHECKING:
    from cattrs import Converter

WIRE_NAME: Final = "harness.wire.name"
"""Key of a field's metadata that spells its wire name where camelCase is wrong:
`attrs.field(metadata={WIRE_NAME: "ID"})`."""


def camel_case(name: str) -> str:
    """Return the wire spelling of a Python name: `max_tokens` is `maxTokens`, `from_` is `from`."""
    first, *rest = name.strip("_").split("_")
    return first + "".join(word[:1].upper() + word[1:] for word in rest)


def make_converter(
    *, omit_default: bool = False, forbid_extra: bool = False, detailed: bool = False
) -> "Converter":
    """Return a new converter whose attrs records have camelCase members.

    The caller owns it and may register hooks for its own unions. Building one costs milliseconds
    and the first use of each record compiles code, so keep it for the life of the package.

    Args:
        omit_default: leave members out that equal their field's default.
        forbid_extra: refuse unknown members on reading instead of ignoring them.
        detailed: report every bad member with its path; slower, meant for configuration.
    """
    from cattrs import Converter
    from cattrs.gen import (
        make_dict_structure_fn,
        make_dict_unstructure_fn,
        override,
    )

    converter = Converter(detailed_validation=detailed, prefer_attrib_converters=True)

    def renames(cls: type[Any]) -> Mapping[str, Any]:
        return {
            field.name: override(rename=field.metadata.get(WIRE_NAME) or camel_case(field.name))
            for field in attrs.fields(attrs.resolve_types(cls))
        }

    def unstructure(cls: type[Any]) -> Callable[[Any], dict[str, Any]]:
        return make_dict_unstructure_fn(
            cls, converter, _cattrs_omit_if_default=omit_default, **renames(cls)
        )

    def structure(cls: type[Any]) -> Callable[..., Any]:
        return make_dict_structure_fn(
            cls, converter, _cattrs_forbid_extra_keys=forbid_extra, **renames(cls)
        )

    converter.register_unstructure_hook_factory(attrs.has, unstructure)
    converter.register_structure_hook_factory(attrs.has, structure)
    return converter
