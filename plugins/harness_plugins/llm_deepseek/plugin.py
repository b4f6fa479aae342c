"""Mount the adapter of one configured endpoint."""

import os

from harness.http import HttpService
from harness.llm import LlmService
from harness_plugins.llm_deepseek.adapter import DeepSeekAdapter
from harness_plugins.llm_deepseek.config import DeepSeekConfig
from harness_plugins.llm_deepseek.credentials import key_source
from vendor_shims.cordis import Dep, Plugin


class DeepSeekPlugin(Plugin):
    """Serve a chat-completions endpoint as a provider route, DeepSeek's own by default."""

    name = "llm-deepseek"
    Config = DeepSeekConfig
    llm = Dep(LlmService)
    http = Dep(HttpService)
    config: DeepSeekConfig

    def start(self) -> None:
        """Register the route; it ends with the plugin."""
        adapter = DeepSeekAdapter(
            self.config,
            self.http,
            find_key=key_source(self.ctx, os.environ),
            environ=os.environ,
            warn=self._warn,
        )
        self.llm.register_adapter([self.config.provider], adapter)

    def _warn(self, message: str) -> None:
        self.ctx.logger.warning("%s: %s", self.config.provider, message)
