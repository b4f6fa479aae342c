"""Retry failed model requests under the policy of their provider."""

from harness_plugins.llm_retry.backoff import retry_delay_ms
from harness_plugins.llm_retry.config import RetryConfig
from harness_plugins.llm_retry.plugin import RETRY_STARTED_EVENT, RetryPlugin
from harness_plugins.llm_retry.series import RETRY_EVENT

__all__ = ["RETRY_EVENT", "RETRY_STARTED_EVENT", "RetryConfig", "RetryPlugin", "retry_delay_ms"]
