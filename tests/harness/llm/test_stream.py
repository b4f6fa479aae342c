import asyncio
import copy
from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Any

import pytest
from attrs import evolve

from harness.llm import (
    STREAM,
    BlockStart,
    Finish,
    FinishReason,
    FrozenDict,
    GenerateOptions,
    ImageAttachment,
    ImageBlock,
    InvariantError,
    LlmAdapter,
    LlmCallConfig,
    LlmError,
    LlmService,
    ReasoningEffort,
    ReasoningInfo,
    StreamChunk,
    TextDelta,
    ToolResultBlock,
    check_every_stream,
    create_assistant_message,
    create_user_message,
)
from harness.testing.model import Hang, ScriptedModel, partly, says
from vendor_shims.cordis import AbortController, Context

IMAGE = ImageBlock(ImageAttachment(f"sha256:{'1a2b3c4d' * 8}", "image/png", 9, 3, 3))
EFFORTS = ReasoningInfo([ReasoningEffort("low", "Low"), ReasoningEffort("high", "High")], "high")


@pytest.fixture
async def root() -> AsyncIterator[Context]:
    async with Context() as root:
        root.plugin(LlmService)
        await root.settle()
        yield root


@pytest.fixture
def llm(root: Context) -> LlmService:
    return root.require("llm")


def serve(llm: LlmService, *replies, **facts) -> ScriptedModel:
    model = ScriptedModel(*replies, **facts)
    llm.register_adapter([model.provider], model)
    return model


def request(*messages, **facts) -> GenerateOptions:
    messages = messages or (create_user_message("hi"),)
    return GenerateOptions(LlmCallConfig("scripted", "test"), messages, **facts)


async def collect(stream: AsyncIterator[StreamChunk]) -> list[Any]:
    return [chunk async for chunk in stream]


def failure(chunk: Any):
    assert isinstance(chunk, Finish)
    assert chunk.reason.failure is not None
    return chunk.reason.failure


@pytest.mark.spec("02-84", "02-85", "02-87")
async def test_open_fields_are_filled_with_the_adapters_defaults(llm) -> None:
    serve(llm, reasoning=EFFORTS, default_max_tokens=7, context_window=100)
    prepared = await llm.prepare_call(LlmCallConfig("scripted", "test", max_tokens=5))
    assert prepared.config.reasoning_effort == "high"
    assert prepared.config.max_tokens == 5
    assert prepared.adapter_defaults == {"reasoningEffort": True}
    assert prepared.model.context_window == 100
    assert prepared.retry_policy.mode == "normal"
    both = await llm.prepare_call(LlmCallConfig("scripted", "test"))
    assert both.adapter_defaults == {"reasoningEffort": True, "maxTokens": True}
    config = LlmCallConfig("scripted", "test", reasoning_effort="low", max_tokens=1)
    assert await llm.resolve_call_config(config) is config


@pytest.mark.spec("02-86")
async def test_an_effort_that_is_not_offered_is_refused_before_any_request(llm) -> None:
    model = serve(llm, says("x"))
    config = LlmCallConfig("scripted", "test", reasoning_effort="high")
    with pytest.raises(LlmError, match="offers: none") as caught:
        await llm.prepare_call(config)
    assert caught.value.code == "UNSUPPORTED_REASONING_EFFORT"
    [chunk] = await collect(llm.stream(GenerateOptions(config, [])))
    assert failure(chunk).code == "UNSUPPORTED_REASONING_EFFORT"
    assert model.requests == []


@pytest.mark.spec("02-88", "02-89")
async def test_a_prepared_call_is_dispatched_once_and_only_as_prepared(llm) -> None:
    serve(llm, says("one"))
    prepared = await llm.prepare_call(LlmCallConfig("scripted", "test"))
    drifted = GenerateOptions(LlmCallConfig("scripted", "test", temperature=0.5), [])
    with pytest.raises(LlmError, match="prepared for") as caught:
        prepared.stream(drifted)
    assert caught.value.code == "INVALID_PREPARED_CALL"
    assert len(await collect(prepared.stream(request()))) == 5
    with pytest.raises(LlmError, match="once"):
        prepared.stream(request())


