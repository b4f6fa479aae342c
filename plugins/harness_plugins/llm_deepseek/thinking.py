"""Decide about thinking: what a model offers, and what one request says."""

from typing import Any

from harness.llm import GenerateOptions, LlmError, ReasoningEffort, ReasoningInfo
from harness_plugins.llm_deepseek.config import DeepSeekConfig

_NAMES = {"off": "Off", "low": "Low", "high": "High", "max": "Max"}


def reasoning_info(config: DeepSeekConfig) -> ReasoningInfo | None:
    """Return the efforts that the endpoint offers; `None` when it is not known to reason."""
    if config.dialect == "openai" and config.reasoning_effort is None:
        return None
    ids = ["off"] if config.thinking == "disabled" else list(_NAMES)
    default = "off" if config.thinking == "disabled" else config.reasoning_effort or "high"
    return ReasoningInfo(tuple(ReasoningEffort(i, _NAMES[i]) for i in ids), default)


def thinking_fields(config: DeepSeekConfig, options: GenerateOptions) -> dict[str, Any]:
    """Return the members `thinking` and `reasoning_effort` of a request body.

    Raises:
        LlmError: `UNSUPPORTED_REASONING_EFFORT`.
    """
    if options.purpose == "session-title":
        return _switch(config, "disabled")
    effort = options.config.reasoning_effort or config.reasoning_effort
    if effort is not None and effort not in _NAMES:
        raise LlmError(
            f"reasoning effort {effort!r} is none of {', '.join(_NAMES)}",
            "UNSUPPORTED_REASONING_EFFORT",
        )
    if config.thinking == "disabled" and effort not in (None, "off"):
        raise LlmError(
            f"thinking is disabled by configuration, so the effort {effort!r} is impossible",
            "UNSUPPORTED_REASONING_EFFORT",
        )
    if effort == "off":
        return _switch(config, "disabled")
    if effort is not None:
        return {**_switch(config, "enabled"), "reasoning_effort": effort}
    return {} if config.thinking is None else _switch(config, config.thinking)


def _switch(config: DeepSeekConfig, mode: str) -> dict[str, Any]:
    """Return the `thinking` member, which only DeepSeek understands."""
    return {"thinking": {"type": mode}} if config.dialect == "deepseek" else {}
