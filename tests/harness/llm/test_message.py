import weakref

import pytest
from attrs.exceptions import FrozenInstanceError

from harness.llm import (
    USER_SOURCE,
    ImageAttachment,
    ImageBlock,
    Message,
    TextBlock,
    ToolResultBlock,
    bound_context_summary,
    create_assistant_message,
    create_message,
    create_system_message,
    create_tool_result_message,
    create_user_message,
    make_source,
    plugin_source,
    snapshot_source,
    without_images,
)
from harness.wire import dumps, loads


def image() -> ImageBlock:
    return ImageBlock(ImageAttachment(f"sha256:{DIGEST}", "image/png", 10, 4, 4))


DIGEST = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
LITERAL = (
    '{"id":"1b1f3c0e-2a4e-4f7c-9d53-0f6f9b3f3a10","role":"user",'
    '"content":[{"type":"text","text":"fix the test"}],"source":{"kind":"user"}}'
)
SOURCES = [
    '{"kind":"user"}',
    '{"kind":"plugin","plugin":"time-context"}',
    '{"kind":"plugin","plugin":"p","form":"snapshot","sections":[{"name":"git","text":"b"}]}',
    '{"kind":"subagent-settled","childId":"s","label":"l","reason":"completed"}',
    '{"kind":"model","provider":"p","model":"m","replayState":{"response":{},"blocks":[null]}}',
    '{"kind":"cron","job":"x"}',
]


def test_the_message_literal_round_trips_byte_for_byte() -> None:
    assert dumps(Message.from_json(loads(LITERAL)).to_json()).decode() == LITERAL


@pytest.mark.spec("02-14")
@pytest.mark.parametrize("source", SOURCES)
def test_every_source_round_trips_also_unknown_kinds(source: str) -> None:
    value = {"id": "m", "role": "user", "content": [], "source": loads(source)}
    assert dumps(Message.from_json(value).to_json()["source"]).decode() == source


@pytest.mark.spec("02-8")
def test_ids_are_generated_once_and_kept() -> None:
    first, second = create_user_message("a"), create_user_message("a")
    assert first.id != second.id
    assert create_user_message("a", message_id="m1").id == "m1"
    assert Message.from_json(first.to_json()) == first
    assert hash(Message.from_json(first.to_json())) == hash(first)


@pytest.mark.spec("02-9")
def test_a_message_cannot_be_changed() -> None:
    message = create_user_message([TextBlock("a")])
    with pytest.raises(FrozenInstanceError):
        message.role = "system"  # pyright: ignore[reportAttributeAccessIssue]
    assert isinstance(message.content, tuple)
    with pytest.raises(TypeError, match="frozen"):
        message.source["kind"] = "plugin"
    for change in (
        lambda: message.source.update(a=1),
        lambda: message.source.pop("kind"),
        lambda: message.source.setdefault("b", 1),
        message.source.clear,
        lambda: message.source.__ior__({"c": 1}),
        lambda: message.source.__delitem__("kind"),
    ):
        with pytest.raises(TypeError, match="frozen"):
            change()


@pytest.mark.spec("02-10")
def test_replay_state_is_copied_on_the_way_in() -> None:
    state = {"response": {"id": "r"}, "blocks": [1]}
    message = create_assistant_message("x", provider="p", model="m", replay_state=state)
    state["blocks"].append(2)
    state["response"]["id"] = "other"
    assert message.source["replayState"] == {"response": {"id": "r"}, "blocks": (1,)}


@pytest.mark.spec("02-11", "02-12")
def test_a_tool_result_is_a_user_message_with_one_block() -> None:
    message = create_tool_result_message("c1", [TextBlock("boom")], is_error=True)
    assert message.role == "user"
    assert message.source == {"kind": "tool", "callId": "c1"}
    assert message.content == (ToolResultBlock("c1", (TextBlock("boom"),), True),)
    assert "isError" not in create_tool_result_message("c1", "fine").to_json()["content"][0]