@pytest.mark.spec("02-91")
async def test_a_prepared_call_stays_with_its_adapter(root, llm) -> None:
    old, new = ScriptedModel(says("old")), ScriptedModel(says("new"))
    registration = llm.register_adapter(["scripted"], old)
    prepared = await llm.prepare_call(LlmCallConfig("scripted", "test"))
    registration()
    llm.register_adapter(["scripted"], new)
    await collect(prepared.stream(request()))
    assert (len(old.requests), len(new.requests)) == (1, 0)


@pytest.mark.spec("02-93")
async def test_an_unknown_provider_is_one_finish(llm) -> None:
    [chunk] = await collect(llm.stream(request()))
    assert failure(chunk).code == "NO_ADAPTER"


@pytest.mark.spec("02-94", "02-95", "02-96", "02-97")
async def test_what_an_adapter_raises_becomes_the_finish(llm) -> None:
    class Sdk(Exception):
        code = "RATE_LIMIT"

    class Mute(Exception):
        def __str__(self) -> str:
            raise RuntimeError

    error = LlmError("slow", "RATE_LIMIT", status=429, provider_retry_after_ms=2000)
    serve(llm, [error], partly("a", ValueError("x")), [Sdk("y")], [Mute()])
    [finish] = await collect(llm.stream(request()))
    assert failure(finish) == error.failure
    chunks = await collect(llm.stream(request()))
    assert chunks[:2] == [BlockStart(0, "text"), TextDelta(0, "a")]
    assert (failure(chunks[2]).code, failure(chunks[2]).message) == ("UNKNOWN", "x")
    [finish] = await collect(llm.stream(request()))
    assert failure(finish).code == "UNKNOWN"
    [finish] = await collect(llm.stream(request()))
    assert failure(finish).message == "LLM adapter failed"


@pytest.mark.parametrize("broken", ["not a stream", None])
async def test_an_adapter_without_an_iterator_fails_the_call(llm, broken) -> None:
    class Broken(LlmAdapter):
        def stream(self, options):
            return broken

    llm.register_adapter(["scripted"], Broken())
    [finish] = await collect(llm.stream(request()))
    assert failure(finish).code == "UNKNOWN"


@pytest.mark.spec("02-98", "02-99", "02-205")
async def test_an_abort_is_told_from_an_error(llm) -> None:
    controller = AbortController()
    serve(llm, partly("a", Hang()), [LlmError("stop", "ABORTED")])
    async with aclosing(llm.stream(request(signal=controller.signal))) as stream:
        assert await anext(stream) == BlockStart(0, "text")
        assert await anext(stream) == TextDelta(0, "a")
        controller.abort("user")
        finish: Any = await anext(stream)
        assert finish.reason.kind == "aborted"
        assert failure(finish).code == "ABORTED"
        with pytest.raises(StopAsyncIteration):
            await anext(stream)
    [finish] = await collect(llm.stream(request()))
    assert finish.reason.kind == "aborted"


@pytest.mark.spec("02-100")
async def test_what_middleware_raises_reaches_the_consumer(root, llm) -> None:
    def broken(options, proceed):
        raise RuntimeError("middleware")

    serve(llm, says("x"))
    root.on(STREAM, broken)
    with pytest.raises(RuntimeError, match="middleware"):
        llm.stream(request())


@pytest.mark.spec("02-101", "02-102")
async def test_middleware_wraps_in_order_and_may_answer_itself(root, llm) -> None:
    order: list[str] = []

    def named(name: str):
        def wrap(options, proceed):
            order.append(name)
            return proceed()

        return wrap

    async def own(options, proceed) -> AsyncIterator[StreamChunk]:
        yield Finish(FinishReason("own"))

    model = serve(llm, says("x"))
    root.on(STREAM, named("first"))
    root.on(STREAM, named("second"))
    root.on(STREAM, named("front"), prepend=True)
    await collect(llm.stream(request()))
    assert order == ["front", "first", "second"]
    root.on(STREAM, own, prepend=True)
    assert await collect(llm.stream(request())) == [Finish(FinishReason("own"))]
    assert len(model.requests) == 1


