import pytest

from harness.llm import (
    ImageAttachment,
    ImageBlock,
    LlmError,
    OpaqueBlock,
    ReasoningBlock,
    TextBlock,
    ToolCallBlock,
    ToolResultBlock,
    ToolSchema,
    create_assistant_message,
    create_message,
    create_system_message,
    create_tool_result_message,
    create_user_message,
    freeze_json,
    plugin_source,
)
from harness_plugins.llm_deepseek import (
    DeepSeekConfig,
    request_body,
    thinking_fields,
    wire_message,
)
from vendor_shims.cordis import ValidationError
from vendor_shims.schema import structure


def assistant(*blocks):
    return create_assistant_message(blocks, provider="p", model="m")


@pytest.mark.spec("02-112")
async def test_a_minimal_body_has_only_what_is_always_there(mount) -> None:
    bench = await mount(config={"dialect": "openai"})
    body = await bench.body()
    assert list(body) == ["model", "messages", "stream", "stream_options"]
    assert body["model"] == "deepseek-v4-pro"
    assert body["stream"] is True
    assert body["stream_options"] == {"include_usage": True}


@pytest.mark.spec("02-112", "02-121")
async def test_everything_set_is_sent_in_a_stable_order(mount) -> None:
    bench = await mount()
    tool = ToolSchema("bash", "Run", {"type": "object", "properties": {}})
    body = await bench.body(tools=[tool], temperature=0, max_tokens=9, stop=["END"], system="s")
    assert list(body) == [
        "model", "messages", "stream", "stream_options", "thinking", "reasoning_effort", "tools",
        "temperature", "max_tokens", "stop",
    ]  # fmt: skip
    assert body["thinking"] == {"type": "enabled"}
    assert body["reasoning_effort"] == "high"
    assert body["temperature"] == 0
    assert body["tools"] == [
        {
            "type": "function",
            "function": {
                "name": "bash",
                "description": "Run",
                "parameters": {"type": "object", "properties": {}},
            },
        }
    ]
    assert "tools" not in await bench.body(tools=[])
    assert (await bench.body())["max_tokens"] == 256_000


@pytest.mark.spec("02-113")
async def test_an_empty_system_text_is_sent_and_none_is_not(mount) -> None:
    bench = await mount()
    assert (await bench.body(system=""))["messages"][0] == {"role": "system", "content": ""}
    assert (await bench.body())["messages"] == [{"role": "user", "content": "hi"}]


@pytest.mark.spec("02-114", "02-115", "02-116", "02-117", "02-118", "02-119", "02-120")
async def test_each_kind_of_message_has_its_wire_form(mount) -> None:
    bench = await mount()
    results = [ToolResultBlock("c1", (TextBlock("a"), TextBlock("b"))), ToolResultBlock("c2", ())]
    opaque = OpaqueBlock("video", freeze_json({"type": "video"}))
    raw = '{"a": 1}   '
    body = await bench.body(
        create_user_message([TextBlock("a"), TextBlock("b")]),
        create_user_message([]),
        create_message("user", [TextBlock("see"), *results], source=plugin_source("p")),
        create_tool_result_message("c3", "boom", is_error=True),
        create_system_message("rule", source=plugin_source("p")),
        assistant(ReasoningBlock("why"), ReasoningBlock("!"), ToolCallBlock("c1", "read", raw)),
        assistant(ReasoningBlock("only"), opaque),
        assistant(TextBlock("x"), ToolCallBlock("c2", "n", "{bad")),
    )
    assert body["messages"] == [
        {"role": "user", "content": "ab"},
        {"role": "user", "content": ""},
        {"role": "user", "content": "see"},
        {"role": "tool", "tool_call_id": "c1", "content": "ab"},
        {"role": "tool", "tool_call_id": "c2", "content": "(no output)"},
        {"role": "tool", "tool_call_id": "c3", "content": "boom"},
        {"role": "system", "content": "rule"},
        {
            "role": "assistant",
            "content": "",
            "reasoning_content": "why!",
            "tool_calls": [
                {"id": "c1", "type": "function", "function": {"name": "read", "arguments": raw}}
            ],
        },
        {"role": "assistant", "content": "", "reasoning_content": "only"},
        {
            "role": "assistant",
            "content": "x",
            "tool_calls": [
                {"id": "c2", "type": "function", "function": {"name": "n", "arguments": "{bad"}}
            ],
        },
    ]


async def test_images_become_a_text_because_the_models_take_text_only(mount) -> None:
    bench = await mount()
    image = ImageBlock(ImageAttachment(f"sha256:{'ab' * 32}", "image/png", 1, 1, 1))
    body = await bench.body(create_user_message([image]))
    assert body["messages"][0]["content"].startswith("[picture not shown")
    for message in (
        create_user_message([image]),
        assistant(image),
        create_tool_result_message("c", [image]),
    ):
        with pytest.raises(LlmError) as caught:
            wire_message(message)
        assert caught.value.code == "UNSUPPORTED_CONTENT"


