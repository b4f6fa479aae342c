"""Configure one chat-completions endpoint."""

from typing import Annotated, Any, Literal, TypeAlias

from harness.llm import RetryPolicy, resolve_retry_policy
from vendor_shims.schema import Gt, Le, Secret, config, field

Dialect: TypeAlias = Literal["deepseek", "openai"]
DEFAULT_BASE_URL = "https://api.deepseek.com"
DEFAULT_ROUTE = "deepseek-official"
_MAX_TIMER_MS = 2_147_483_647


@config
class ModelConfig:
    """List one model of the endpoint."""

    id: str
    """The provider's model id."""
    name: str | None = None
    """What people read; the id by default."""
    description: str | None = None
    """One sentence for model pickers."""
    context_window: Annotated[int, Gt(0)] | None = None
    """Tokens; the endpoint's default otherwise."""
    max_tokens: Annotated[int, Gt(0)] | None = None
    """Output ceiling used when a caller chose none; the endpoint's default otherwise."""

    def __attrs_post_init__(self) -> None:
        """Refuse empty names."""
        if not self.id or self.name == "":
            raise ValueError("a model needs a non-empty id and name")


def _deepseek_models() -> list[ModelConfig]:
    return [
        ModelConfig(id="deepseek-v4-flash", name="DeepSeek-V4-Flash"),
        ModelConfig(id="deepseek-v4-pro", name="DeepSeek-V4-Pro"),
    ]


@config
class DeepSeekConfig:
    """Say where the endpoint is, how to authenticate, and what its models can do.

    The dialect `openai` serves any compatible server (llama.cpp, vLLM, Ollama, gateways): it sends
    no DeepSeek-only members or headers, knows no context window or output ceiling unless they are
    configured, and works without a key.
    """

    provider: str = DEFAULT_ROUTE
    """The route to register."""
    name: str = "DeepSeek"
    """What people read for the route."""
    dialect: Dialect = "deepseek"
    """Which members and headers the endpoint understands."""
    base_url: str | None = field(default=None, alias="baseURL")
    """Address before `/chat/completions`; else `DEEPSEEK_BASE_URL`, else api.deepseek.com."""
    api_key: Secret[str] | None = None
    """The key itself; prefer `apiKeyEnv`, which keeps it out of files."""
    api_key_env: str = "DEEPSEEK_API_KEY"
    """Name of the credential, looked up for each request."""
    models: list[ModelConfig] | None = None
    """The catalogue; a model outside it can be used all the same."""
    default_context_window: Annotated[int, Gt(0)] | None = None
    """Tokens, for models that state none; 1,000,000 in the dialect `deepseek`."""
    max_tokens: Annotated[int, Gt(0)] | None = None
    """Output ceiling, for models that state none; 256,000 in the dialect `deepseek`."""
    thinking: Literal["enabled", "disabled"] | None = None
    """Lock the thinking mode; `disabled` offers the effort `off` alone."""
    reasoning_effort: Literal["off", "low", "high", "max"] | None = None
    """Effort used when a caller chose none; `high` in the dialect `deepseek`."""
    headers: dict[str, str] = field(factory=dict)
    """Further request headers; they cannot replace the authorization or the user agent."""
    user_agent: str | None = None
    """Text that replaces the default user agent."""
    user_id: str | None = None
    """Anonymous id of this installation, sent to DeepSeek only."""
    stream_idle_timeout_ms: Annotated[int, Gt(0), Le(_MAX_TIMER_MS)] = field(
        default=300_000, role="ms"
    )
    """How long one read may stay without a byte, response headers included."""
    connect_timeout_ms: Annotated[int, Gt(0), Le(_MAX_TIMER_MS)] = field(default=15_000, role="ms")
    """How long opening the connection may take."""
    retry_policy: dict[str, Any] | None = None
    """What `llm_retry` does after a failure: `mode`, `maxRetries`, `retryableCodes`, `backoff`."""

    def __attrs_post_init__(self) -> None:
        """Refuse contradictions when the plugin loads."""
        if not self.provider or not self.name:
            raise ValueError("provider and name must not be empty")
        if self.thinking == "disabled" and self.reasoning_effort not in (None, "off"):
            raise ValueError(
                f"thinking is disabled, so reasoningEffort cannot be {self.reasoning_effort!r}"
            )
        ids = [model.id for model in self.catalog]
        if len(set(ids)) != len(ids):
            raise ValueError("models must not repeat an id")
        resolve_retry_policy(self.retry_policy)

    @property
    def catalog(self) -> list[ModelConfig]:
        """Return the configured models, else DeepSeek's own in its dialect."""
        if self.models is not None:
            return self.models
        return _deepseek_models() if self.dialect == "deepseek" else []

    @property
    def resolved_retry_policy(self) -> RetryPolicy:
        """Return the retry policy."""
        return resolve_retry_policy(self.retry_policy)