class Closing(LlmAdapter):
    """Counts how often its stream was closed, and waits where a test says so."""

    def __init__(self) -> None:
        self.n_closed = 0
        self.reading = asyncio.Event()
        self.cleanup_error: Exception | None = None

    async def stream(self, options: GenerateOptions) -> AsyncIterator[StreamChunk]:
        try:
            yield TextDelta(0, "a")
            self.reading.set()
            await asyncio.Event().wait()
        finally:
            self.n_closed += 1
            if self.cleanup_error is not None:
                raise self.cleanup_error


@pytest.mark.spec("02-103")
async def test_leaving_early_closes_the_adapter_once(llm) -> None:
    adapter = Closing()
    llm.register_adapter(["scripted"], adapter)
    async with aclosing(llm.stream(request())) as stream:
        await anext(stream)
    assert adapter.n_closed == 1


async def test_an_error_of_clean_up_reaches_the_consumer(llm) -> None:
    adapter = Closing()
    adapter.cleanup_error = RuntimeError("clean-up")
    llm.register_adapter(["scripted"], adapter)
    stream = llm.stream(request())
    await anext(stream)
    with pytest.raises(RuntimeError, match="clean-up"):
        await stream.aclose()


@pytest.mark.spec("02-104")
async def test_host_cancellation_is_no_finish(llm) -> None:
    adapter = Closing()
    llm.register_adapter(["scripted"], adapter)
    chunks: list[StreamChunk] = []

    async def consume() -> None:
        async with aclosing(llm.stream(request())) as stream:
            async for chunk in stream:
                chunks.append(chunk)  # noqa: PERF401 - a test looks while it grows

    task = asyncio.create_task(consume())
    await adapter.reading.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert chunks == [TextDelta(0, "a")]
    assert adapter.n_closed == 1


@pytest.mark.spec("02-105")
async def test_what_a_consumer_throws_in_comes_back_unchanged(llm) -> None:
    adapter = Closing()
    llm.register_adapter(["scripted"], adapter)
    stream = llm.stream(request())
    await anext(stream)
    error = LlmError("mine", "RATE_LIMIT")
    with pytest.raises(LlmError) as caught:
        await stream.athrow(error)
    assert caught.value is error
    assert adapter.n_closed == 1


@pytest.mark.spec("02-106", "02-107", "02-110")
async def test_images_are_replaced_only_for_a_model_known_to_be_text_only(llm) -> None:
    nested = create_user_message([ToolResultBlock("c", (IMAGE,))])
    messages = (
        create_user_message([IMAGE]),
        create_assistant_message("ok", provider="p", model="m"),
        nested,
    )
    blind = serve(llm, repeat_last=True, input_modalities=("text",))
    blind.add(says("x"))
    options = request(*messages)
    await collect(llm.stream(options))
    seen: Any = blind.requests[0].messages
    note = "[picture not shown: text-only model; sha256:1a2b3c4d]"
    assert seen[0].text == note
    assert seen[1] is messages[1]
    assert seen[2].content[0].content[0].text == note
    assert [m.id for m in seen] == [m.id for m in messages]
    assert options.messages == messages
    with pytest.raises(AttributeError):
        blind.requests[0].system = "x"  # pyright: ignore[reportAttributeAccessIssue]
    await collect(llm.stream(options))
    assert blind.requests[1].messages == seen

    seeing = ScriptedModel(says("x"))
    llm.register_adapter(["seeing"], seeing)
    await collect(llm.stream(evolve(options, config=LlmCallConfig("seeing", "m"))))
    assert seeing.requests[0].messages == messages


