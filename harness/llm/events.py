"""Declare the bus events of the model layer."""

from collections.abc import AsyncIterator

from harness.llm.call_config import GenerateOptions
from harness.llm.chunks import StreamChunk
from vendor_shims.cordis import Emit, SyncWaterfall

STREAM = SyncWaterfall[[GenerateOptions], AsyncIterator[StreamChunk]](
    "llm/stream",
    doc=(
        "A request on its way to its adapter. A listener gets (options, next) and returns an async "
        "iterator: next(), a wrapper around it, or one of its own. Dispatched by `ctx.llm.stream` "
        "and `PreparedLlmCall.stream`; transient. What a listener raises reaches the consumer."
    ),
)

ADAPTERS_UPDATED = Emit[[]](
    "llm/adapters-updated",
    doc=(
        "The routes or a provider directory changed; no payload, fired after the commit. Failures "
        "of listeners are logged by the service, except an error with the code INVARIANT."
    ),
)
