import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from harness.llm import (
    BlockAssembler,
    ChunkGrammar,
    Finish,
    FinishReason,
    GenerateOptions,
    LlmCallConfig,
    LlmError,
    LlmService,
    ReasoningBlock,
    ReasoningEffort,
    ReasoningInfo,
    RetryPolicy,
    TextBlock,
    ToolCallBlock,
    create_user_message,
)
from harness.testing.model import (
    DEFAULT_USAGE,
    Hang,
    ScriptedModel,
    calls,
    calls_all,
    fails,
    partly,
    says,
)
from vendor_shims.cordis import AbortController, Context


@pytest.fixture
async def root() -> AsyncIterator[Context]:
    async with Context() as root:
        root.plugin(LlmService)
        await root.settle()
        yield root


async def ask(root: Context, **facts: Any) -> tuple[list[Any], BlockAssembler]:
    options = GenerateOptions(
        LlmCallConfig("scripted", "test"), [create_user_message("hi")], **facts
    )
    assembler, grammar = BlockAssembler(), ChunkGrammar()
    chunks: list[Any] = []
    async for chunk in root.require("llm").stream(options):
        grammar.push(chunk)
        assembler.push(chunk)
        chunks.append(chunk)
    grammar.close()
    return chunks, assembler


async def mount(root: Context, *replies: Any, **facts: Any) -> ScriptedModel:
    model = ScriptedModel(*replies, **facts)
    await root.plugin(model)
    return model


async def test_each_builder_makes_a_valid_answer(root) -> None:
    await mount(
        root,
        says("plain"),
        says(["a", "b"], reasoning="why", usage=None),
        calls("bash", {"command": "ls"}, text="Let me look.", reasoning="r", split=3),
        calls_all([("c1", "read", "{bad"), ("c2", "read", "")]),
    )
    chunks, plain = await ask(root)
    assert plain.blocks() == [TextBlock("plain")]
    assert plain.usage == DEFAULT_USAGE
    chunks, both = await ask(root)
    assert both.blocks() == [ReasoningBlock("why"), TextBlock("ab")]
    assert both.usage is None
    assert [c.text for c in chunks if c.type == "text-delta"] == ["a", "b"]
    chunks, called = await ask(root)
    assert called.blocks() == [
        ReasoningBlock("r"),
        TextBlock("Let me look."),
        ToolCallBlock("call-1", "bash", '{"command":"ls"}'),
    ]
    assert called.finish == FinishReason.TOOL_CALLS
    deltas = [c.arguments_delta for c in chunks if c.type == "tool-call-delta"]
    assert deltas[:2] == ['{"c', "omm"]
    _, several = await ask(root)
    expected = [ToolCallBlock("c1", "read", "{bad"), ToolCallBlock("c2", "read", "")]
    assert several.blocks() == expected


async def test_failures_come_inside_the_stream_or_are_raised(root) -> None:
    model = await mount(
        root,
        fails("RATE_LIMIT", "slow", status=429, provider_retry_after_ms=5),
        fails("ABORTED"),
        partly("half", LlmError("cut", "TRANSPORT")),
    )
    assert model.n_left == 3
    _, limited = await ask(root)
    failure = limited.finish.failure
    assert failure is not None
    assert (failure.code, failure.message, failure.status) == ("RATE_LIMIT", "slow", 429)
    assert (await ask(root))[1].finish.kind == "aborted"
    _, cut = await ask(root)
    assert cut.interrupted_blocks() == [TextBlock("half")]
    assert cut.finish.kind == "error"
    assert model.n_left == 0


async def test_requests_are_recorded_and_a_reply_may_depend_on_them(root) -> None:
    model = await mount(root, lambda options: says(options.messages[0].text.upper()))
    model.add(says("next"))
    _, answer = await ask(root, session_id="s1")
    assert answer.blocks() == [TextBlock("HI")]
    await ask(root)
    assert [options.session_id for options in model.requests] == ["s1", None]


async def test_a_request_beyond_the_script_fails_unless_the_last_repeats(root) -> None:
    model = await mount(root, says("only"))
    await ask(root)
    _, extra = await ask(root)
    assert extra.finish.failure is not None
    assert extra.finish.failure.code == "SCRIPT_EXHAUSTED"
    assert model.n_left == 0
    async with Context() as other:
        other.plugin(LlmService)
        await other.settle()
        await mount(other, says("again"), repeat_last=True)
        for _ in range(3):
            assert (await ask(other))[1].blocks() == [TextBlock("again")]
        empty = ScriptedModel(repeat_last=True, provider="empty")
        other.require("llm").register_adapter(["empty"], empty)
        options = GenerateOptions(LlmCallConfig("empty", "test"), [])
        [finish] = [chunk async for chunk in other.require("llm").stream(options)]
        assert finish.reason.failure.code == "SCRIPT_EXHAUSTED"


async def test_a_hang_waits_for_the_abort_and_a_gate_for_its_event(root) -> None:
    gate = asyncio.Event()
    reply = [gate.wait, Finish(FinishReason.STOP)]
    await mount(root, partly("a", Hang()), reply, [Hang()])
    controller = AbortController()
    task = asyncio.create_task(ask(root, signal=controller.signal))
    await asyncio.sleep(0)
    controller.abort("user")
    _, hung = await task
    assert hung.finish.kind == "aborted"
    task = asyncio.create_task(ask(root))
    await asyncio.sleep(0)
    assert not task.done()
    gate.set()
    assert (await task)[1].finish == FinishReason.STOP
    task = asyncio.create_task(ask(root))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_the_facts_of_the_model_are_what_a_test_says(root) -> None:
    efforts = ReasoningInfo([ReasoningEffort("low", "Low")], "low")
    await mount(
        root,
        context_window=100,
        input_modalities=("text",),
        default_max_tokens=9,
        reasoning=efforts,
        retry_policy=RetryPolicy("always"),
    )
    llm = root.require("llm")
    info = await llm.resolve_model_info("scripted", "any")
    assert (info.id, info.context_window, info.default_max_tokens) == ("any", 100, 9)
    assert (info.is_text_only, info.reasoning) == (True, efforts)
    assert llm.provider_retry_policy("scripted").mode == "always"
    assert [model.id for model in await llm.list_models("scripted")] == ["test"]


async def test_two_models_serve_two_routes(root) -> None:
    await mount(root, says("one"))
    await mount(root, says("two"), provider="other", model="m2")
    assert [info.id for info in root.require("llm").list_providers()] == ["scripted", "other"]
