"""Properties of the pipeline and the registry under arbitrary listeners and registrations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import anyio
import attrs
from hypothesis import given
from hypothesis import strategies as st

from harness.errors import HarnessError
from harness.scope import create_scope, scope_target
from harness.system_prompt import SystemPrompt
from harness.tools import (
    EXECUTE,
    POST_EXECUTE,
    PRE_EXECUTE,
    RESULT,
    Accept,
    Allow,
    Ask,
    Block,
    Deny,
    ToolDefinition,
    ToolExecution,
    ToolExecutionInput,
    ToolExecutionResult,
    ToolOutput,
    ToolRegistry,
    define_tool,
    parse_arguments,
)
from vendor_shims.cordis import AbortController, Context

BODIES = ["value", "bad value", "raise", "coded", "wait", "abort", "conclude"]
PRES = ["next", "allow", "deny", "ask", "raise", "nonsense", "abort", "wait"]
WRAPPERS = ["next", "twice", "replace", "replace badly", "fail", "raise", "nonsense", "abort"]
POSTS = ["next", "content", "value", "both", "block", "raise", "nonsense", "abort", "wait"]
ARGUMENTS = ["{}", '{"n": 1}', '{"n": "x"}', "{bad", "[1]", '{"n": "\\ud800"}', ""]


@attrs.define
class Program:
    """One arbitrary call: what its body, listeners and guard do, and what was seen of it.

    Each word says what one participant does; participants note their stage in `stages`.
    """

    body: str
    pres: list[str]
    wrappers: list[str]
    posts: list[str]
    guard: str
    text: str
    name: str
    controller: AbortController[Any] = attrs.field(factory=AbortController)
    stages: list[str] = attrs.field(factory=list)
    observed: list[ToolExecutionResult] = attrs.field(factory=list)

    async def act(self, stage: str, word: str) -> None:
        self.stages.append(stage)
        if word == "raise":
            raise ValueError("plain")
        if word == "coded":
            raise HarnessError("coded", code="CODED")
        if word in ("abort", "wait"):
            self.controller.abort("stop")
        if word == "wait":
            await anyio.sleep_forever()

    async def run_body(self, _args: Any, execution: ToolExecution) -> Any:
        await self.act("body", self.body)
        if self.body == "conclude":
            execution.conclude_turn()
        return {1} if self.body == "bad value" else "value"

    def pre(self, word: str) -> Callable[..., Any]:
        answers = {"allow": Allow(), "deny": Deny("no"), "ask": Ask(), "nonsense": 5}

        async def listener(_execution: ToolExecution, following: Any) -> Any:
            await self.act("pre", word)
            return answers[word] if word in answers else await following()

        return listener

    def wrapper(self, word: str) -> Callable[..., Any]:
        answers: dict[str, Any] = {
            "replace": ToolExecutionResult(content="x", value="other"),
            "replace badly": ToolExecutionResult(content="x", value=5),
            "fail": ToolExecutionResult(content="failed", is_error=True),
            "nonsense": None,
        }

        async def listener(_execution: ToolExecution, following: Any) -> Any:
            await self.act("execute", word)
            if word in answers:
                return answers[word]
            result = await following()
            return await following() if word == "twice" else result

        return listener

    def post(self, word: str) -> Callable[..., Any]:
        answers: dict[str, Any] = {
            "content": Accept(content="c"),
            "value": Accept(value="v"),
            "both": Accept(content="c", value="v"),
            "block": Block("feedback"),
            "nonsense": "x",
        }

        async def listener(
            _execution: ToolExecution, _result: ToolExecutionResult, following: Any
        ) -> Any:
            await self.act("post", word)
            return answers[word] if word in answers else await following()

        return listener

    def check(self, _execution: ToolExecution) -> str | None:
        self.stages.append("guard")
        if self.guard == "raise":
            raise ValueError("plain")
        if self.guard == "abort":
            self.controller.abort()
        return "denied" if self.guard == "deny" else None

    def install(self, root: Context, tools: ToolRegistry) -> None:
        tools.register(
            define_tool(
                name="known",
                description="",
                parameters={"n": {"type": "integer"}},
                output=ToolOutput({"type": "string"}, lambda _args, value: value),
                execute=self.run_body,
            )
        )
        tools.guard(self.check)
        for word in self.pres:
            root.on(PRE_EXECUTE, self.pre(word))
        for word in self.wrappers:
            root.on(EXECUTE, self.wrapper(word))
        for word in self.posts:
            root.on(POST_EXECUTE, self.post(word))
        root.on(RESULT, lambda _execution, result: self.observed.append(result))


programs = st.builds(
    Program,
    body=st.sampled_from(BODIES),
    pres=st.lists(st.sampled_from(PRES), max_size=3),
    wrappers=st.lists(st.sampled_from(WRAPPERS), max_size=3),
    posts=st.lists(st.sampled_from(POSTS), max_size=3),
    guard=st.sampled_from(["", "deny", "raise", "abort"]),
    text=st.sampled_from(ARGUMENTS),
    name=st.sampled_from(["known", "unknown"]),
    controller=st.builds(AbortController),
    stages=st.builds(list),
    observed=st.builds(list),
)


@given(program=programs, is_aborted=st.booleans())
async def test_every_call_ends_with_exactly_one_frozen_result(
    *, program: Program, is_aborted: bool
) -> None:
    async with Context() as root:
        await root.plugin(SystemPrompt)
        await root.plugin(ToolRegistry)
        tools = root.get(ToolRegistry)
        assert tools is not None
        program.install(root, tools)
        if is_aborted:
            program.controller.abort()
        result = await tools.execute(
            ToolExecutionInput(
                call_id="c",
                name=program.name,
                arguments=parse_arguments(program.text),
                signal=program.controller.signal,
            )
        )
    assert program.observed == [result]
    assert program.observed[0] is result
    order = ["pre", "guard", "execute", "body", "post"]
    positions = [order.index(stage) for stage in program.stages if stage != "body"]
    assert positions == sorted(positions)
    assert result.is_error == (result.error is not None)
    if result.is_error:
        assert (result.value, result.concludes_turn) == (None, False)
        assert "Traceback" not in repr(result.content)
    else:
        assert isinstance(result.value, str)
        assert not program.controller.signal.aborted
        assert program.name == "known"
    if program.guard == "deny" or "deny" in program.pres[:1]:
        assert "body" not in program.stages
    if is_aborted:
        assert result.code in ("ABORTED_BEFORE_DISPATCH", "INVALID_ARGS")
        assert program.stages == []


class Agent:
    """A scope key that routes dispatches like an agent does."""

    def __init__(self, root: Context, parent: object | None) -> None:
        self.ctx = create_scope(root, self, parent).ctx
        self._target = scope_target(None, self)

    def __event_filter__(self, ctx: Context) -> bool:
        return self._target.__event_filter__(ctx)


async def _nothing(_args: Any, _execution: ToolExecution) -> str:
    return ""


def definition(name: str, depth: int) -> ToolDefinition:
    base = define_tool(
        name=name,
        description=str(depth),
        parameters={},
        output=ToolOutput({"type": "string"}, lambda _args, value: value),
        execute=_nothing,
    )
    return attrs.evolve(base)


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["register", "restrict", "undo"]),
            st.integers(0, 2),
            st.sampled_from("abc"),
        ),
        max_size=20,
    )
)
async def test_visibility_equals_a_plain_model_for_any_order_of_changes(
    steps: list[tuple[str, int, str]],
) -> None:
    async with Context() as root:
        await root.plugin(SystemPrompt)
        await root.plugin(ToolRegistry)
        tools = root.get(ToolRegistry)
        assert tools is not None
        preset = Agent(root, None)
        agent = Agent(root, preset)
        scopes: list[Agent | None] = [None, preset, agent]
        contexts = [root, preset.ctx, agent.ctx]
        live: list[tuple[str, int, str, Callable[[], object]]] = []

        def model(depth: int) -> dict[str, int]:
            visible: dict[str, int] = {}
            for level in range(depth + 1):
                for kind, at, name, _ in live:
                    if kind == "restrict" and at == level:
                        visible.pop(name, None)
                own = {name: at for kind, at, name, _ in live if kind == "register" and at == level}
                visible.update(own)
            return visible

        for kind, depth, name in steps:
            registry = tools.as_caller(contexts[depth])
            try:
                match kind:
                    case "register":
                        effect = registry.register(definition(name, depth))
                    case "restrict":
                        effect = registry.restrict(deny=[name])
                    case _:
                        if live:
                            live.pop(depth % len(live))[3]()
                        continue
            except ValueError:  # a duplicate, a restriction outside a scope or of an unknown name
                continue
            live.append((kind, depth, name, effect))
            for level, scope in enumerate(scopes):
                seen = {schema.name: int(schema.description) for schema in tools.schemas(scope)}
                assert seen == model(level)
                assert all(tools.get(one, scope) is not None for one in seen)
        for *_, effect in reversed(live):
            effect()
        assert [tools.schemas(scope) for scope in scopes] == [(), (), ()]
