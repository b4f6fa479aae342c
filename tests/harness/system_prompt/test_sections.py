"""Sections, contexts and variables: registration, order, scopes."""

import math
from collections.abc import Awaitable, Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.scope import bind_scope_parent, create_scope
from harness.system_prompt import (
    CHANGE,
    IDENTITY_SECTION,
    PERSONA_SECTION,
    AssembleContext,
    DuplicatePromptName,
    NamedText,
    PromptConflict,
    SystemPrompt,
    ToolContribution,
    render_prompt,
)
from vendor_shims.cordis import Context

Mount = Callable[..., Awaitable[SystemPrompt]]


class Key:
    """A scope key."""


def names(texts: tuple[NamedText, ...]) -> list[str]:
    return [text.name for text in texts if text.text]


@pytest.mark.spec("03-111")
async def test_sections_are_sorted_by_order_and_then_by_registration(mount: Mount) -> None:
    prompt = await mount()
    prompt.section("late", 10, "a")
    prompt.section("early", 0, "b")
    prompt.section("later", 10, "c")
    prompt.section("half", 0.5, "d")
    assembly = await prompt.assemble()
    assert names(assembly.sections) == ["early", "half", "late", "later"]
    assert render_prompt(assembly) == "b\n\nd\n\na\n\nc"


@pytest.mark.spec("03-112")
@pytest.mark.parametrize("order", [math.nan, math.inf, -math.inf, True, "1", None])
async def test_an_order_that_is_no_finite_number_is_refused(mount: Mount, order: object) -> None:
    prompt = await mount()
    with pytest.raises(TypeError, match="finite number"):
        prompt.section("s", order, "text")  # pyright: ignore[reportArgumentType]
    with pytest.raises(TypeError, match="finite number"):
        prompt.context("c", order, "text")  # pyright: ignore[reportArgumentType]


async def test_a_text_that_is_neither_string_nor_callable_is_refused(mount: Mount) -> None:
    prompt = await mount()
    with pytest.raises(TypeError, match="'s' must be a string or callable"):
        prompt.section("s", 0, 5)  # pyright: ignore[reportArgumentType]


@pytest.mark.spec("03-113")
async def test_a_name_is_unique_in_its_layer_and_shadows_outer_ones(
    root: Context, mount: Mount
) -> None:
    prompt = await mount()
    prompt.section("s", 5, "global")
    with pytest.raises(DuplicatePromptName, match=r"agent\.ctx"):
        prompt.section("s", 5, "again")
    agent = Key()
    scope = create_scope(root, agent)
    scoped = prompt.as_caller(scope.ctx)
    scoped.section("other", 2, "middle")
    scoped.section("s", 1, "scoped")
    inside = await prompt.assemble(AssembleContext(scope=agent))
    assert [(s.name, s.text) for s in inside.sections if s.text] == [
        ("s", "scoped"),
        ("other", "middle"),
    ]
    outside = await prompt.assemble()
    assert names(outside.sections) == ["s"]
    await scope.dispose()
    restored = await prompt.assemble(AssembleContext(scope=agent))
    assert [s.text for s in restored.sections if s.text] == ["global"]


@pytest.mark.spec("03-114")
async def test_a_computed_text_is_asked_once_per_assembly_with_its_context(mount: Mount) -> None:
    prompt = await mount()
    asked: list[AssembleContext] = []

    def text(context: AssembleContext) -> str:
        asked.append(context)
        return f"call {len(asked)}"

    prompt.section("computed", 0, text)
    context = AssembleContext(scope=Key())
    assert render_prompt(await prompt.assemble(context)) == "call 1"
    assert render_prompt(await prompt.assemble(context)) == "call 2"
    assert asked == [context, context]


@pytest.mark.spec("03-114")
async def test_a_computed_text_that_fails_fails_the_assembly(mount: Mount) -> None:
    prompt = await mount()

    def broken(_context: AssembleContext) -> str:
        raise LookupError("no branch")

    effect = prompt.section("broken", 0, broken)
    with pytest.raises(LookupError, match="no branch"):
        await prompt.assemble()
    effect()
    prompt.section("odd", 0, lambda _: 5)  # pyright: ignore[reportArgumentType]
    with pytest.raises(TypeError, match="'odd' must be a string, got int"):
        await prompt.assemble()


