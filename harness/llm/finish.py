"""Describe how a model call ended: finish reason, failure facts, token usage."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, ClassVar

from attrs import field, frozen

from harness.llm.numbers import is_int, is_number
from harness.wire import FrozenDict


@frozen
class LlmFailure:
    """State why a call failed, in facts that survive the log.

    `code` is what policy routes on; `message` is for people. `status` is an HTTP status (100 to
    599), `provider_retry_after_ms` a finite positive number, `offload_images` the number of oldest
    images that must leave the request. A fact out of range raises `ValueError`.
    """

    message: str
    code: str
    status: int | None = field(default=None, kw_only=True)
    provider_retry_after_ms: float | None = field(default=None, kw_only=True)
    request_id: str | None = field(default=None, kw_only=True)
    offload_images: int | None = field(default=None, kw_only=True)

    def __attrs_post_init__(self) -> None:
        if not self.message or not self.code:
            raise ValueError("a failure needs a non-empty message and a non-empty code")
        if self.status is not None and not (is_int(self.status) and 100 <= self.status <= 599):
            raise ValueError(f"failure status must be an integer in 100..599, got {self.status!r}")
        delay = self.provider_retry_after_ms
        if delay is not None and not (is_number(delay) and delay > 0):
            raise ValueError(f"provider_retry_after_ms must be finite and > 0, got {delay!r}")
        if self.request_id == "":
            raise ValueError("failure request_id must not be empty; leave it out instead")
        images = self.offload_images
        if images is not None and not (is_int(images) and images > 0):
            raise ValueError(f"offload_images must be a positive integer, got {images!r}")

    def to_json(self) -> FrozenDict:
        """Return the persisted form; absent facts have no key."""
        optional = {
            "status": self.status,
            "providerRetryAfterMs": self.provider_retry_after_ms,
            "requestId": self.request_id,
            "offloadImages": self.offload_images,
        }
        known = {key: value for key, value in optional.items() if value is not None}
        return FrozenDict({"message": self.message, "code": self.code, **known})

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> "LlmFailure":
        """Read the persisted form; an impossible fact raises `ValueError`."""
        return cls(
            value["message"],
            value["code"],
            status=value.get("status"),
            provider_retry_after_ms=value.get("providerRetryAfterMs"),
            request_id=value.get("requestId"),
            offload_images=value.get("offloadImages"),
        )


@frozen
class FinishReason:
    """Say why the model stopped: an open sum type keyed by `kind`.

    Kinds of our own: `stop`, `tool-calls`, `max-tokens`, `aborted`, `error`. The last two carry a
    `failure`.
    """

    STOP: ClassVar["FinishReason"]
    TOOL_CALLS: ClassVar["FinishReason"]
    MAX_TOKENS: ClassVar["FinishReason"]

    kind: str
    failure: LlmFailure | None = None

    @classmethod
    def error(cls, failure: LlmFailure) -> "FinishReason":
        """Build the reason of a failed call."""
        return cls("error", failure)

    @classmethod
    def aborted(cls, failure: LlmFailure) -> "FinishReason":
        """Build the reason of a cancelled call."""
        return cls("aborted", failure)

    @property
    def is_failure(self) -> bool:
        """Tell whether the call failed or was cancelled."""
        return self.kind in ("error", "aborted")

    def to_json(self) -> FrozenDict:
        """Return the persisted form."""
        if self.failure is None:
            return _kind_alone(self.kind)
        return FrozenDict({"kind": self.kind, "failure": self.failure.to_json()})

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> "FinishReason":
        """Read the persisted form."""
        failure = value.get("failure")
        return cls(value["kind"], None if failure is None else LlmFailure.from_json(failure))


FinishReason.STOP = FinishReason("stop")
FinishReason.TOOL_CALLS = FinishReason("tool-calls")
FinishReason.MAX_TOKENS = FinishReason("max-tokens")


@lru_cache(maxsize=64)
def _kind_alone(kind: str) -> FrozenDict:
    """Return one object for all events that hold such a reason."""
    return FrozenDict({"kind": kind})


@frozen
class TokenUsage:
    """Count the tokens of one call in disjoint counters.

    `input_tokens` are the uncached prompt tokens; the billed prompt is input + cache read + cache
    write. `reasoning_tokens` are part of `output_tokens`. `None` means "not reported", which is
    not zero. `total_tokens` is preserved for foreign logs and never computed with. A negative or
    non-integer counter raises `ValueError`.
    """

    input_tokens: int
    output_tokens: int
    cache_read_tokens: int | None = field(default=None, kw_only=True)
    cache_write_tokens: int | None = field(default=None, kw_only=True)
    reasoning_tokens: int | None = field(default=None, kw_only=True)
    total_tokens: int | None = field(default=None, kw_only=True)

    def __attrs_post_init__(self) -> None:
        for name, key, required in _COUNTERS:
            value: object = getattr(self, name)
            if value is None and not required:
                continue
            if not (is_int(value) and value >= 0):
                raise ValueError(f"usage {key} must be a non-negative integer, got {value!r}")

    @property
    def prompt_tokens(self) -> int:
        """Return the billed prompt: uncached input plus cache reads and writes."""
        return self.input_tokens + (self.cache_read_tokens or 0) + (self.cache_write_tokens or 0)

    def to_json(self) -> FrozenDict:
        """Return the persisted form; counters that were not reported have no key."""
        counters = ((key, getattr(self, name)) for name, key, _ in _COUNTERS)
        return FrozenDict({key: value for key, value in counters if value is not None})

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> "TokenUsage":
        """Read the persisted form; an impossible counter raises `ValueError`."""
        counters: dict[str, Any] = {name: value.get(key) for name, key, _ in _COUNTERS}
        return cls(**counters)


_COUNTERS = (
    ("input_tokens", "inputTokens", True),
    ("output_tokens", "outputTokens", True),
    ("cache_read_tokens", "cacheReadTokens", False),
    ("cache_write_tokens", "cacheWriteTokens", False),
    ("reasoning_tokens", "reasoningTokens", False),
    ("total_tokens", "totalTokens", False),
)
