from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from typing import Any

import pytest
from attrs import evolve

from harness.llm import (
    ADAPTERS_UPDATED,
    ConfigurableProvider,
    DiscoveryRequest,
    GenerateOptions,
    InvariantError,
    LlmAdapter,
    LlmCallConfig,
    LlmError,
    LlmModelInfo,
    LlmProviderInfo,
    LlmResolvedModelInfo,
    LlmService,
    ReasoningEffort,
    ReasoningInfo,
    RetryPolicy,
    StreamChunk,
)
from harness.testing.model import ScriptedModel, says
from vendor_shims.cordis import Context

Use = Callable[[Callable[[Context], Any]], Awaitable[Any]]


class Plain(LlmAdapter):
    """The smallest legal adapter, with facts that a test may set."""

    def __init__(self) -> None:
        self.name: object = None
        self.answer_id: str | None = None
        self.models: Sequence[LlmModelInfo] = ()
        self.info: dict[str, Any] = {}
        self.policy = RetryPolicy()

    async def stream(self, options: GenerateOptions) -> AsyncIterator[StreamChunk]:
        for chunk in ():
            yield chunk

    def provider_info(self, provider: str) -> LlmProviderInfo:
        name: Any = self.name if self.name is not None else provider
        return LlmProviderInfo(self.answer_id or provider, name)

    def provider_retry_policy(self, provider: str) -> RetryPolicy:
        return self.policy

    async def list_models(self, provider: str) -> Sequence[LlmModelInfo]:
        return self.models

    async def resolve_model(self, provider, model, signal=None) -> LlmResolvedModelInfo:
        facts = {"provider": provider, "id": model, "name": model, **self.info}
        return LlmResolvedModelInfo(**facts)


@pytest.fixture
async def root() -> AsyncIterator[Context]:
    async with Context() as root:
        root.plugin(LlmService)
        await root.settle()
        yield root


@pytest.fixture
def llm(root: Context) -> LlmService:
    return root.require("llm")


@pytest.fixture
def updates(root: Context) -> list[tuple[str, ...]]:
    """What a listener of the update event sees, one entry an event."""
    seen: list[tuple[str, ...]] = []
    root.on(ADAPTERS_UPDATED, lambda: seen.append(providers(root.require("llm"))))
    return seen


def providers(llm: LlmService) -> tuple[str, ...]:
    return tuple(info.id for info in llm.list_providers())


def refused(code: str, call: Callable[[], object]) -> None:
    with pytest.raises(LlmError) as caught:
        call()
    assert caught.value.code == code


async def refused_later(code: str, call: Awaitable[object]) -> None:
    with pytest.raises(LlmError) as caught:
        await call
    assert caught.value.code == code


@pytest.mark.spec("02-63")
async def test_a_registered_route_is_listed_and_announced_once(llm, updates) -> None:
    llm.register_adapter(["a"], Plain())
    assert llm.list_providers() == (LlmProviderInfo("a", "a"),)
    assert updates == [("a",)]


@pytest.mark.spec("02-64", "02-65", "02-66", "02-68")
async def test_a_bad_list_registers_nothing(llm, updates) -> None:
    refused("INVALID_ADAPTER", lambda: llm.register_adapter([], Plain()))
    refused("INVALID_ADAPTER", lambda: llm.register_adapter(["b", ""], Plain()))
    refused("DUPLICATE_ADAPTER", lambda: llm.register_adapter(["b", "b"], Plain()))
    for name, answer in (("x", "other"), ("", None), (7, None)):
        adapter = Plain()
        adapter.name, adapter.answer_id = name, answer
        refused("INVALID_ADAPTER", lambda adapter=adapter: llm.register_adapter(["b"], adapter))
    assert providers(llm) == ()
    assert updates == []


@pytest.mark.spec("02-67")
async def test_a_taken_route_refuses_the_whole_list(llm) -> None:
    llm.register_adapter(["a"], Plain())
    refused("DUPLICATE_ADAPTER", lambda: llm.register_adapter(["c", "a"], Plain()))
    assert providers(llm) == ("a",)