@pytest.mark.spec("03-115")
async def test_a_section_without_text_leaves_no_trace(mount: Mount) -> None:
    prompt = await mount()
    prompt.section("one", 1, "first")
    prompt.section("two", 2, "")
    prompt.section("three", 3, " \n")
    prompt.section("four", 4, lambda _: "last")
    assert render_prompt(await prompt.assemble()) == "first\n\nlast"


@pytest.mark.spec("03-119")
async def test_variables_are_named_strictly_scoped_and_asked_once(
    root: Context, mount: Mount
) -> None:
    prompt = await mount()
    asked: list[str] = []

    def provide(value: str | None) -> Callable[[AssembleContext], str | None]:
        def provider(_context: AssembleContext) -> str | None:
            asked.append(str(value))
            return value

        return provider

    for bad in ("Bad", "", "1a", "a-b", "a b", "ä"):
        with pytest.raises(ValueError, match="lower-case letters"):
            prompt.variable(bad, provide("x"))
    prompt.variable("cwd", provide("/global"))
    prompt.variable("none", provide(None))
    with pytest.raises(DuplicatePromptName):
        prompt.variable("cwd", provide("/again"))
    prompt.section("s", 0, "in {{cwd}} and {{cwd}}")
    agent = Key()
    scope = create_scope(root, agent)
    prompt.as_caller(scope.ctx).variable("cwd", provide("/agent"))
    assembly = await prompt.assemble(AssembleContext(scope=agent))
    assert render_prompt(assembly) == "in /agent and /agent"
    assert asked == ["/agent", "None"]
    assert render_prompt(await prompt.assemble()) == "in /global and /global"


@pytest.mark.spec("03-118")
async def test_suppression_empties_the_contexts_of_one_scope_and_those_below(
    root: Context, mount: Mount
) -> None:
    prompt = await mount()
    prompt.context("git", 20, "branch main")
    prompt.context("cwd", 10, lambda _: "/w")
    with pytest.raises(DuplicatePromptName):
        prompt.context("git", 1, "again")
    agent, child = Key(), Key()
    bind_scope_parent(child, agent)
    scope = create_scope(root, agent)
    effect = prompt.as_caller(scope.ctx).suppress_runtime_context()
    for key in (agent, child):
        assert (await prompt.assemble(AssembleContext(scope=key))).contexts == ()
    assert names((await prompt.assemble()).contexts) == ["cwd", "git"]
    effect()
    assembly = await prompt.assemble(AssembleContext(scope=agent))
    assert names(assembly.contexts) == ["cwd", "git"]


async def test_configuration_can_switch_runtime_context_off(mount: Mount) -> None:
    prompt = await mount(includeRuntimeContext=False)
    prompt.context("git", 20, "branch main")
    assert (await prompt.assemble()).contexts == ()


@pytest.mark.spec("03-127")
async def test_identity_and_persona_come_from_the_configuration(
    root: Context, mount: Mount
) -> None:
    prompt = await mount(includeHarnessIdentity=True, persona="You review code.")
    prompt.section("early", -1, "early")
    assembly = await prompt.assemble()
    assert names(assembly.sections) == [IDENTITY_SECTION, "early", PERSONA_SECTION]
    assert "dsh" in assembly.sections[0].text
    agent = Key()
    prompt.as_caller(create_scope(root, agent).ctx).section(PERSONA_SECTION, 0, "You test code.")
    inside = await prompt.assemble(AssembleContext(scope=agent))
    assert [s.text for s in inside.sections if s.name == PERSONA_SECTION] == ["You test code."]


@pytest.mark.spec("03-127")
async def test_the_identity_can_be_left_out(mount: Mount) -> None:
    prompt = await mount(includeHarnessIdentity=False)
    assert render_prompt(await prompt.assemble()) == ""


