"""Make the cards of calls and results, falling back to generic ones."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from harness.tools.cards import CallView, ResultView

if TYPE_CHECKING:
    from harness.tools.definition import ToolDefinition


def call_view(definition: ToolDefinition | None, name: str, arguments: object) -> CallView:
    """Return the card of a pending call; generic when the tool has none or cannot make it."""
    if definition is not None and definition.present_call is not None:
        try:
            view = definition.present_call(arguments)
        except Exception:  # noqa: BLE001  # a presenter is foreign code, and a card is never worth a failure
            view = None
        if view is not None:
            return view
    return {"card": "generic", "title": name, "rawInput": arguments}


def result_view(
    definition: ToolDefinition | None, name: str, arguments: object, result: Mapping[str, Any]
) -> ResultView:
    """Return the card of a finished call from `{content, isError, meta?}`, as logged or live."""
    if definition is not None and definition.present_result is not None:
        try:
            view = definition.present_result(arguments, result)
        except Exception:  # noqa: BLE001  # as in `call_view`
            view = None
        if view is not None:
            return view
    return {"card": "generic", "title": name, "content": list(result["content"])}
