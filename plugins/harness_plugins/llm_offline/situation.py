"""Extract from a request what the guide needs to know."""

from collections.abc import Mapping
from typing import Any, cast

from attrs import frozen

from harness.llm import GenerateOptions, Message, TextBlock, ToolCallBlock, ToolResultBlock


@frozen
class Exchange:
    """Pair a tool call of this task with the text of its result."""

    call: ToolCallBlock
    text: str
    is_error: bool


@frozen
class Situation:
    """Hold the task, what was done for it so far, and which tools there are.

    `n_steps` counts the answers given to this task, `n_calls` all tool calls of the conversation.
    `is_new_here` says that the answer before this one, if any, came from somebody else.
    """

    task: str
    exchanges: tuple[Exchange, ...]
    tools: dict[str, frozenset[str]]
    n_steps: int
    n_calls: int
    is_new_here: bool


def read_situation(options: GenerateOptions) -> Situation:
    """Look at the last text of the user and at everything after it."""
    messages = options.messages
    start = _task_index(messages)
    since = messages[start + 1 :] if start is not None else ()
    calls = [block for message in messages for block in _calls(message)]
    return Situation(
        task="" if start is None else messages[start].text,
        exchanges=_exchanges(since),
        tools={tool.name: _parameters(tool.parameters) for tool in options.tools},
        n_steps=sum(message.role == "assistant" for message in since),
        n_calls=len(calls),
        is_new_here=_is_new_here(options),
    )


def _task_index(messages: tuple[Message, ...]) -> int | None:
    texts = [
        index
        for index, message in enumerate(messages)
        if message.role == "user" and any(isinstance(b, TextBlock) for b in message.content)
    ]
    typed = [index for index in texts if messages[index].source.get("kind") == "user"]
    return (typed or texts or [None])[-1]


def _is_new_here(options: GenerateOptions) -> bool:
    for message in reversed(options.messages):
        if message.role == "assistant":
            source, config = message.source, options.config
            asked = (config.provider, config.model)
            return (source.get("provider"), source.get("model")) != asked
    return True


def _calls(message: Message) -> list[ToolCallBlock]:
    return [block for block in message.content if isinstance(block, ToolCallBlock)]


def _exchanges(messages: tuple[Message, ...]) -> tuple[Exchange, ...]:
    calls = {call.id: call for message in messages for call in _calls(message)}
    found: list[Exchange] = []
    for message in messages:
        for block in message.content:
            call = calls.get(block.tool_call_id) if isinstance(block, ToolResultBlock) else None
            if isinstance(block, ToolResultBlock) and call is not None:
                texts = [part.text for part in block.content if isinstance(part, TextBlock)]
                found.append(Exchange(call, "\n".join(texts), block.is_error is True))
    return tuple(found)


def _parameters(schema: Mapping[str, Any]) -> frozenset[str]:
    properties = schema.get("properties")
    if not isinstance(properties, dict):
        return frozenset()
    return frozenset(cast("dict[str, Any]", properties))
