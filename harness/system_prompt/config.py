"""Declare the configuration of the system prompt."""

from vendor_shims.schema import config, field


@config
class SystemPromptConfig:
    """Configure the built-in sections, the runtime context and the order of tools."""

    include_harness_identity: bool = field(
        default=True, doc="Name the product in the first section, which some models rely on."
    )
    include_runtime_context: bool = field(
        default=True, doc="Offer runtime context; off silences every contribution to it."
    )
    persona: str = field(default="", doc="Text of the section that says who the agent is.")
    tool_order: list[str] | None = field(
        default=None,
        doc=(
            "Names in the order in which tools are offered, with `<unlisted-tools>` once for all "
            "others; absent sorts by name."
        ),
    )
