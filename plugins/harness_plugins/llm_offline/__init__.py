"""Answer without a model: a guide that says what it is and drives the real tools."""

from harness_plugins.llm_offline.adapter import MODEL, PROVIDER, GuideAdapter
from harness_plugins.llm_offline.intents import Intent, read_intent
from harness_plugins.llm_offline.plugin import OfflineConfig, OfflinePlugin

__all__ = [
    "MODEL",
    "PROVIDER",
    "GuideAdapter",
    "Intent",
    "OfflineConfig",
    "OfflinePlugin",
    "read_intent",
]
