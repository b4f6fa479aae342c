"""Speak chat-completions to DeepSeek and to every compatible server."""

from harness_plugins.llm_deepseek.adapter import DeepSeekAdapter
from harness_plugins.llm_deepseek.config import DeepSeekConfig, ModelConfig
from harness_plugins.llm_deepseek.credentials import KeySource, key_source
from harness_plugins.llm_deepseek.http_errors import response_error
from harness_plugins.llm_deepseek.plugin import DeepSeekPlugin
from harness_plugins.llm_deepseek.serialize import request_body, wire_message
from harness_plugins.llm_deepseek.sse import PayloadReader
from harness_plugins.llm_deepseek.thinking import thinking_fields
from harness_plugins.llm_deepseek.translate import ChunkTranslator

__all__ = [
    "ChunkTranslator",
    "DeepSeekAdapter",
    "DeepSeekConfig",
    "DeepSeekPlugin",
    "KeySource",
    "ModelConfig",
    "PayloadReader",
    "key_source",
    "request_body",
    "response_error",
    "thinking_fields",
    "wire_message",
]
