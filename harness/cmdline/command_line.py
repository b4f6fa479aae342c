"""Hold what the command line leaves for the surface."""

from typing import ClassVar

import attrs


@attrs.frozen(kw_only=True)
class CommandLine:
    """What was asked for, as `ctx.cmdline`; it never changes while the process runs.

    The host provides it once: `root.provide(CommandLine.key, line)`.

    Attributes:
        profile: name of the profile that was booted.
        surface: name of the surface that the arguments are for.
        arguments: what is not the launcher's, unchanged and in order.
    """

    key: ClassVar[str] = "cmdline"

    profile: str
    surface: str
    arguments: tuple[str, ...] = attrs.field(default=(), converter=tuple)
