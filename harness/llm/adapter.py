"""Define what a provider implements: the adapter, and a call prepared on it."""

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable, Sequence
from typing import TypeAlias

from attrs import frozen

from harness.llm.call_config import GenerateOptions
from harness.llm.chunks import StreamChunk
from harness.llm.model_info import LlmModelInfo, LlmProviderInfo, LlmResolvedModelInfo
from harness.llm.retry_policy import RetryPolicy
from vendor_shims.cordis import AbortSignal

StreamCall: TypeAlias = Callable[[GenerateOptions], AsyncIterator[StreamChunk]]


@frozen
class PreparedAdapterCall:
    """Pair capability facts with the dispatch that belongs to the same configuration snapshot."""

    model: LlmResolvedModelInfo
    stream: StreamCall


class LlmAdapter(ABC):
    """Speak to one provider. Only `stream` must be written; the rest has defaults.

    Obligations of `stream`:
    - chunks follow the grammar of `ChunkGrammar`, and the stream ends with `Finish` or raises;
    - no cancel scope or task group stays open across a `yield`;
    - `options.signal` ends a pending read promptly; `aclose()` at any yield frees the connection;
    - a failure is raised (`LlmError`) or is the finish of the stream, one way per failure class.
    """

    @abstractmethod
    def stream(self, options: GenerateOptions) -> AsyncIterator[StreamChunk]:
        """Send the request and yield its chunks."""

    def provider_info(self, provider: str) -> LlmProviderInfo:
        """Name a route of this adapter for people."""
        return LlmProviderInfo(provider, provider)

    def provider_retry_policy(self, provider: str) -> RetryPolicy:  # noqa: ARG002 - for overriders
        """Return the retry policy of a route; captured when the route is registered."""
        return RetryPolicy()

    async def list_models(self, provider: str) -> Sequence[LlmModelInfo]:  # noqa: ARG002 - as above
        """List known models of a route; advisory."""
        return ()

    async def resolve_model(
        self,
        provider: str,
        model: str,
        signal: AbortSignal | None = None,  # noqa: ARG002 - for overriders
    ) -> LlmResolvedModelInfo:
        """Return the capability facts of a model; by default nothing but its id is known."""
        return LlmResolvedModelInfo(provider, model, model)

    async def prepare_call(
        self, provider: str, model: str, signal: AbortSignal | None = None
    ) -> PreparedAdapterCall:
        """Take facts and dispatch from one snapshot; override when the configuration can change."""
        return PreparedAdapterCall(await self.resolve_model(provider, model, signal), self.stream)
