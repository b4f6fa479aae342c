"""State what is known about the models of an endpoint."""

from collections.abc import Sequence

from harness.llm import LlmModelInfo, LlmResolvedModelInfo
from harness_plugins.llm_deepseek.config import DeepSeekConfig, ModelConfig
from harness_plugins.llm_deepseek.thinking import reasoning_info

_DEEPSEEK_CONTEXT_WINDOW = 1_000_000
_DEEPSEEK_MAX_TOKENS = 256_000


def list_catalog(config: DeepSeekConfig, provider: str) -> Sequence[LlmModelInfo]:
    """Return the configured models."""
    return tuple(
        LlmModelInfo(provider, model.id, model.name or model.id, model.description)
        for model in config.catalog
    )


def model_facts(config: DeepSeekConfig, provider: str, model_id: str) -> LlmResolvedModelInfo:
    """Return the facts of a model; one outside the catalogue has the endpoint's defaults."""
    found = (model for model in config.catalog if model.id == model_id)
    model = next(found, None) or ModelConfig(id=model_id)
    is_deepseek = config.dialect == "deepseek"
    return LlmResolvedModelInfo(
        provider,
        model_id,
        model.name or model_id,
        description=model.description,
        input_modalities=("text",),
        context_window=model.context_window
        or config.default_context_window
        or (_DEEPSEEK_CONTEXT_WINDOW if is_deepseek else None),
        default_max_tokens=model.max_tokens
        or config.max_tokens
        or (_DEEPSEEK_MAX_TOKENS if is_deepseek else None),
        reasoning=reasoning_info(config),
    )
