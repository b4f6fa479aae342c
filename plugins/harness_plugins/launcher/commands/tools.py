"""Carry out `dsh tools`: list what a new session would be offered, and what that costs."""

from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from typing import TYPE_CHECKING

from harness_plugins.launcher.commands.answer import answer, rows
from harness_plugins.launcher.commands.command import Surroundings

if TYPE_CHECKING:
    from harness.llm import ToolSchema

_CHARS_PER_TOKEN = 4


def add_arguments(parser: ArgumentParser) -> None:
    """Take one switch."""
    parser.add_argument("--schema", action="store_true", help="print the schemas as JSON")


def run(arguments: Namespace, surroundings: Surroundings) -> int:
    """List the tools with an estimate of their tokens in each request.

    Raises:
        CommandError: the composition does not come up.
    """
    import asyncio

    schemas = asyncio.run(_schemas(surroundings))
    costs = [_tokens(schema) for schema in schemas]
    document = {
        "tools": [
            {"name": schema.name, "description": schema.description, "tokens": cost}
            | ({"parameters": schema.parameters} if arguments.schema else {})
            for schema, cost in zip(schemas, costs, strict=True)
        ],
        "tokens": sum(costs),
    }
    if arguments.schema and not surroundings.is_json:
        return answer(surroundings._replace(is_json=True), document, "")
    text = rows(
        (schema.name, f"{cost} tokens", _first_sentence(schema.description))
        for schema, cost in zip(schemas, costs, strict=True)
    )
    noun = "tool" if len(schemas) == 1 else "tools"
    text += f"{len(schemas)} {noun}, about {sum(costs)} tokens in each request\n"
    return answer(surroundings, document, text)


async def _schemas(surroundings: Surroundings) -> Sequence["ToolSchema"]:
    from harness.tools import ToolRegistry
    from harness_plugins.launcher.commands.mounted import mounted_harness
    from harness_plugins.launcher.target import Target

    async with mounted_harness(surroundings, Target()) as root:
        return root[ToolRegistry].schemas()


def _tokens(schema: "ToolSchema") -> int:
    """Return an estimate: four characters of the schema as it is sent are about one token."""
    from harness.wire import dumps_text

    sent = {
        "name": schema.name,
        "description": schema.description,
        "parameters": schema.parameters,
    }
    return -(-len(dumps_text(sent)) // _CHARS_PER_TOKEN)


def _first_sentence(text: str) -> str:
    first = text.strip().partition("\n")[0]
    sentence, stop, _ = first.partition(". ")
    return sentence + stop.strip()
