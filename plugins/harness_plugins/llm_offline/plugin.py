"""Mount the offline guide."""

from typing import Annotated

from harness.llm import LlmService
from harness_plugins.llm_offline.adapter import PROVIDER, GuideAdapter
from vendor_shims.cordis import Dep, Plugin
from vendor_shims.schema import Ge, config, field


@config
class OfflineConfig:
    """Pace the guide's answers."""

    chunk_delay_ms: Annotated[float, Ge(0)] = field(default=0.0, role="ms")
    """Pause before each word; 15 reads well on an interactive surface."""


class OfflinePlugin(Plugin):
    """Serve `offline/guide`, so that everything can be tried without a key or a network."""

    name = "llm-offline"
    Config = OfflineConfig
    llm = Dep(LlmService)
    config: OfflineConfig

    def start(self) -> None:
        """Register the route; it ends with the plugin."""
        delay_s = self.config.chunk_delay_ms / 1000
        adapter = GuideAdapter(delay_s=delay_s, clock=self.ctx.kernel.clock)
        self.llm.register_adapter([PROVIDER], adapter)
