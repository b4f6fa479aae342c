"""Mount the registry of companions and the companions of the spine."""

from harness.invariants import Invariants, InvariantsConfig
from harness_plugins.invariants.agents import PACKAGE as AGENTS
from harness_plugins.invariants.agents import AgentCompanion
from harness_plugins.invariants.requests import PACKAGE as REQUESTS
from harness_plugins.invariants.requests import RequestCompanion
from harness_plugins.invariants.sessions import PACKAGE as SESSIONS
from harness_plugins.invariants.sessions import SessionCompanion
from vendor_shims.cordis import Context
from vendor_shims.schema import config, field, unstructure


@config
class InvariantGuardConfig:
    """Configure the development guard."""

    checks: InvariantsConfig = field(factory=InvariantsConfig, doc="Which packages are checked.")
    strict: bool = field(default=False, doc="Refuse requests whose messages were overridden.")


name = "invariants"
Config = InvariantGuardConfig


def apply(ctx: Context, config: InvariantGuardConfig) -> None:
    """Check the log, the requests and the agents while they run."""
    ctx.plugin(Invariants, unstructure(config.checks))

    def companions(inner: Context) -> None:
        registry: Invariants = inner.require("invariants")
        registry.register(SESSIONS, lambda child: SessionCompanion(child) and None)
        registry.register(
            REQUESTS, lambda child: RequestCompanion(child, is_strict=config.strict) and None
        )
        registry.register(AGENTS, lambda child: AgentCompanion(child) and None)

    ctx.inject(["invariants", "sessions"], companions)