@pytest.mark.spec("02-69")
async def test_routes_end_with_the_plugin_that_registered_them(root, llm, updates) -> None:
    model = ScriptedModel(says("x"))
    fiber = root.plugin(model)
    await fiber
    assert providers(llm) == ("scripted",)
    await fiber.dispose()
    assert providers(llm) == ()
    assert updates == [("scripted",), ()]
    options = GenerateOptions(LlmCallConfig("scripted", "test"), [])
    [chunk] = [chunk async for chunk in llm.stream(options)]
    assert chunk.reason.failure.code == "NO_ADAPTER"


@pytest.mark.spec("02-70", "02-71")
async def test_replacing_is_one_step_and_keeps_the_place(llm, updates) -> None:
    first = llm.register_adapter(["a"], Plain())
    llm.register_adapter(["z"], Plain())
    updates.clear()
    first.replace(["a", "d"])
    assert updates == [("a", "d", "z")]
    first.replace([])
    assert providers(llm) == ("z",)
    first.replace(["a"])
    assert providers(llm) == ("z", "a")


@pytest.mark.spec("02-72", "02-73")
async def test_a_refused_replacement_changes_nothing(llm, updates) -> None:
    first = llm.register_adapter(["a"], Plain())
    llm.register_adapter(["z"], Plain())
    refused("DUPLICATE_ADAPTER", lambda: first.replace(["b", "z"]))
    assert providers(llm) == ("a", "z")
    updates.clear()
    first()
    first()
    assert updates == [("z",)]
    refused("REGISTRATION_DISPOSED", lambda: first.replace(["a"]))


@pytest.mark.spec("02-74", "02-75")
async def test_a_failing_listener_is_logged_and_starves_nobody(root, llm) -> None:
    seen: list[str] = []

    def broken() -> None:
        raise RuntimeError("sync")

    async def rejected() -> None:
        raise RuntimeError("async")

    root.on(ADAPTERS_UPDATED, broken)
    root.on(ADAPTERS_UPDATED, broken)
    root.on(ADAPTERS_UPDATED, rejected)
    root.on(ADAPTERS_UPDATED, lambda: seen.append("last"))
    llm.register_adapter(["a"], Plain())
    await root.settle()
    assert providers(llm) == ("a",)
    assert seen == ["last"]


@pytest.mark.spec("02-76")
async def test_an_invariant_failure_reaches_the_registrar_after_the_commit(root, llm) -> None:
    seen: list[str] = []

    def broken() -> None:
        raise InvariantError("registry broken")

    root.on(ADAPTERS_UPDATED, broken)
    root.on(ADAPTERS_UPDATED, lambda: seen.append("last"))
    with pytest.raises(InvariantError, match="registry broken"):
        llm.register_adapter(["a"], Plain())
    assert providers(llm) == ("a",)
    assert seen == ["last"]


@pytest.mark.spec("02-77")
async def test_the_retry_policy_is_captured_with_the_route(llm) -> None:
    adapter = Plain()
    registration = llm.register_adapter(["a"], adapter)
    adapter.policy = RetryPolicy("always")
    assert llm.provider_retry_policy("a").mode == "normal"
    registration.replace(["a"])
    assert llm.provider_retry_policy("a").mode == "always"
    refused("NO_ADAPTER", lambda: llm.provider_retry_policy("b"))


@pytest.mark.spec("02-78")
async def test_a_catalogue_is_checked(llm) -> None:
    adapter = Plain()
    llm.register_adapter(["a"], adapter)
    assert await llm.list_models("a") == ()
    good = LlmModelInfo("a", "m", "M", "text")
    adapter.models = [good]
    assert await llm.list_models("a") == (good,)
    changes: list[dict[str, Any]] = [
        {"provider": "b"}, {"id": ""}, {"name": ""}, {"description": 3},
    ]  # fmt: skip
    for bad in [good, *(evolve(good, **{"id": "n", **change}) for change in changes)]:
        adapter.models = [good, bad]
        await refused_later("INVALID_CATALOG", llm.list_models("a"))