async def test_the_body_of_a_growing_and_a_changed_history_is_exact(mount) -> None:
    bench = await mount()
    message = create_user_message("hi")
    first = request_body(bench.options(message), {}, features={})
    assert request_body(bench.options(message), {}, features={}) == first
    longer = request_body(bench.options(message, create_user_message("more")), {}, features={})
    assert longer == first.replace(b'"hi"}', b'"hi"},{"role":"user","content":"more"}')
    assert request_body(bench.options(message), {}, features={}) == first


@pytest.mark.spec("02-122", "02-124")
@pytest.mark.parametrize(
    ("facts", "thinking", "effort"),
    [
        ({"reasoning_effort": "off"}, "disabled", None),
        ({"reasoning_effort": "low"}, "enabled", "low"),
        ({"reasoning_effort": "high"}, "enabled", "high"),
        ({"reasoning_effort": "max"}, "enabled", "max"),
        ({}, "enabled", "high"),
        ({"reasoning_effort": "max", "purpose": "session-title"}, "disabled", None),
    ],
)
async def test_an_effort_becomes_the_thinking_mode(mount, facts, thinking, effort) -> None:
    bench = await mount()
    body = await bench.body(**facts)
    assert body["thinking"] == {"type": thinking}
    assert body.get("reasoning_effort") == effort


@pytest.mark.spec("02-122", "02-123")
async def test_an_effort_that_cannot_be_is_refused(mount) -> None:
    bench = await mount(config={"thinking": "disabled"})
    assert (await bench.body())["thinking"] == {"type": "disabled"}
    for effort in ("medium", "high"):
        failure = await bench.failure(reasoning_effort=effort)
        assert failure.code == "UNSUPPORTED_REASONING_EFFORT"
    for config, effort in ((DeepSeekConfig(thinking="disabled"), "high"), (DeepSeekConfig(), "x")):
        with pytest.raises(LlmError) as caught:
            thinking_fields(config, bench.options(reasoning_effort=effort))
        assert caught.value.code == "UNSUPPORTED_REASONING_EFFORT"
    unset = bench.options()
    assert thinking_fields(DeepSeekConfig(), unset) == {}
    assert thinking_fields(DeepSeekConfig(thinking="enabled"), unset) == {
        "thinking": {"type": "enabled"}
    }


@pytest.mark.spec("02-123")
@pytest.mark.parametrize(
    "config",
    [
        {"thinking": "disabled", "reasoningEffort": "high"},
        {"models": [{"id": "a"}, {"id": "a"}]},
        {"models": [{"id": ""}]},
        {"models": [{"id": "a", "contextWindow": 0}]},
        {"provider": ""},
        {"retryPolicy": {"mode": "never"}},
        {"streamIdleTimeoutMs": 0},
        {"baseUrl": "http://x", "noise": 1},
    ],
)
def test_a_contradicting_config_is_refused_at_load(config) -> None:
    with pytest.raises(ValidationError):
        structure(DeepSeekConfig, config)


@pytest.mark.spec("02-125", "02-126")
async def test_routing_facts_are_headers_and_never_body(mount) -> None:
    bench = await mount(config={"userId": "install-1"})
    body = await bench.body(session_id="session-1", purpose="compaction")
    headers = bench.server.requests[-1].headers
    assert headers["x-deepseek-harness-session-id"] == "session-1"
    assert headers["x-deepseek-harness-compact"] == "1"
    assert headers["x-deepseek-harness-user-id"] == "install-1"
    assert "session-1" not in str(body)
    await bench.body()
    headers = bench.server.requests[-1].headers
    assert "x-deepseek-harness-session-id" not in headers
    assert "x-deepseek-harness-compact" not in headers


@pytest.mark.spec("02-127")
async def test_configured_headers_never_replace_ours(mount) -> None:
    custom = {"User-Agent": "mine", "AUTHORIZATION": "Basic x", "X-Team": "t", "Accept": "x/y"}
    bench = await mount(config={"headers": custom})
    await bench.body()
    headers = bench.server.requests[-1].headers
    assert headers["user-agent"].startswith("dsh-harness/")
    assert headers["authorization"] == "Bearer sk-test"
    assert headers["accept"] == "text/event-stream"
    assert headers["content-type"] == "application/json"
    assert headers["x-team"] == "t"


@pytest.mark.spec("02-128")
async def test_the_base_url_comes_from_config_else_from_the_environment(mount, monkeypatch) -> None:
    bench = await mount(config={"baseURL": None})
    monkeypatch.setenv("DEEPSEEK_BASE_URL", f"{bench.server.base_url}/v1//")
    await bench.body()
    assert bench.server.requests[-1].path == "/v1/chat/completions"
    await bench.fiber.update({"baseURL": f"{bench.server.base_url}/"})
    await bench.body()
    assert bench.server.requests[-1].path == "/chat/completions"


