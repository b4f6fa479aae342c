from collections.abc import Sequence

import pytest

from harness.llm import LlmError, RetryPolicy
from harness.testing import error_reply, json_reply

ROUTE = "deepseek-official"
LOCAL = {"dialect": "openai", "provider": "local", "name": "Local"}


def ids(models: Sequence) -> list[str]:
    return [model.id for model in models]


async def test_deepseek_models_have_their_known_facts(mount) -> None:
    bench = await mount(config={"retryPolicy": {"maxRetries": 1}})
    assert [info.name for info in bench.llm.list_providers()] == ["DeepSeek"]
    assert ids(await bench.llm.list_models(ROUTE)) == ["deepseek-v4-flash", "deepseek-v4-pro"]
    info = await bench.llm.resolve_model_info(ROUTE, "deepseek-v4-pro")
    assert (info.name, info.input_modalities) == ("DeepSeek-V4-Pro", ("text",))
    assert (info.context_window, info.default_max_tokens) == (1_000_000, 256_000)
    assert ids(info.reasoning.efforts) == ["off", "low", "high", "max"]
    assert info.reasoning.default_effort == "high"
    assert bench.llm.provider_retry_policy(ROUTE) == RetryPolicy(max_retries=1)


async def test_a_model_outside_the_catalogue_can_be_used(mount) -> None:
    bench = await mount(config={"thinking": "disabled", "maxTokens": 5})
    info = await bench.llm.resolve_model_info(ROUTE, "future")
    assert (info.name, info.context_window, info.default_max_tokens) == ("future", 1_000_000, 5)
    assert ids(info.reasoning.efforts) == ["off"]
    assert info.reasoning.default_effort == "off"


async def test_a_compatible_server_is_asked_for_its_models(mount, monkeypatch) -> None:
    monkeypatch.delenv("DEEPSEEK_API_KEY")
    bench = await mount(config=LOCAL)
    bench.server.enqueue(json_reply({"data": [{"id": "a"}, {"id": ""}, {"id": "b"}, {"id": "a"}]}))
    assert ids(await bench.llm.list_models("local")) == ["a", "b"]
    request = bench.server.requests[-1]
    assert (request.method, request.path) == ("GET", "/models")
    assert "authorization" not in request.headers
    info = await bench.llm.resolve_model_info("local", "a")
    assert (info.context_window, info.default_max_tokens, info.reasoning) == (None, None, None)


@pytest.mark.parametrize("listing", [{}, [], {"data": [{}]}, {"data": 3}])
async def test_an_answer_that_is_no_list_of_models_is_malformed(mount, listing) -> None:
    bench = await mount(json_reply(listing), config=LOCAL)
    with pytest.raises(LlmError, match="no list of models") as caught:
        await bench.llm.list_models("local")
    assert caught.value.code == "MALFORMED_RESPONSE"


async def test_a_refused_or_failed_listing_has_the_code_of_its_cause(mount) -> None:
    bench = await mount(error_reply(401, "bad key"), config=LOCAL)
    with pytest.raises(LlmError, match="bad key") as caught:
        await bench.llm.list_models("local")
    assert caught.value.code == "AUTH"
    await bench.server.close()
    with pytest.raises(LlmError, match=bench.server.base_url) as caught:
        await bench.llm.list_models("local")
    assert caught.value.code == "TRANSPORT"


async def test_a_configured_catalogue_is_listed_without_asking(mount) -> None:
    models = [{"id": "m", "name": "M", "description": "d", "contextWindow": 7, "maxTokens": 3}]
    bench = await mount(config={**LOCAL, "models": models, "reasoningEffort": "low"})
    [model] = await bench.llm.list_models("local")
    assert (model.id, model.name, model.description) == ("m", "M", "d")
    info = await bench.llm.resolve_model_info("local", "m")
    assert (info.context_window, info.default_max_tokens) == (7, 3)
    assert info.reasoning.default_effort == "low"
    assert bench.server.requests == []


async def test_a_compatible_server_sees_no_deepseek_members(mount) -> None:
    bench = await mount(config={**LOCAL, "userId": "u", "reasoningEffort": "low"})
    body = await bench.body(provider="local", session_id="s")
    assert "thinking" not in body
    assert body["reasoning_effort"] == "low"
    headers = bench.server.requests[-1].headers
    assert not [name for name in headers if name.startswith("x-deepseek")]
