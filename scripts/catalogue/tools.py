"""List the tools that the plugins offer to a model, and what each costs in tokens."""

from __future__ import annotations

import asyncio
import json
import math
import tempfile
from collections.abc import Mapping
from typing import Any

import attrs

from catalogue.markdown import block, code, page, table
from catalogue.names import Names
from catalogue.plugin_config import rows_of
from catalogue.plugins import Offer, offers
from harness.bash import BashEnvRegistry
from harness.llm import ToolSchema
from harness.wire import thaw
from vendor_shims.cordis import Context

PREFIX = "tool-"
"""Plugins whose names begin so offer tools."""

BESIDE = ("agent-core", "subprocess-local", "bash-local", "spill-local", "fs-local")
"""Plugins whose services the tools need, mounted first; the others are mounted one by one."""

BYTES_PER_TOKEN = 4

INTRODUCTION = f"""\
What a model is offered when the plugin is mounted, as the running plugins report it. *Tokens* is
the number of bytes of the JSON form divided by {BYTES_PER_TOKEN}, rounded up. It is an estimate of
the cost in every request; each provider counts in its own way. *Prompt* is the text that the plugin
adds to the system prompt."""


@attrs.frozen
class Offered:
    """Hold what one plugin adds to a request."""

    offer: Offer
    schemas: tuple[ToolSchema, ...]
    sections: Mapping[str, str]


def render(names: Names) -> str:
    """Mount the plugins of the checkout and write the page."""
    found = asyncio.run(find_tools(offers(names.tree.root)))
    overview = [
        (code(schema.name), code(one.offer.name), str(tokens_of(_json(schema))))
        for one in found
        for schema in one.schemas
    ]
    details = [_describe(one) for one in found]
    total = f"{len(overview)} tools. {INTRODUCTION}"
    return page("Tools", total, table(["tool", "plugin", "tokens"], overview), *details)


async def find_tools(found: list[Offer]) -> list[Offered]:
    """Mount each plugin that offers tools in a real tree and ask what it added.

    Raises:
        RuntimeError: a plugin does not run; the message says what it waits for.
    """
    by_name = {offer.name: offer for offer in found}
    listed: list[Offered] = []
    with tempfile.TemporaryDirectory() as folder:
        configs: dict[str, Mapping[str, Any]] = {"spill-local": {"root": folder}}
        async with Context() as root:
            for name in BESIDE:
                root.plugin(by_name[name].load(), dict(configs.get(name, {})))
            root.plugin(BashEnvRegistry)
            await root.settle()
            before = await _offered(root)
            for offer in found:
                if not offer.name.startswith(PREFIX):
                    continue
                fiber = root.plugin(offer.load(), {})
                await root.settle()
                if fiber.unsatisfied or fiber.state.name != "ACTIVE":
                    raise RuntimeError(
                        f"{offer.name} is {fiber.state.name}, it waits for "
                        f"{list(fiber.unsatisfied)}; name what provides that in catalogue.tools"
                    )
                after = await _offered(root)
                listed.append(_difference(offer, before, after))
                await fiber.dispose()
    return listed


def tokens_of(text: str) -> int:
    """Estimate how many tokens a text costs."""
    return math.ceil(len(text.encode()) / BYTES_PER_TOKEN)


async def _offered(root: Context) -> tuple[dict[str, ToolSchema], dict[str, str]]:
    assembly = await root.require("system_prompt").assemble()
    schemas = {schema.name: schema for schema in root.require("tools").schemas()}
    return schemas, {section.name: section.text for section in assembly.sections}


def _difference(
    offer: Offer,
    before: tuple[dict[str, ToolSchema], dict[str, str]],
    after: tuple[dict[str, ToolSchema], dict[str, str]],
) -> Offered:
    schemas = tuple(schema for name, schema in after[0].items() if name not in before[0])
    sections = {name: text for name, text in after[1].items() if name not in before[1]}
    return Offered(offer, schemas, sections)


def _describe(one: Offered) -> str:
    prompt = sum(tokens_of(text) for text in one.sections.values())
    parts = [f"## {code(one.offer.name)}", f"Prompt: {prompt} tokens."]
    for name, text in one.sections.items():
        parts += [f"Section {code(name)}:", block("text", text)]
    for schema in one.schemas:
        parameters = thaw(schema.parameters)
        required = {code(name) for name in parameters.get("required", ())}
        rows = [
            (name, kind, "yes" if name in required else "no", meaning)
            for name, kind, _, meaning in rows_of(parameters)
        ]
        parts += [
            f"### {code(schema.name)}",
            f"{tokens_of(_json(schema))} tokens.",
            block("text", schema.description),
            table(["parameter", "type", "required", "meaning"], rows),
            block("json", json.dumps(parameters, indent=2, ensure_ascii=False)),
        ]
    return "\n\n".join(parts)


def _json(schema: ToolSchema) -> str:
    return json.dumps(thaw(schema.to_json()), ensure_ascii=False, separators=(",", ":"))