@pytest.mark.spec("02-129", "02-130")
async def test_a_missing_or_unusable_key_sends_nothing(mount, monkeypatch) -> None:
    bench = await mount()
    monkeypatch.delenv("DEEPSEEK_API_KEY")
    failure = await bench.failure()
    assert failure.code == "MISSING_CREDENTIAL"
    assert "DEEPSEEK_API_KEY" in failure.message
    monkeypatch.setenv("DEEPSEEK_API_KEY", "sk\nsecret")
    failure = await bench.failure()
    assert failure.code == "INVALID_CREDENTIAL"
    assert "secret" not in failure.message
    assert bench.server.requests == []
    monkeypatch.setenv("DEEPSEEK_API_KEY", "  sk-blank ")
    await bench.body()
    assert bench.server.requests[-1].headers["authorization"] == "Bearer sk-blank"


@pytest.mark.spec("02-131")
async def test_a_rotated_key_is_used_at_once(mount, monkeypatch) -> None:
    bench = await mount(config={"apiKeyEnv": "OTHER_KEY"})
    for key in ("one", "two"):
        monkeypatch.setenv("OTHER_KEY", key)
        await bench.body()
        assert bench.server.requests[-1].headers["authorization"] == f"Bearer {key}"


@pytest.mark.parametrize("is_async", [True, False])
async def test_the_credential_service_is_asked_before_the_environment(mount, is_async) -> None:
    class Found:
        value = "stored"

    class Credentials:
        known = True

        def resolve(self, reference):
            assert reference == "DEEPSEEK_API_KEY"
            found = Found() if self.known else None

            async def later():
                return found

            return later() if is_async else found

    bench = await mount()
    credentials = Credentials()
    bench.root.provide("credentials", credentials)
    await bench.body()
    assert bench.server.requests[-1].headers["authorization"] == "Bearer stored"
    credentials.known = False
    await bench.body()
    assert bench.server.requests[-1].headers["authorization"] == "Bearer sk-test"


async def test_a_key_in_the_config_wins(mount) -> None:
    bench = await mount(config={"apiKey": "sk-config"})
    await bench.body()
    assert bench.server.requests[-1].headers["authorization"] == "Bearer sk-config"


@pytest.mark.spec("02-133")
async def test_json_mode_needs_the_word_json(mount) -> None:
    bench = await mount()
    extra = {"llm-deepseek": {"responseFormat": "json_object"}}
    assert (await bench.failure(extra=extra)).code == "UNSUPPORTED_OPTION"
    body = await bench.body(create_user_message("Answer in JSON"), extra=extra)
    assert body["response_format"] == {"type": "json_object"}
    assert (await bench.body(system="use Json", extra=extra))["response_format"]
    extra = {"llm-deepseek": {"responseFormat": "xml"}}
    assert (await bench.failure(extra=extra)).code == "UNSUPPORTED_OPTION"


@pytest.mark.spec("02-134")
async def test_prefix_completion_goes_to_the_beta_path(mount) -> None:
    bench = await mount()
    extra = {"llm-deepseek": {"prefix": True}}
    assert (await bench.failure(extra=extra)).code == "UNSUPPORTED_OPTION"
    opening = assistant(ReasoningBlock("r"), TextBlock("```json"))
    body = await bench.body(create_user_message("go"), opening, extra=extra)
    assert body["messages"][-1] == {
        "role": "assistant",
        "content": "```json",
        "reasoning_content": "r",
        "prefix": True,
    }
    assert bench.server.requests[-1].path == "/beta/chat/completions"
    assert "prefix" not in (await bench.body(create_user_message("go"), opening))["messages"][-1]


@pytest.mark.spec("02-135")
async def test_more_stop_strings_than_the_service_takes_are_refused(mount) -> None:
    bench = await mount()
    assert (await bench.failure(stop=["x"] * 17)).code == "UNSUPPORTED_OPTION"
    assert len((await bench.body(stop=["x"] * 16))["stop"]) == 16


@pytest.mark.spec("02-136")
async def test_lone_surrogates_are_replaced_in_the_body(mount) -> None:
    bench = await mount()
    body = await bench.body(create_user_message("a\ud83db"), system="\udc00")
    assert [m["content"] for m in body["messages"]] == ["\ufffd", "a\ufffdb"]


async def test_a_number_no_peer_can_read_is_an_invalid_request(mount) -> None:
    bench = await mount()
    tool = ToolSchema("t", "d", {"maximum": 2**70})
    failure = await bench.failure(tools=[tool])
    assert failure.code == "INVALID_REQUEST"
    bench.server.enqueue("success")
    failure = await bench.failure(session_id="line\nbreak")
    assert failure.code == "INVALID_REQUEST"
    assert bench.server.requests == []
