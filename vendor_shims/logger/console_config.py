"""Configuration of the console plugin; apart, because the schema layer builds on the kernel."""

from __future__ import annotations

from typing import Annotated, Literal

from vendor_shims.logger.console import DEFAULT_TIME
from vendor_shims.logger.format import MAX_LINE_LENGTH
from vendor_shims.logger.record import DEBUG, ERROR
from vendor_shims.schema import Ge, Le, config, field

Level = Annotated[int, Ge(ERROR), Le(DEBUG)]


@config
class LabelConfig:
    """How the logger name is laid out, in characters."""

    width: Annotated[int, Ge(0)] = 0
    """Shorter names are padded to this width."""
    margin: Annotated[int, Ge(0)] = 1
    """Spaces around the severity."""
    align: Literal["left", "right"] = "left"
    """`right` puts the name before the severity."""


@config
class ConsoleConfig:
    """What is printed and how."""

    colors: Literal[False, 0, 1, 2, 3] | None = None
    """Colour level, false for none; found out from the environment and the terminal by default."""
    max_length: Annotated[int, Ge(1)] = MAX_LINE_LENGTH
    """Longest line in characters; longer ones are cut."""
    levels: dict[str, Level] = field(factory=dict)
    """Least severe level by logger name, `default` for the others: 0 error to 3 debug."""
    show_diff: bool = False
    """Append the time since the previous line."""
    show_time: str = DEFAULT_TIME
    """Time template; empty prints no time."""
    label: LabelConfig = field(factory=LabelConfig)
    """Layout of the logger name."""
    replay: bool = True
    """Print what was logged before the plugin started."""
