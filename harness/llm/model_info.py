"""Describe routes and models: what an adapter says about them, and the check of what it says."""

from collections.abc import Sequence
from typing import TypeAlias

from attrs import evolve, field, frozen

from harness.llm.call_config import LlmCallConfig
from harness.llm.errors import LlmError
from harness.llm.numbers import is_int, is_safe_int
from harness.wire import FrozenDict, as_tuple

AdapterDefaults: TypeAlias = FrozenDict
"""Which fields the adapter filled in: `{"reasoningEffort"?: true, "maxTokens"?: true}`."""


@frozen
class LlmProviderInfo:
    """Name a route for people."""

    id: str
    name: str


@frozen
class LlmModelInfo:
    """List one model of a route; the catalogue is advisory and never limits requests."""

    provider: str
    id: str
    name: str
    description: str | None = None


@frozen
class ReasoningEffort:
    """Offer one effort; `id` is opaque and owned by the adapter."""

    id: str
    name: str
    description: str | None = None


@frozen
class ReasoningInfo:
    """List the efforts of a model in ascending order, and the one used when none is chosen."""

    efforts: tuple[ReasoningEffort, ...] = field(converter=as_tuple)
    default_effort: str | None = None


@frozen
class LlmResolvedModelInfo:
    """State the capability facts of one model; `None` means unknown.

    `input_modalities` without `image` is a negative capability that callers may act on.
    `default_max_tokens` and the default effort are used when a caller chose none.
    """

    provider: str
    id: str
    name: str
    description: str | None = field(default=None, kw_only=True)
    input_modalities: tuple[str, ...] | None = field(default=None, kw_only=True)
    context_window: int | None = field(default=None, kw_only=True)
    default_max_tokens: int | None = field(default=None, kw_only=True)
    reasoning: ReasoningInfo | None = field(default=None, kw_only=True)

    @property
    def is_text_only(self) -> bool:
        """Tell whether the model is known not to take images."""
        return self.input_modalities is not None and "image" not in self.input_modalities


def check_model_info(info: LlmResolvedModelInfo, provider: str, model: str) -> None:
    """Refuse facts that contradict the request or themselves, with an `INVALID_MODEL_*` code."""
    where = f"adapter of {provider!r} resolved model {model!r}"
    if (info.provider, info.id) != (provider, model) or not _is_name(info.name):
        raise LlmError(f"{where} to another identity or without a name", "INVALID_MODEL_INFO")
    if not _is_text_or_absent(info.description):
        raise LlmError(f"{where} with a description that is not text", "INVALID_MODEL_INFO")
    window = info.context_window
    if window is not None and not (is_int(window) and window > 0):
        raise LlmError(f"{where} with context window {window!r}", "INVALID_MODEL_CONTEXT")
    ceiling = info.default_max_tokens
    if ceiling is not None and not (is_safe_int(ceiling) and ceiling > 0):
        raise LlmError(f"{where} with default max tokens {ceiling!r}", "INVALID_MODEL_MAX_TOKENS")
    if info.reasoning is not None:
        _check_reasoning(info.reasoning, where)


def check_catalog(models: Sequence[LlmModelInfo], provider: str) -> tuple[LlmModelInfo, ...]:
    """Return the catalogue of a route, or raise `INVALID_CATALOG` naming the bad entry."""
    seen: set[str] = set()
    for entry in models:
        named = _is_name(entry.id) and _is_name(entry.name)
        described = _is_text_or_absent(entry.description)
        if entry.provider != provider or not (named and described) or entry.id in seen:
            raise LlmError(
                f"adapter of {provider!r} lists an invalid or duplicate model: {entry!r}",
                "INVALID_CATALOG",
            )
        seen.add(entry.id)
    return tuple(models)


def apply_model_defaults(
    config: LlmCallConfig, info: LlmResolvedModelInfo
) -> tuple[LlmCallConfig, AdapterDefaults]:
    """Fill what the caller left open; return the config and the fields that were filled.

    The very same config object comes back when nothing was open. Nothing is clamped or aliased: an
    effort that the model does not offer raises `UNSUPPORTED_REASONING_EFFORT`.
    """
    efforts = () if info.reasoning is None else [effort.id for effort in info.reasoning.efforts]
    if config.reasoning_effort is not None and config.reasoning_effort not in efforts:
        offered = ", ".join(efforts) or "none"
        raise LlmError(
            f"model {info.id!r} of {info.provider!r} does not offer the reasoning effort "
            f"{config.reasoning_effort!r}; it offers: {offered}",
            "UNSUPPORTED_REASONING_EFFORT",
        )
    defaults: dict[str, object] = {}
    filled: dict[str, bool] = {}
    if config.max_tokens is None and info.default_max_tokens is not None:
        defaults["max_tokens"] = info.default_max_tokens
        filled["maxTokens"] = True
    default_effort = None if info.reasoning is None else info.reasoning.default_effort
    if config.reasoning_effort is None and default_effort is not None:
        defaults["reasoning_effort"] = default_effort
        filled["reasoningEffort"] = True
    return (evolve(config, **defaults) if defaults else config), FrozenDict(filled)


def _is_text_or_absent(value: object) -> bool:
    return value is None or isinstance(value, str)


def _is_name(value: object) -> bool:
    return isinstance(value, str) and value != ""


def _check_reasoning(reasoning: ReasoningInfo, where: str) -> None:
    ids = [effort.id for effort in reasoning.efforts]
    named = all(_is_name(effort.id) and _is_name(effort.name) for effort in reasoning.efforts)
    if not ids or not named or len(set(ids)) != len(ids):
        raise LlmError(
            f"{where} with empty, unnamed or repeated reasoning efforts", "INVALID_MODEL_REASONING"
        )
    if reasoning.default_effort is not None and reasoning.default_effort not in ids:
        raise LlmError(
            f"{where} with the unknown default effort {reasoning.default_effort!r}",
            "INVALID_MODEL_REASONING",
        )
