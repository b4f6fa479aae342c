"""Show a command and its end to the person watching."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from harness.llm import TextBlock
from harness.tools import Arguments, TerminalCall, TerminalResult


def present_call(arguments: Arguments) -> TerminalCall:
    """Return the card of a command that is about to run."""
    card: TerminalCall = {
        "card": "terminal",
        "title": arguments["command"],
        "description": arguments["description"],
    }
    if "workdir" in arguments:
        card["cwd"] = arguments["workdir"]
    return card


def presentation_meta(_arguments: Arguments, value: Mapping[str, Any]) -> dict[str, Any]:
    """Return how the command ended and where cut output is, for cards made from the log.

    A stream is there only when it was cut: `{truncated: true, spillPath?}`.
    """
    facts = {"exitCode": value["exitCode"], "signal": value["signal"]}
    facts |= {name: _cut(value[name]) for name in ("stdout", "stderr")}
    return {key: fact for key, fact in facts.items() if fact is not None}


def present_result(arguments: Arguments, result: Mapping[str, Any]) -> TerminalResult | None:
    """Return the card of a finished command; failed calls have the general card."""
    if result["isError"]:
        return None
    card: TerminalResult = {
        "card": "terminal",
        "title": arguments["command"],
        "output": "\n".join(_text(block) for block in result["content"]),
    }
    meta: Mapping[str, Any] = result.get("meta") or {}
    if "exitCode" in meta:
        card["exitCode"] = meta["exitCode"]
    if "signal" in meta:
        card["signal"] = meta["signal"]
    return card


def _cut(stream: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return what is known about output that was cut, without its text."""
    if not stream["truncated"]:
        return None
    return {key: fact for key, fact in stream.items() if key != "text"}


def _text(block: Mapping[str, str] | TextBlock) -> str:
    return block.text if isinstance(block, TextBlock) else block["text"]