@pytest.mark.spec("02-13")
def test_an_assistant_message_names_its_model_and_nothing_else() -> None:
    message = create_assistant_message("hi", provider="p", model="m")
    assert message.source == {"kind": "model", "provider": "p", "model": "m"}
    assert message.text == "hi"


@pytest.mark.parametrize("kind", ["model", "tool"])
def test_a_user_message_cannot_pose_as_a_model_or_a_tool(kind: str) -> None:
    with pytest.raises(ValueError, match=kind):
        create_user_message("x", source={"kind": kind})


@pytest.mark.spec("02-15")
def test_a_notice_summary_is_bounded() -> None:
    assert bound_context_summary("x" * 120) == "x" * 120
    cut = bound_context_summary("x" * 121)
    assert len(cut) == 120
    assert cut.endswith("…")
    source = plugin_source("p", "notice", summary="word " * 40)
    assert len(source["summary"]) <= 120


@pytest.mark.spec("02-16")
def test_a_snapshot_needs_its_sections() -> None:
    with pytest.raises(ValueError, match="sections"):
        make_source({"kind": "plugin", "plugin": "p", "form": "snapshot"})
    assert make_source({"kind": "plugin", "plugin": "p"}) == {"kind": "plugin", "plugin": "p"}
    sections = [{"name": "a", "text": "b"}]
    assert snapshot_source("p", sections)["sections"] == ({"name": "a", "text": "b"},)


@pytest.mark.spec("02-17")
def test_a_tool_role_message_becomes_a_user_message_with_one_result() -> None:
    value = {
        "id": "t1",
        "role": "tool",
        "toolCallId": "c1",
        "content": [{"type": "text", "text": "out"}],
        "isError": True,
    }
    message = Message.from_json(value)
    assert (message.id, message.role) == ("t1", "user")
    assert message.content == (ToolResultBlock("c1", (TextBlock("out"),), True),)
    del value["isError"]
    assert Message.from_json(value).content == (ToolResultBlock("c1", (TextBlock("out"),)),)


@pytest.mark.parametrize(
    "value",
    [
        {},
        {"id": 1, "role": "user", "content": [], "source": {"kind": "user"}},
        {"id": "m", "role": "robot", "content": [], "source": {"kind": "user"}},
        {"id": "m", "role": "user", "content": None, "source": {"kind": "user"}},
        {"id": "m", "role": "user", "content": [], "source": {}},
        {"id": "m", "role": "user", "content": [], "source": "user"},
        {"id": "m", "role": "tool", "content": []},
    ],
)
def test_a_malformed_message_raises_value_error(value: dict) -> None:
    with pytest.raises(ValueError, match=r"message|source"):
        Message.from_json(value)


def test_unknown_members_of_a_message_are_ignored() -> None:
    value = {**create_user_message("a").to_json(), "envelope": "context", "turn": 3}
    assert Message.from_json(value).text == "a"


def test_a_system_message_stays_in_place() -> None:
    message = create_system_message("rules", source=plugin_source("p"))
    assert (message.role, message.text) == ("system", "rules")
    assert create_message("user", "x", source=USER_SOURCE).source is USER_SOURCE


def test_a_derived_form_is_computed_once_and_dies_with_the_message() -> None:
    built: list[str] = []

    def build(message: Message) -> list[str]:
        built.append(message.id)
        return built

    message = create_user_message("a")
    assert message.memo("wire", build) is message.memo("wire", build)
    assert built == [message.id]
    gone = weakref.ref(message)
    del message
    assert gone() is None


def test_images_are_replaced_by_a_text_that_names_them() -> None:
    plain = create_user_message("a")
    assert without_images(plain) is plain
    nested = ToolResultBlock("c", (TextBlock("see"), image()))
    message = create_user_message([TextBlock("a"), image(), nested], message_id="m")
    projected = without_images(message)
    assert projected.id == "m"
    note = TextBlock("[picture not shown: text-only model; sha256:9f86d081]")
    assert projected.content == (
        TextBlock("a"),
        note,
        ToolResultBlock("c", (TextBlock("see"), note)),
    )
    assert without_images(message) == projected
