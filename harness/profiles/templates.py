"""List the profiles that are shipped, each with the bundle lists that it had before."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

import attrs


@attrs.frozen
class Template:
    """Say what a new profile of some name holds.

    Attributes:
        surface: the surface that it boots.
        bundles: the list as it is shipped now.
        older: lists that were shipped before; a profile that still has one gets the current one.
    """

    surface: str
    bundles: tuple[str, ...]
    older: tuple[tuple[str, ...], ...] = ()


TEMPLATES: Final[Mapping[str, Template]] = MappingProxyType(
    {
        "headless": Template("headless", ("base", "headless")),
        "sdk-minimal": Template("sdk", ("sdk-minimal",)),
    }
)
"""The shipped templates; a profile of the same name is made of one at its first use."""
