"""Define the message: an identified, frozen list of blocks with a role and a source."""

from collections.abc import Callable, Mapping, Sequence
from os import urandom
from typing import Any, Literal, TypeAlias, TypeVar

from attrs import field, frozen

from harness.llm.blocks import (
    ContentBlock,
    TextBlock,
    ToolResultBlock,
    block_from_json,
    blocks_from_json,
)
from harness.llm.sources import (
    USER_SOURCE,
    MessageSource,
    make_source,
    model_source,
    tool_source,
)
from harness.wire import FrozenDict, Json

Role: TypeAlias = Literal["system", "user", "assistant"]
_T = TypeVar("_T")


@frozen(weakref_slot=True)
class Message:
    """Carry one entry of a conversation; immutable, equal by value, hashed by `id`.

    Invariants: `id` never changes through projection, filtering or replay; a derived form stored by
    `memo` depends on this message alone.
    """

    id: str
    role: Role
    content: tuple[ContentBlock, ...]
    source: MessageSource
    _memo: dict[object, Any] = field(factory=dict, init=False, eq=False, repr=False)

    def __hash__(self) -> int:
        return hash(self.id)

    @property
    def text(self) -> str:
        """Return the text blocks, joined without a separator."""
        return "".join([block.text for block in self.content if isinstance(block, TextBlock)])

    def memo(self, key: object, build: Callable[["Message"], _T]) -> _T:
        """Return `build(self)`, computed once per `key` for the life of this message.

        Adapters keep the wire form here, so that a message is converted once and not once a step.
        """
        try:
            return self._memo[key]
        except KeyError:
            value = self._memo[key] = build(self)
            return value

    def to_json(self) -> FrozenDict:
        """Return the persisted form, deeply frozen."""
        return FrozenDict(
            {
                "id": self.id,
                "role": self.role,
                "content": tuple([block.to_json() for block in self.content]),
                "source": self.source,
            }
        )

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> "Message":
        """Read the persisted form; unknown members are ignored, wrong ones raise `ValueError`.

        A message with the role `tool` (newer upstream logs) becomes a user message with one
        tool-result block and keeps its id.
        """
        try:
            ident, role = value["id"], value["role"]
            if role == "tool":
                return _from_tool_role(value)
            if not isinstance(ident, str) or role not in ("system", "user", "assistant"):
                raise ValueError(f"malformed message: id {ident!r}, role {role!r}")
            source = value["source"]
            source = USER_SOURCE if source == USER_SOURCE else make_source(source)
            return cls(ident, role, blocks_from_json(value["content"]), source)
        except (KeyError, TypeError, AttributeError, RecursionError) as error:
            raise ValueError(f"malformed message: {error!r}") from error


def create_message(
    role: Role,
    content: str | Sequence[ContentBlock],
    *,
    source: Mapping[str, Any],
    message_id: str | None = None,
) -> Message:
    """Build a message; a plain string becomes one text block, an absent id is generated."""
    blocks = (TextBlock(content),) if isinstance(content, str) else tuple(content)
    return Message(message_id or _new_id(), role, blocks, make_source(source))


def create_system_message(
    content: str, *, source: Mapping[str, Any], message_id: str | None = None
) -> Message:
    """Build a system-role message that stays in place in the history."""
    return create_message("system", content, source=source, message_id=message_id)


def create_user_message(
    content: str | Sequence[ContentBlock],
    *,
    source: Mapping[str, Any] = USER_SOURCE,
    message_id: str | None = None,
) -> Message:
    """Build a user message; the sources `model` and `tool` have constructors of their own."""
    if source.get("kind") in ("model", "tool"):
        raise ValueError(f"a user message cannot have the source kind {source['kind']!r}")
    return create_message("user", content, source=source, message_id=message_id)


def create_assistant_message(
    content: str | Sequence[ContentBlock],
    *,
    provider: str,
    model: str,
    replay_state: Json = None,
    message_id: str | None = None,
) -> Message:
    """Build an assistant message whose source names the route, the model and the replay state."""
    blocks = (TextBlock(content),) if isinstance(content, str) else tuple(content)
    source = model_source(provider, model, replay_state)
    return Message(message_id or _new_id(), "assistant", blocks, source)


def create_tool_result_message(
    call_id: str,
    content: str | Sequence[ContentBlock],
    *,
    is_error: bool = False,
    message_id: str | None = None,
) -> Message:
    """Build the user-role message that answers one tool call."""
    blocks = (TextBlock(content),) if isinstance(content, str) else tuple(content)
    result = ToolResultBlock(call_id, blocks, True if is_error else None)
    return Message(message_id or _new_id(), "user", (result,), tool_source(call_id))


def _new_id() -> str:
    """Return a random UUID (RFC 9562, version 4); the standard library takes three times as long.

    The thirteenth digit is the version, the two upper bits of the seventeenth the variant.
    """
    digits = urandom(16).hex()
    variant = "89ab"[int(digits[16], 16) & 3]
    return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-{variant}{digits[17:20]}-{digits[20:]}"


def _from_tool_role(value: Mapping[str, Any]) -> Message:
    call_id = value["toolCallId"]
    block: dict[str, Any] = {
        "type": "tool-result",
        "toolCallId": call_id,
        "content": value["content"],
    }
    if "isError" in value:
        block["isError"] = value["isError"]
    return Message(value["id"], "user", (block_from_json(block),), tool_source(call_id))
