"""Hold what a caller chooses about a model call, and the frozen request built from it."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias
from weakref import WeakSet

from attrs import field, frozen

from harness.llm.message import Message
from harness.llm.tool_schema import ToolSchema
from harness.wire import FrozenDict, as_tuple, freeze_json
from vendor_shims.cordis import AbortSignal

Purpose: TypeAlias = Literal["compaction", "session-title"]
_EMPTY: FrozenDict = FrozenDict()


def _stop_tuple(value: Sequence[str] | None) -> tuple[str, ...] | None:
    return None if value is None else tuple(value)


@frozen
class LlmCallConfig:
    """Name the route, the model and the sampling choices; compared field by field.

    `None` means "not chosen"; an empty `stop` differs from none.
    """

    provider: str
    model: str
    reasoning_effort: str | None = field(default=None, kw_only=True)
    temperature: float | None = field(default=None, kw_only=True)
    max_tokens: int | None = field(default=None, kw_only=True)
    stop: tuple[str, ...] | None = field(default=None, kw_only=True, converter=_stop_tuple)

    def to_json(self) -> FrozenDict:
        """Return the form that the request header keeps; unset fields have no key."""
        optional = {
            "reasoningEffort": self.reasoning_effort,
            "temperature": self.temperature,
            "maxTokens": self.max_tokens,
            "stop": self.stop,
        }
        chosen = {key: value for key, value in optional.items() if value is not None}
        return FrozenDict({"provider": self.provider, "model": self.model, **chosen})

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> "LlmCallConfig":
        """Read the form of the request header."""
        return cls(
            value["provider"],
            value["model"],
            reasoning_effort=value.get("reasoningEffort"),
            temperature=value.get("temperature"),
            max_tokens=value.get("maxTokens"),
            stop=value.get("stop"),
        )


@frozen(eq=False, weakref_slot=True)
class GenerateOptions:
    """Carry one complete request to an adapter: deeply frozen, compared by identity.

    `messages` is exactly what the provider sees after the system slot. `session_id` serves routing
    and telemetry and never reaches the model. `extra[<plugin name>]` holds frozen JSON for features
    of one provider. A field that a provider cannot honour is refused, never dropped.
    """

    config: LlmCallConfig
    messages: tuple[Message, ...] = field(converter=as_tuple)
    system: str | None = field(default=None, kw_only=True)
    tools: tuple[ToolSchema, ...] = field(default=(), kw_only=True, converter=as_tuple)
    signal: AbortSignal | None = field(default=None, kw_only=True)
    session_id: str | None = field(default=None, kw_only=True)
    purpose: Purpose | None = field(default=None, kw_only=True)
    extra: FrozenDict = field(default=_EMPTY, kw_only=True, converter=freeze_json)

    @property
    def provider(self) -> str:
        """Return the route that serves this request."""
        return self.config.provider

    @property
    def model(self) -> str:
        """Return the provider's model id."""
        return self.config.model


_loop_requests: WeakSet[GenerateOptions] = WeakSet()


def mark_agent_loop_request(options: GenerateOptions) -> None:
    """Remember that the agent loop built this very object; a copy is not marked."""
    _loop_requests.add(options)


def is_agent_loop_request(options: GenerateOptions) -> bool:
    """Tell whether the agent loop built this very object."""
    return options in _loop_requests
