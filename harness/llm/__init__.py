"""Own the vocabulary of model calls and the service `ctx.llm` that streams them."""

from harness.llm.adapter import LlmAdapter, PreparedAdapterCall, StreamCall
from harness.llm.api_key import assert_usable_api_key
from harness.llm.assembler import ASSEMBLER_SOURCE, BlockAssembler
from harness.llm.attribution import attribution_headers, default_user_agent
from harness.llm.blocks import (
    ContentBlock,
    ImageAttachment,
    ImageBlock,
    OpaqueBlock,
    ReasoningBlock,
    TextBlock,
    ToolCallBlock,
    ToolResultBlock,
    block_from_json,
    blocks_from_json,
)
from harness.llm.call_config import (
    GenerateOptions,
    LlmCallConfig,
    Purpose,
    is_agent_loop_request,
    mark_agent_loop_request,
)
from harness.llm.chunks import (
    BlockEnd,
    BlockStart,
    Finish,
    ReasoningDelta,
    StreamChunk,
    TextDelta,
    ToolCallDelta,
    UsageChunk,
    chunk_from_json,
    is_token_delta,
)
from harness.llm.content import content_has_image, without_images
from harness.llm.directory import ConfigurableProvider, DiscoveredModel, DiscoveryRequest
from harness.llm.errors import InvariantError, LlmError
from harness.llm.events import ADAPTERS_UPDATED, STREAM
from harness.llm.failure import normalize_llm_failure
from harness.llm.finish import FinishReason, LlmFailure, TokenUsage
from harness.llm.grammar import ChunkGrammar, check_every_stream, checked_stream
from harness.llm.history import fold_history
from harness.llm.message import (
    Message,
    Role,
    create_assistant_message,
    create_message,
    create_system_message,
    create_tool_result_message,
    create_user_message,
)
from harness.llm.model_info import (
    LlmModelInfo,
    LlmProviderInfo,
    LlmResolvedModelInfo,
    ReasoningEffort,
    ReasoningInfo,
)
from harness.llm.prepared import PreparedLlmCall
from harness.llm.retry_policy import RetryPolicy, resolve_retry_policy
from harness.llm.routes import AdapterRegistration
from harness.llm.service import LlmService
from harness.llm.sources import (
    USER_SOURCE,
    MessageSource,
    bound_context_summary,
    make_source,
    model_source,
    plugin_source,
    snapshot_source,
    tool_source,
)
from harness.llm.stream_record import (
    AssistantStreamPacker,
    StreamRecord,
    expand_assistant_stream,
    pack_assistant_stream,
)
from harness.llm.tool_schema import ToolSchema
from harness.llm.wording import is_context_window_wording, is_quota_wording
from harness.wire import FrozenDict, freeze_json

__all__ = [
    "ADAPTERS_UPDATED",
    "ASSEMBLER_SOURCE",
    "STREAM",
    "USER_SOURCE",
    "AdapterRegistration",
    "AssistantStreamPacker",
    "BlockAssembler",
    "BlockEnd",
    "BlockStart",
    "ChunkGrammar",
    "ConfigurableProvider",
    "ContentBlock",
    "DiscoveredModel",
    "DiscoveryRequest",
    "Finish",
    "FinishReason",
    "FrozenDict",
    "GenerateOptions",
    "ImageAttachment",
    "ImageBlock",
    "InvariantError",
    "LlmAdapter",
    "LlmCallConfig",
    "LlmError",
    "LlmFailure",
    "LlmModelInfo",
    "LlmProviderInfo",
    "LlmResolvedModelInfo",
    "LlmService",
    "Message",
    "MessageSource",
    "OpaqueBlock",
    "PreparedAdapterCall",
    "PreparedLlmCall",
    "Purpose",
    "ReasoningBlock",
    "ReasoningDelta",
    "ReasoningEffort",
    "ReasoningInfo",
    "RetryPolicy",
    "Role",
    "StreamCall",
    "StreamChunk",
    "StreamRecord",
    "TextBlock",
    "TextDelta",
    "TokenUsage",
    "ToolCallBlock",
    "ToolCallDelta",
    "ToolResultBlock",
    "ToolSchema",
    "UsageChunk",
    "assert_usable_api_key",
    "attribution_headers",
    "block_from_json",
    "blocks_from_json",
    "bound_context_summary",
    "check_every_stream",
    "checked_stream",
    "chunk_from_json",
    "content_has_image",
    "create_assistant_message",
    "create_message",
    "create_system_message",
    "create_tool_result_message",
    "create_user_message",
    "default_user_agent",
    "expand_assistant_stream",
    "fold_history",
    "freeze_json",
    "is_agent_loop_request",
    "is_context_window_wording",
    "is_quota_wording",
    "is_token_delta",
    "make_source",
    "mark_agent_loop_request",
    "model_source",
    "normalize_llm_failure",
    "pack_assistant_stream",
    "plugin_source",
    "resolve_retry_policy",
    "snapshot_source",
    "tool_source",
    "without_images",
]
