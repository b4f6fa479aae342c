"""The plugin that prints the log to stderr."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vendor_shims.logger.console import ConsoleExporter, Label

if TYPE_CHECKING:
    from vendor_shims.cordis import Context
    from vendor_shims.logger.console_config import ConsoleConfig


class _LateConfig:
    """Imports the config class when it is first asked for.

    The kernel imports this package and the schema layer imports the kernel, so it cannot be sooner.
    """

    def __get__(self, instance: object, owner: type) -> type[ConsoleConfig]:
        from vendor_shims.logger.console_config import ConsoleConfig

        return ConsoleConfig


class ConsolePlugin:
    """Prints the log of the tree for as long as it is mounted."""

    name = "logger-console"
    Config = _LateConfig()

    def __init__(self, ctx: Context, config: ConsoleConfig) -> None:
        label = config.label
        exporter = ConsoleExporter(
            colors=config.colors,
            max_length=config.max_length,
            levels=config.levels,
            show_diff=config.show_diff,
            show_time=config.show_time,
            label=Label(width=label.width, margin=label.margin, align=label.align),
        )
        ctx.logger.exporter(exporter, replay=config.replay)