@pytest.mark.spec("02-79", "02-80", "02-81")
@pytest.mark.parametrize(
    ("facts", "code"),
    [
        ({"provider": "b"}, "INVALID_MODEL_INFO"),
        ({"id": "n"}, "INVALID_MODEL_INFO"),
        ({"name": ""}, "INVALID_MODEL_INFO"),
        ({"description": 7}, "INVALID_MODEL_INFO"),
        ({"context_window": 0}, "INVALID_MODEL_CONTEXT"),
        ({"context_window": 1.5}, "INVALID_MODEL_CONTEXT"),
        ({"context_window": True}, "INVALID_MODEL_CONTEXT"),
        ({"default_max_tokens": -1}, "INVALID_MODEL_MAX_TOKENS"),
        ({"default_max_tokens": 2**53}, "INVALID_MODEL_MAX_TOKENS"),
        ({"reasoning": ReasoningInfo(())}, "INVALID_MODEL_REASONING"),
        ({"reasoning": ReasoningInfo([ReasoningEffort("", "x")])}, "INVALID_MODEL_REASONING"),
        ({"reasoning": ReasoningInfo([ReasoningEffort("a", "A")] * 2)}, "INVALID_MODEL_REASONING"),
        (
            {"reasoning": ReasoningInfo([ReasoningEffort("a", "A")], "b")},
            "INVALID_MODEL_REASONING",
        ),
    ],
)
async def test_contradicting_model_facts_are_refused(llm, facts, code) -> None:
    adapter = Plain()
    adapter.info = facts
    llm.register_adapter(["a"], adapter)
    await refused_later(code, llm.resolve_model_info("a", "m"))
    await refused_later(code, llm.prepare_call(LlmCallConfig("a", "m")))


@pytest.mark.spec("02-82")
async def test_the_provider_directory_is_all_or_nothing(llm, updates) -> None:
    first = ConfigurableProvider("d", "D", "llm-d", ["x"], is_declared=False)
    registration = llm.register_configurable_providers([first])
    assert llm.list_configurable_providers() == (first,)
    assert len(updates) == 1
    other = evolve(first, provider="e")
    for entries in (
        [],
        [other, evolve(first, provider="f", settings_path=["x", ""])],
        [evolve(other, display_name="")],
    ):
        refused(
            "INVALID_DIRECTORY",
            lambda entries=entries: llm.register_configurable_providers(entries),
        )
    refused("DUPLICATE_DIRECTORY", lambda: llm.register_configurable_providers([other, first]))
    assert llm.list_configurable_providers() == (first,)
    registration.replace([other, first])
    assert llm.list_configurable_providers() == (other, first)
    registration()
    registration()
    assert llm.list_configurable_providers() == ()
    refused("REGISTRATION_DISPOSED", lambda: registration.replace([]))


@pytest.mark.spec("02-83")
async def test_discovery_filters_what_an_endpoint_says(root, llm) -> None:
    asked: list[DiscoveryRequest] = []

    async def discover(request: DiscoveryRequest) -> Sequence[Mapping[str, Any]]:
        asked.append(request)
        return [
            {"id": "m1", "name": "One", "contextWindow": 10, "maxTokens": 5, "extra": 1},
            {"name": "nameless"},
            {"id": ""},
            {"id": "m1", "name": "again"},
            {"id": "m2"},
        ]

    def apply(ctx: Context) -> None:
        ctx.require("llm").register_model_discovery("llm-d", discover)

    refused("INVALID_DISCOVERY", lambda: llm.register_model_discovery("", discover))
    fiber = root.inject(["llm"], apply)
    await fiber
    refused("DUPLICATE_DISCOVERY", lambda: llm.register_model_discovery("llm-d", discover))
    request = DiscoveryRequest(base_url="http://x", api_key="sk-secret")
    assert "sk-secret" not in repr(request)
    one, two = await llm.discover_models("llm-d", request)
    assert (one.id, one.name, one.context_window, one.max_tokens) == ("m1", "One", 10, 5)
    assert (two.id, two.name) == ("m2", None)
    assert asked == [request]
    await refused_later("INVALID_DISCOVERY", llm.discover_models("llm-d", DiscoveryRequest()))
    await refused_later("NO_DISCOVERY", llm.discover_models("other", request))
    await fiber.dispose()
    await refused_later("NO_DISCOVERY", llm.discover_models("llm-d", request))


async def test_the_default_adapter_needs_three_lines(llm) -> None:
    class Minimal(LlmAdapter):
        async def stream(self, options: GenerateOptions) -> AsyncIterator[Any]:
            for chunk in says("hi"):
                yield chunk

    llm.register_adapter(["m"], Minimal())
    assert llm.provider_retry_policy("m") == RetryPolicy()
    assert await llm.list_models("m") == ()
    assert await llm.resolve_model_info("m", "x") == LlmResolvedModelInfo("m", "x", "x")