async def test_the_scope_defaults_to_the_agent() -> None:
    agent = Key()
    context = AssembleContext(agent=agent)  # pyright: ignore[reportArgumentType]
    assert context.scope is agent


@pytest.mark.spec("03-128")
async def test_disposing_every_registration_restores_a_fresh_service(
    root: Context, mount: Mount
) -> None:
    prompt = await mount()
    fresh = await prompt.assemble()
    changes: list[None] = []
    root.on(CHANGE, lambda: changes.append(None))
    effects = [
        prompt.section("s", 1, "text"),
        prompt.context("c", 1, "text"),
        prompt.variable("v", lambda _: "x"),
        prompt.tools(lambda _: ToolContribution(())),
        prompt.suppress_runtime_context(),
    ]
    assert len(changes) == 5
    assert await prompt.assemble() != fresh
    for effect in effects:
        effect()
    assert len(changes) == 10
    assert await prompt.assemble() == fresh


async def test_a_plugin_takes_its_registrations_with_it(root: Context, mount: Mount) -> None:
    prompt = await mount()

    def apply(ctx: Context) -> None:
        ctx[SystemPrompt].section("plugin", 1, "from a plugin")

    fiber = root.inject(["system_prompt"], apply)
    await fiber
    assert render_prompt(await prompt.assemble()) == "from a plugin"
    await fiber.dispose()
    assert render_prompt(await prompt.assemble()) == ""


@pytest.mark.spec("03-110")
async def test_a_change_listener_can_veto_a_registration(root: Context, mount: Mount) -> None:
    prompt = await mount()

    def veto() -> None:
        raise PermissionError("frozen")

    root.on(CHANGE, veto)
    with pytest.raises(PermissionError, match="frozen"):
        prompt.section("s", 0, "text")
    assert render_prompt(await prompt.assemble()) == ""


@pytest.mark.spec("03-116")
async def test_two_complete_sections_fail_the_assembly_naming_both(mount: Mount) -> None:
    prompt = await mount()
    prompt.section("one", 1, "1", complete=True)
    prompt.section("two", 2, "2", complete=True)
    with pytest.raises(PromptConflict, match="'one', 'two'"):
        await prompt.assemble()


@pytest.mark.spec("03-P18")
@given(
    st.lists(
        st.tuples(st.booleans(), st.sampled_from("abc"), st.integers(-2, 2), st.booleans()),
        max_size=20,
    )
)
async def test_the_prompt_equals_a_plain_model_for_any_order_of_changes(
    steps: list[tuple[bool, str, int, bool]],
) -> None:
    async with Context() as root:
        await root.plugin(SystemPrompt, {"includeHarnessIdentity": False})
        prompt = root.get(SystemPrompt)
        assert prompt is not None
        agent = Key()
        scoped = prompt.as_caller(create_scope(root, agent).ctx)
        live: dict[tuple[bool, str], tuple[int, str, Callable[[], object]]] = {}
        for number, (is_scoped, name, order, is_adding) in enumerate(steps):
            known = live.pop((is_scoped, name), None)
            if known is not None:
                known[2]()
            elif is_adding:
                registry = scoped if is_scoped else prompt
                text = f"{number}"
                live[is_scoped, name] = (order, text, registry.section(name, order, text))
        outer = {name: value[:2] for (inner, name), value in live.items() if not inner}
        near = {**outer, **{name: value[:2] for (inner, name), value in live.items() if inner}}
        for scope, expected in ((None, outer), (agent, near)):
            ordered = [text for _, text in sorted(expected.values(), key=lambda one: one[0])]
            assembly = await prompt.assemble(AssembleContext(scope=scope))
            assert render_prompt(assembly) == "\n\n".join(ordered)
            assert await prompt.assemble(AssembleContext(scope=scope)) == assembly
        for *_, effect in live.values():
            effect()
        assert render_prompt(await prompt.assemble(AssembleContext(scope=agent))) == ""
