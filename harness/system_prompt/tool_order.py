"""Put the tools of a prompt in a stable, configurable order."""

from collections.abc import Collection, Sequence

from harness.llm import ToolSchema
from harness.system_prompt.errors import ToolOrderError

UNLISTED_TOOLS = "<unlisted-tools>"
"""Entry of a configured order that stands for every tool it does not name."""


def check_tool_order(order: Sequence[str]) -> None:
    """Refuse an order with duplicates or without exactly one rest entry.

    Raises:
        ToolOrderError: naming the offending entries.
    """
    duplicates = sorted({name for name in order if order.count(name) > 1})
    if duplicates:
        raise ToolOrderError(f"toolOrder lists {', '.join(map(repr, duplicates))} more than once")
    if UNLISTED_TOOLS not in order:
        raise ToolOrderError(
            f"toolOrder must contain the entry {UNLISTED_TOOLS!r}, which places the other tools"
        )


def order_tools(
    tools: Sequence[ToolSchema], known_names: Collection[str], order: Sequence[str] | None
) -> tuple[ToolSchema, ...]:
    """Sort tools by name, or as `order` says with the unlisted ones at its rest entry.

    Raises:
        ToolOrderError: the order names an unknown tool, or a tool has the name of the rest entry.
    """
    by_name = {tool.name: tool for tool in tools}
    if UNLISTED_TOOLS in by_name:
        raise ToolOrderError(f"no tool may be named {UNLISTED_TOOLS!r}; it stands for the others")
    if order is None:
        return tuple([by_name[name] for name in sorted(by_name)])
    unknown = [name for name in order if name != UNLISTED_TOOLS and name not in known_names]
    if unknown:
        raise ToolOrderError(
            f"toolOrder names unknown tools {', '.join(map(repr, unknown))}; known tools: "
            f"{', '.join(sorted(known_names)) or 'none'}"
        )
    listed = set(order)
    ordered: list[ToolSchema] = []
    for entry in order:
        if entry == UNLISTED_TOOLS:
            ordered.extend(by_name[name] for name in sorted(by_name) if name not in listed)
        elif entry in by_name:
            ordered.append(by_name[entry])
    return tuple(ordered)
