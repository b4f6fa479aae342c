"""The assembly: listeners, complete sections, reuse of unchanged prompts."""

from collections.abc import Awaitable, Callable

import attrs
import pytest

from harness.llm import ToolSchema
from harness.scope import create_scope
from harness.system_prompt import (
    ASSEMBLE,
    AssembleContext,
    NamedText,
    PromptAssembly,
    SystemPrompt,
    ToolContribution,
    render_prompt,
)
from vendor_shims.cordis import Context, Next

Mount = Callable[..., Awaitable[SystemPrompt]]


class Key:
    """A scope key."""


def adding(name: str) -> Callable[..., Awaitable[PromptAssembly]]:
    """Return a listener that appends a section to whatever the rest made."""

    async def listener(
        _assembly: PromptAssembly,
        _context: AssembleContext,
        following: Next[PromptAssembly],
    ) -> PromptAssembly:
        made = await following()
        return attrs.evolve(made, sections=(*made.sections, NamedText(name, name)))

    return listener


@pytest.mark.spec("03-117")
async def test_listeners_decide_and_prepended_ones_are_outermost(
    root: Context, mount: Mount
) -> None:
    prompt = await mount()
    prompt.section("own", 0, "own")
    root.on(ASSEMBLE, adding("second"))
    root.on(ASSEMBLE, adding("last"), prepend=True)
    assert render_prompt(await prompt.assemble()) == "own\n\nsecond\n\nlast"


@pytest.mark.spec("03-117")
async def test_a_listener_may_replace_the_whole_assembly(root: Context, mount: Mount) -> None:
    prompt = await mount()
    prompt.section("own", 0, "own")
    replacement = PromptAssembly(sections=(NamedText("x", "replaced"),))
    root.on(ASSEMBLE, lambda _assembly, _context, _next: replacement)
    assert await prompt.assemble() is replacement


async def test_listeners_of_a_scope_hear_only_its_own_assemblies(
    root: Context, mount: Mount
) -> None:
    prompt = await mount()
    agent, other = Key(), Key()
    create_scope(root, agent).ctx.on(ASSEMBLE, adding("scoped"))
    inside = await prompt.assemble(AssembleContext(scope=agent))
    assert render_prompt(inside) == "scoped"
    assert render_prompt(await prompt.assemble(AssembleContext(scope=other))) == ""
    assert render_prompt(await prompt.assemble()) == ""


async def test_a_listener_that_returns_something_else_fails_the_assembly(
    root: Context, mount: Mount
) -> None:
    prompt = await mount()
    root.on(str(ASSEMBLE), lambda _assembly, _context, _next: "text")
    with pytest.raises(TypeError, match="must return a PromptAssembly, got str"):
        await prompt.assemble()


@pytest.mark.spec("03-116")
async def test_a_complete_section_leaves_only_itself_and_protocol_sections(
    root: Context, mount: Mount
) -> None:
    prompt = await mount()
    prompt.section("before", 1, "before")
    prompt.section("protocol", 2, "protocol", protocol=True)
    prompt.section("whole", 3, lambda _: "whole", complete=True)
    prompt.section("gone", 4, "gone", protocol=True)

    async def tamper(
        _assembly: PromptAssembly,
        _context: AssembleContext,
        following: Next[PromptAssembly],
    ) -> PromptAssembly:
        made = await following()
        kept = [s for s in made.sections if s.name not in {"gone", "whole"}]
        return attrs.evolve(
            made, sections=(NamedText("whole", "tampered"), *kept, NamedText("extra", "extra"))
        )

    root.on(ASSEMBLE, tamper)
    assert render_prompt(await prompt.assemble()) == "protocol\n\nwhole"


@pytest.mark.spec("03-118")
async def test_a_listener_can_add_contexts_unless_they_are_suppressed(
    root: Context, mount: Mount
) -> None:
    prompt = await mount()

    async def add(
        _assembly: PromptAssembly,
        _context: AssembleContext,
        following: Next[PromptAssembly],
    ) -> PromptAssembly:
        return attrs.evolve(await following(), contexts=(NamedText("c", "added"),))

    root.on(ASSEMBLE, add)
    assert (await prompt.assemble()).contexts == (NamedText("c", "added"),)
    prompt.suppress_runtime_context()
    assert (await prompt.assemble()).contexts == ()


async def test_an_unchanged_prompt_is_the_same_object_and_rendered_once(
    root: Context, mount: Mount
) -> None:
    prompt = await mount()
    value = "main"
    contribution = ToolContribution([ToolSchema("t", "d", {})])
    prompt.section("static", 0, "static {{branch}}")
    prompt.section("computed", 1, lambda _: f"on {value}")
    prompt.context("git", 0, lambda _: f"branch {value}")
    prompt.variable("branch", lambda _: value)
    prompt.tools(lambda _: contribution)
    first = await prompt.assemble()
    assert await prompt.assemble() is first
    assert render_prompt(first) is render_prompt(first)
    value = "topic"
    second = await prompt.assemble()
    assert second is not first
    assert second.tools is first.tools
    assert render_prompt(second) == "static topic\n\non topic"
    agents = [Key(), Key()]
    shared = [await prompt.assemble(AssembleContext(scope=agent)) for agent in agents]
    assert shared[0] is shared[1] is second
    prompt.as_caller(create_scope(root, agents[0]).ctx).section("own", 2, "own")
    own = await prompt.assemble(AssembleContext(scope=agents[0]))
    assert render_prompt(own).endswith("own")
    assert await prompt.assemble(AssembleContext(scope=agents[1])) is second


def test_the_assembly_is_routed_by_its_scope() -> None:
    key = Key()
    assert ASSEMBLE.scoped is not None
    assert ASSEMBLE.scoped(PromptAssembly(), AssembleContext(scope=key)) is key