@pytest.mark.spec("02-108", "02-109")
async def test_replay_state_goes_back_to_the_instance_that_made_it(llm) -> None:
    shared = ScriptedModel(says("x"), repeat_last=True)
    registration = llm.register_adapter(["p1", "p2"], shared)
    other = ScriptedModel(says("x"), repeat_last=True)
    llm.register_adapter(["p3"], other)
    past = create_assistant_message("a", provider="p1", model="m", replay_state={"response": 1})
    gone = create_assistant_message("b", provider="old", model="m", replay_state={"response": 2})

    async def ask(provider: str) -> None:
        options = GenerateOptions(LlmCallConfig(provider, "m"), [past, gone])
        await collect(llm.stream(options))

    await ask("p2")
    kept, stripped = shared.requests[0].messages
    assert kept is past
    assert "replayState" not in stripped.source
    assert (stripped.id, stripped.content) == (gone.id, gone.content)
    await ask("p3")
    assert all("replayState" not in m.source for m in other.requests[0].messages)
    prepared = await llm.prepare_call(LlmCallConfig("p1", "m"))
    registration()
    llm.register_adapter(["p1"], ScriptedModel(says("x")))
    await collect(prepared.stream(GenerateOptions(LlmCallConfig("p1", "m"), [past, gone])))
    assert all("replayState" not in m.source for m in shared.requests[1].messages)


async def test_a_growing_history_is_handed_on_as_it_is(llm) -> None:
    model = serve(llm, says("x"), repeat_last=True, input_modalities=("text",))
    history = [create_user_message("one")]
    for _ in range(3):
        options = request(*history)
        await collect(llm.stream(options))
        assert model.requests[-1] is options
        history.append(create_user_message("more"))
    history.append(create_user_message([IMAGE]))
    options = request(*history)
    await collect(llm.stream(options))
    assert model.requests[-1].messages[:-1] == options.messages[:-1]
    assert model.requests[-1].messages[-1] != options.messages[-1]
    await collect(llm.stream(request(history[0], *history[2:])))
    assert len(model.requests[-1].messages) == len(history) - 1
    await collect(llm.stream(GenerateOptions(LlmCallConfig("scripted", "test"), [])))
    assert model.requests[-1].messages == ()


async def test_unprepared_options_are_completed_with_defaults(llm) -> None:
    model = serve(llm, says("x"), default_max_tokens=9)
    options = request()
    await collect(llm.stream(options))
    assert model.requests[0].config.max_tokens == 9
    assert model.requests[0].messages is options.messages
    assert options.config.max_tokens is None


async def test_a_scoped_target_reaches_the_middleware_it_belongs_to(root, llm) -> None:
    class Target:
        def __event_filter__(self, ctx: Context) -> bool:
            return ctx.tags.get("agent") == "a1"

    heard: list[str] = []
    serve(llm, says("x"), repeat_last=True)
    for name in ("a1", "a2"):

        def listen(options, proceed, name=name):
            heard.append(name)
            return proceed()

        root.extend(agent=name).on(STREAM, listen)
    await collect(llm.stream(request(), target=Target()))
    prepared = await llm.prepare_call(LlmCallConfig("scripted", "test"))
    await collect(prepared.stream(request(), target=Target()))
    assert heard == ["a1", "a1"]


@pytest.mark.spec("02-36")
async def test_the_grammar_companion_surfaces_violations_as_exceptions(root, llm) -> None:
    root.plugin(check_every_stream)
    await root.settle()
    serve(llm, says("fine"), partly("a"), partly("a", Finish(FinishReason.STOP)))
    assert len(await collect(llm.stream(request()))) == 5
    for _ in range(2):
        with pytest.raises(InvariantError, match=r"neither a finish|leaves blocks open"):
            await collect(llm.stream(request()))


async def test_a_copy_of_options_is_another_request(llm) -> None:
    options = request()
    assert copy.copy(options) != options
    assert options.extra == FrozenDict()
