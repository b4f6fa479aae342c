"""Cards of calls and results."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from harness.llm import TextBlock
from harness.tools import CallView, ResultView, ToolDefinition, call_view, result_view

Make = Callable[..., ToolDefinition]


def present_call(args: Any) -> CallView | None:
    if args.get("text") == "crash":
        raise RuntimeError
    return {"card": "terminal", "title": args["text"]} if "text" in args else None


def present_result(args: Any, result: Mapping[str, Any]) -> ResultView | None:
    if args.get("text") == "crash":
        raise RuntimeError
    if "text" not in args:
        return None
    return {"card": "terminal", "title": args["text"], "output": result["meta"]["output"]}


@pytest.fixture
def definition(make: Make) -> ToolDefinition:
    """Return a tool with cards of its own."""
    return make("sh", present_call=present_call, present_result=present_result)


@pytest.mark.spec("03-181")
def test_cards_are_made_of_the_arguments_and_the_logged_result(
    definition: ToolDefinition,
) -> None:
    args = {"text": "ls"}
    assert call_view(definition, "sh", args) == {"card": "terminal", "title": "ls"}
    live = {"content": [TextBlock("a")], "isError": False, "meta": {"output": "a"}}
    logged = {"content": [{"type": "text", "text": "a"}], "isError": False, "meta": {"output": "a"}}
    shown = result_view(definition, "sh", args, live)
    assert shown == {"card": "terminal", "title": "ls", "output": "a"}
    assert result_view(definition, "sh", args, logged) == shown


@pytest.mark.spec("03-180")
@pytest.mark.parametrize("args", [{"text": 5}, {}, {"text": "crash"}, "{bad"])
def test_without_a_card_of_its_own_a_call_gets_a_generic_one(
    definition: ToolDefinition, args: Any
) -> None:
    assert call_view(definition, "sh", args) == {"card": "generic", "title": "sh", "rawInput": args}
    result = {"content": [TextBlock("a")], "isError": True}
    generic = {"card": "generic", "title": "sh", "content": [TextBlock("a")]}
    assert result_view(definition, "sh", args, result) == generic


@pytest.mark.spec("03-180")
def test_unknown_and_plain_tools_get_generic_cards(make: Make) -> None:
    for definition in (None, make("plain")):
        assert call_view(definition, "x", {})["card"] == "generic"
        assert result_view(definition, "x", {}, {"content": ()})["card"] == "generic"
